package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// instance connects as one copy of a member, and does not join.
func instance(t testing.TB, team *mailboxtest.Team, name, id string) *natsbox.Conn {
	t.Helper()
	cfg := team.Config(name)
	cfg.Instance = id
	c, err := natsbox.Connect(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func join(t testing.TB, c *natsbox.Conn, change ...func(*natsbox.JoinRequest)) natsbox.Welcome {
	t.Helper()
	w, err := tryJoin(c, change...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func tryJoin(c *natsbox.Conn, change ...func(*natsbox.JoinRequest)) (natsbox.Welcome, error) {
	req := natsbox.JoinRequest{Mode: permissions.ModeDefault, Agent: "script"}
	for _, f := range change {
		f(&req)
	}
	return c.Join(context.Background(), req)
}

func takeover(r *natsbox.JoinRequest) { r.Takeover = true }

func inMode(m permissions.Mode) func(*natsbox.JoinRequest) {
	return func(r *natsbox.JoinRequest) { r.Mode = m }
}

func TestJoinGivesAPlaceUnderAnEpoch(t *testing.T) {
	t.Parallel()
	team := shop(t)
	one := instance(t, team, "api", "one")
	w := join(t, one)
	if w.Epoch != 1 || w.TeamID != team.Charter().TeamID || !strings.HasPrefix(w.Consumers.Mail, "api-") || w.Consumers.Decisions == "" || w.Consumers.Orders == "" {
		t.Errorf("welcome %+v, want epoch 1 and three consumers", w)
	}
	if ch, err := charter.Open(w.Charter, team.OwnerKey); err != nil || ch.TeamID != w.TeamID {
		t.Errorf("the welcome's charter: %v", err)
	}
	if again := join(t, one); again.Epoch != 2 || again.Consumers != w.Consumers {
		t.Errorf("joining again gave %+v, want epoch 2 and the same consumers", again)
	}
	if leader := join(t, team.Dial("anna")); leader.Consumers.Mail == "" || leader.Consumers.Decisions != "" {
		t.Errorf("a leader's consumers are %+v, want one for mail", leader.Consumers)
	}
}

func TestASecondInstanceOfALiveNameIsRefused(t *testing.T) {
	t.Parallel()
	team := shop(t)
	join(t, instance(t, team, "api", "one"))
	two := instance(t, team, "api", "two")
	if _, err := tryJoin(two); !errors.Is(err, natsbox.ErrNameTaken) || !strings.Contains(err.Error(), "--takeover") {
		t.Errorf("a second instance: %v, want ErrNameTaken that names --takeover", err)
	}
}

// The one that lost its name can ask how it stands, and nothing else.
func TestTakeoverFencesTheOtherInstance(t *testing.T) {
	t.Parallel()
	team := shop(t)
	one := instance(t, team, "api", "one")
	first := join(t, one)
	two := instance(t, team, "api", "two")
	second := join(t, two, takeover)
	if second.Epoch != first.Epoch+1 || second.Consumers.Mail == first.Consumers.Mail {
		t.Errorf("takeover gave %+v, want the next epoch and other consumers than %+v", second, first)
	}
	select {
	case <-one.Fenced():
	case <-time.After(time.Minute):
		t.Fatal("the first instance was not told")
	}
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", mailbox.Lead, 1, time.Now(), mailbox.Message{Text: "I am still here"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Send(t.Context(), e); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("the first instance sends: %v, want ErrForbidden", err)
	}
	if _, err := two.Send(t.Context(), e); err != nil {
		t.Errorf("the second instance sends: %v", err)
	}
	back := join(t, one, takeover)
	if back.Epoch != second.Epoch+1 {
		t.Errorf("taking it back gave epoch %d, want %d", back.Epoch, second.Epoch+1)
	}
	if _, err := one.Send(t.Context(), e); err != nil {
		t.Errorf("the first instance sends after taking its name back: %v", err)
	}
}

// Another instance goes on reading where the last one stopped.
func TestAnotherInstanceGetsWhatTheLastOneHadNotRead(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Connect("anna")
	one := instance(t, team, "api", "one")
	join(t, one)
	tell(t, anna, "api", "read")
	readOne(t, one, "read")
	settled(t, team, "MB_shop", "api", "one")
	tell(t, anna, "api", "unread")
	one.Close()
	two := instance(t, team, "api", "two")
	join(t, two, takeover)
	readOne(t, two, "unread")
}

func tell(t testing.TB, c *natsbox.Conn, to, text string) {
	t.Helper()
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "anna", to, 0, time.Now(), mailbox.Message{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

// readOne receives one message, and fails when it is another.
func readOne(t testing.TB, c *natsbox.Conn, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got := ""
	_ = c.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		b, err := mailbox.Body[mailbox.Message](m.Envelope)
		got = b.Text
		cancel()
		return err
	})
	if got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

// settled waits until a member has acknowledged everything.
func settled(t testing.TB, team *mailboxtest.Team, stream, member, id string) {
	t.Helper()
	js := admin(t, team)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		c, err := js.Consumer(context.Background(), stream, team.Server().Auth().Durable(member, id))
		if err != nil {
			t.Fatal(err)
		}
		if i := c.CachedInfo(); i.NumAckPending == 0 && i.NumPending == 0 {
			return
		}
	}
	t.Fatal("mail is still unacknowledged after 30 s")
}

// A member that is gone without a word is waited for 15 seconds after its last status.
func TestTheNameIsFreeFifteenSecondsAfterTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		one := instance(t, team, "api", "one")
		join(t, one)
		if err := one.SetStatus(t.Context(), planmode.Status{State: planmode.Working}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		one.Close()
		two := instance(t, team, "api", "two")
		time.Sleep(13 * time.Second)
		if _, err := tryJoin(two); !errors.Is(err, natsbox.ErrNameTaken) {
			t.Errorf("joining after 14 s: %v, want ErrNameTaken", err)
		}
		time.Sleep(2 * time.Second)
		if w, err := tryJoin(two); err != nil || w.Epoch != 2 {
			t.Errorf("joining after 16 s: epoch %d, %v, want 2", w.Epoch, err)
		}
	})
}

func TestAnOrderlyExitFreesTheNameAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		one := instance(t, team, "api", "one")
		join(t, one)
		if err := one.SetStatus(t.Context(), planmode.Status{State: planmode.Left}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		one.Close()
		time.Sleep(time.Second)
		join(t, instance(t, team, "api", "two"))
	})
}

func TestJoinRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	team := mailboxtest.Server(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeAcceptEdits, PlanRequired: true}))
	team.AddTeammate("api")
	api := team.Dial("api")
	for name, c := range map[string]struct {
		change func(*natsbox.JoinRequest)
		code   natsbox.Code
	}{
		"a mode above the cap": {inMode(permissions.ModeBypass), natsbox.CodeAboveCap},
		"an unknown mode":      {inMode("godMode"), natsbox.CodeBadRequest},
		"another's name":       {func(r *natsbox.JoinRequest) { r.Name = "docs" }, natsbox.CodeForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryJoin(api, c.change)
			var e *natsbox.ServiceError
			if !errors.As(err, &e) || e.Code != c.code {
				t.Errorf("Join = %v, want code %s", err, c.code)
			}
		})
	}
}

// Mail of an epoch that had ended when it was stored is dropped; mail from before stays.
func TestStaleMailIsDropped(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api") // epoch 1
	before := ask(t, api, "api")
	pending(t, anna, 1)
	join(t, api) // epoch 2
	stale := natsbox.NewRequestID()
	mail(t, api, "api", 1, mailbox.KindPlanApprovalRequest, stale, planmode.ApprovalRequest{RequestID: stale, PlanID: "p2"})
	perm := natsbox.NewRequestID()
	mail(t, api, "api", 2, mailbox.KindPermissionRequest, perm, permissions.PermissionRequest{RequestID: perm})
	for _, when := range []string{"before", "after"} {
		if got := pending(t, anna, 2); got[0] != before || got[1] != perm {
			t.Errorf("pending %s a restart: %v, want %s and %s", when, got, before, perm)
		}
		team.Stop()
		team.Start()
	}
}

// What a member says that its client can do is told to every leader: it is a short list of names.
func TestCapabilitiesAreBounded(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := instance(t, team, "api", "one")
	can := func(list ...string) func(*natsbox.JoinRequest) {
		return func(q *natsbox.JoinRequest) { q.Capabilities = list }
	}
	for name, list := range map[string][]string{
		"too many": slices.Repeat([]string{"planMode"}, 33), "too long": {"planMode", strings.Repeat("x", 65)}, "empty": {""},
	} {
		if _, err := tryJoin(api, can(list...)); err == nil || !strings.Contains(err.Error(), "capabilit") || !strings.Contains(err.Error(), "32 names of 1 to 64 bytes") {
			t.Errorf("%s: %v, want it refused with the bound", name, err)
		}
	}
	join(t, api, can(append(slices.Repeat([]string{"planMode"}, 31), strings.Repeat("x", 64))...))
}
