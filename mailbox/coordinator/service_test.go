package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Dial("api")
	var r natsbox.Resolved
	if err := api.Call(t.Context(), natsbox.VerbResolve, natsbox.ResolveRequest{Name: "anna"}, &r); err != nil || r.Role != charter.RoleLeader {
		t.Errorf("resolve anna = %+v, %v, want a leader", r, err)
	}
	err := api.Call(t.Context(), natsbox.VerbResolve, natsbox.ResolveRequest{Name: "anan"}, nil)
	var e *natsbox.ServiceError
	if !errors.As(err, &e) || !slices.Equal(e.Near, []string{"anna"}) || !strings.HasSuffix(err.Error(), "did you mean anna?") {
		t.Errorf("resolve anan = %v, want a refusal that names anna", err)
	}
	if err := api.Call(t.Context(), natsbox.VerbResolve, natsbox.ResolveRequest{Name: "zebra"}, nil); !errors.Is(err, natsbox.ErrNoRecipient) {
		t.Errorf("resolve zebra = %v, want ErrNoRecipient", err)
	}
}

func TestCharterIsTheOneInForce(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Dial("api")
	team.AddLeader("bob", charter.KindPerson)
	team.AddTeammate("late")
	s, err := api.Charter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charter.Open(s, team.OwnerKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anna", "bob", "api", "late"} {
		if _, ok := ch.Member(name); !ok {
			t.Errorf("the charter lacks %s", name)
		}
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	if err := api.SetStatus(t.Context(), planmode.Status{State: planmode.Working, Mode: permissions.ModeDefault, Task: "t1"}); err != nil {
		t.Fatal(err)
	}
	var all []natsbox.Presence
	seen := func(name string) natsbox.Presence {
		for _, p := range all {
			if p.Name == name {
				return p
			}
		}
		t.Fatalf("presence lacks %s: %+v", name, all)
		return natsbox.Presence{}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(15 * time.Millisecond) {
		if err := anna.Call(t.Context(), natsbox.VerbPresence, nil, &all); err != nil {
			t.Fatal(err)
		}
		if seen("api").Status != nil || time.Now().After(end) {
			break
		}
	}
	var s planmode.Status
	p := seen("api")
	if err := json.Unmarshal(p.Status, &s); err != nil || s.Task != "t1" || !p.Live || p.Epoch != 1 || p.KnownMode != permissions.ModeDefault {
		t.Errorf("api = %+v, status %+v (%v), want live, epoch 1, task t1", p, s, err)
	}
	if d := seen("docs"); d.Live || d.Epoch != 0 {
		t.Errorf("docs = %+v, want somebody who was never here", d)
	}
}

func TestEventsTellWhatChanged(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Connect("anna")
	type hint struct {
		kind string
		data string
	}
	hints := make(chan hint, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- anna.Events(ctx, func(kind string, data []byte) { hints <- hint{kind, string(data)} })
	}()
	t.Cleanup(func() { cancel(); <-done })
	wait := func(kind, about string) {
		t.Helper()
		for {
			select {
			case h := <-hints:
				if h.kind == kind && strings.Contains(h.data, about) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("no event %s about %q", kind, about)
			}
		}
	}
	wait("connected", "")
	api := team.Connect("api")
	wait("joined", "api")
	id := ask(t, api, "api")
	wait("request", id)
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeRejected, "")
	wait("decision", id)
	mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Applied})
	wait("receipt", id)
	if err := api.SetStatus(t.Context(), planmode.Status{State: planmode.Working}); err != nil {
		t.Fatal(err)
	}
	wait("presence", "api")
	team.AddTeammate("late")
	wait("charter", "late")
	if err := api.Events(t.Context(), func(string, []byte) {}); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a teammate's Events = %v, want ErrForbidden", err)
	}
}

// How far a member has read is kept, for when the broker removes a consumer that nobody uses.
func TestAMemberThatWasAwayForLongGoesOnWhereItStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		anna, api := team.Connect("anna"), team.Connect("api")
		tell(t, anna, "api", "read")
		readOne(t, api, "read")
		api.Close()
		time.Sleep(61 * time.Minute)
		if err := admin(t, team).DeleteConsumer(t.Context(), "MB_shop", team.Server().Auth().Durable("api", "api-test")); err != nil {
			t.Fatal(err)
		}
		tell(t, anna, "api", "unread")
		readOne(t, team.Connect("api"), "unread")
	})
}

// FuzzServiceRequest sends whatever a member may send. Each request gets an answer, and the service lives.
func FuzzServiceRequest(f *testing.F) {
	verbs := []string{
		natsbox.VerbJoin, natsbox.VerbStanding, natsbox.VerbCharter, natsbox.VerbResolve, natsbox.VerbPending,
		natsbox.VerbRequest, natsbox.VerbDecision, natsbox.VerbReceipts, natsbox.VerbPresence,
	}
	for i := range verbs {
		for _, data := range []string{
			"", "null", "{}", "[]", `"x"`, "{", `{"id":7}`, `{"id":"x","id":"y"}`, `{"name":"../x","instance":"a.>"}`,
			`{"instance":"one","mode":"default"}`, `{"instance":"one","mode":"bypassPermissions","takeover":true}`,
			`{"name":"` + strings.Repeat("a", 200) + `"}`, `{"epoch":-1}`, `{"epoch":1e99}`, "\x00\xff", strings.Repeat("[", 5000),
		} {
			f.Add(uint8(i), []byte(data))
		}
	}
	team := shop(f)
	nc := team.Raw("api")
	f.Fuzz(func(t *testing.T, verb uint8, data []byte) {
		subject := mailbox.ServiceSubject("shop", "api", verbs[int(verb)%len(verbs)])
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m, err := nc.RequestWithContext(ctx, subject, data)
		if errors.Is(err, nats.ErrMaxPayload) {
			return
		}
		if err != nil {
			t.Fatalf("%s %q: %v, want an answer", subject, data, err)
		}
		if m.Header.Get("Nats-Service-Error-Code") == string(natsbox.CodeUnavailable) || !json.Valid(m.Data) {
			t.Errorf("%s %q: answer %q %v, want JSON and a reason", subject, data, m.Data, m.Header)
		}
	})
}
