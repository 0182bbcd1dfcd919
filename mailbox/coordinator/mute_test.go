package coordinator_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// send tries to send one piece of mail to the leaders.
func send(t testing.TB, c *natsbox.Conn, from string, kind mailbox.Kind, body any) error {
	t.Helper()
	e, err := mailbox.New(natsbox.NewID(), kind, "shop", from, mailbox.Lead, 1, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Send(t.Context(), e)
	return err
}

func TestMute(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	m, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "api", ForMS: time.Hour.Milliseconds(), Reason: "it asks in a loop"})
	if err != nil || len(m) != 1 || m[0].By != "anna" || m[0].Until.IsZero() {
		t.Fatalf("mute = %+v, %v", m, err)
	}
	for _, bad := range []string{"a\nb", "a\x1b[2J", strings.Repeat("x", 1000)} {
		if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "api", Reason: bad}); err == nil {
			t.Errorf("the reason %q was taken", bad)
		}
	}
	for range 2 { // before and after a restart
		err := send(t, api, "api", mailbox.KindMessage, mailbox.Message{Text: "x"})
		if !errors.Is(err, natsbox.ErrMuted) || !errors.Is(err, natsbox.ErrForbidden) || strings.Contains(err.Error(), "\n") {
			t.Errorf("mail of a muted teammate = %v, want ErrMuted in one line", err)
		}
		for _, want := range []string{"muted by anna until", "loop", "swarm mail unmute api"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want %q in it", err, want)
			}
		}
		for kind, body := range map[mailbox.Kind]any{
			mailbox.KindReceipt: mailbox.Receipt{Of: "x", State: mailbox.Applied}, mailbox.KindPlanWithdrawn: planmode.Withdrawn{RequestID: "x"},
		} {
			if err := send(t, api, "api", kind, body); err != nil {
				t.Errorf("a %s of a muted teammate: %v", kind, err)
			}
		}
		if err := api.SetStatus(t.Context(), map[string]string{"state": "working"}); err != nil {
			t.Error(err)
		}
		if err := send(t, docs, "docs", mailbox.KindMessage, mailbox.Message{Text: "x"}); err != nil {
			t.Errorf("another's mail: %v", err)
		}
		var list []natsbox.Presence
		if err := anna.Call(t.Context(), natsbox.VerbPresence, nil, &list); err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if (p.Muted != nil) != (p.Name == "api") {
				t.Errorf("presence of %s: muted %+v", p.Name, p.Muted)
			}
		}
		team.Stop()
		team.Start()
	}
	if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteEnd, Name: "api"}); err != nil {
		t.Fatal(err)
	}
	if err := send(t, api, "api", mailbox.KindMessage, mailbox.Message{Text: "x"}); err != nil {
		t.Errorf("mail after unmute: %v", err)
	}
	if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteEnd, Name: "api"}); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("the second unmute = %v", err)
	}
}

// A time that was given ends by itself, also over a restart.
func TestMuteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		anna, api := team.Connect("anna"), team.Dial("api")
		if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "docs", ForMS: 30 * 60 * 1000}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Minute)
		muted(t, anna, "docs", true)
		time.Sleep(2 * time.Minute)
		muted(t, anna, "docs", false)
		if list, err := api.Mute(t.Context(), natsbox.MuteRequest{}); err == nil {
			t.Errorf("no action = %+v, want it refused", list)
		}
	})
}

// Who may mute whom: leaders teammates, persons leaders, and nobody itself.
func TestAttackMute(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("bob", charter.KindPerson)
	team.AddLeader("robot", charter.KindAgent)
	team.AddMember(charter.Member{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson})
	for who, may := range map[string][]string{"api": nil, "wall": nil, "robot": {"api", "docs"}, "anna": {"api", "docs", "bob", "robot"}} {
		c := team.Dial(who)
		for _, name := range []string{"api", "docs", "anna", "bob", "robot", "wall", "policy", "nobody"} {
			_, err := c.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: name})
			if want := strings.Contains(" "+strings.Join(may, " ")+" ", " "+name+" "); (err == nil) != want {
				t.Errorf("%s mutes %s: %v, want allowed = %v", who, name, err, want)
			}
			if err == nil {
				_, err = c.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteEnd, Name: name})
			}
			if errors.Is(err, natsbox.ErrUnreachable) {
				t.Fatal(err)
			}
		}
	}
	anna, bob := team.Dial("anna"), team.Connect("bob")
	if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	id := ask(t, team.Connect("docs"), "docs")
	row(t, anna, id, isOpen)
	decide(t, team, bob, "bob", "docs", id, "rejected", "") // a muted leader decides all the same
	row(t, anna, id, isSettled)
	if err := send(t, bob, "bob", mailbox.KindMessage, mailbox.Message{Text: "x"}); !errors.Is(err, natsbox.ErrMuted) {
		t.Errorf("a muted leader's mail = %v", err)
	}
	mailboxtest.Refused(t, "mute who is not one's to mute", "teammate", mailboxtest.ByCoordinator, "only leaders mute; a leader is muted by a person only")
	robot := team.Dial("robot")
	if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "api"}); err != nil {
		t.Fatal(err)
	}
	for _, action := range []natsbox.MuteAction{natsbox.MuteEnd, natsbox.MuteSet} { // not even for a shorter time
		_, err := robot.Mute(t.Context(), natsbox.MuteRequest{Action: action, Name: "api", ForMS: 1})
		if !errors.Is(err, natsbox.ErrForbidden) || !strings.Contains(err.Error(), "muted by anna") {
			t.Errorf("a lead agent ends what a person said (%s): %v", action, err)
		}
	}
	muted(t, anna, "api", true)
}

// Who asks the coordinator in a loop is told when to ask again; others are answered.
func TestAttackServiceLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		anna, api := team.Connect("anna"), team.Connect("api")
		var busy *natsbox.ServiceError
		calls := 0
		for ; calls < 1000; calls++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // too short to wait
			err := api.Call(ctx, natsbox.VerbPending, nil, nil)
			cancel()
			if errors.As(err, &busy) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if busy == nil || !errors.Is(busy, natsbox.ErrBusy) || busy.Wait <= 0 || !strings.Contains(busy.Error(), "api asks too often") {
			t.Fatalf("after %d calls %v, want ErrBusy with a time", calls, busy)
		}
		if err := anna.Call(t.Context(), natsbox.VerbPending, nil, nil); err != nil {
			t.Errorf("another's call: %v", err)
		}
		begin := time.Now()
		for range 100 {
			if err := api.Call(t.Context(), natsbox.VerbPending, nil, nil); err != nil {
				t.Fatalf("a call that waits until it may: %v", err)
			}
		}
		if took := time.Since(begin); took < 900*time.Millisecond || took > 2*time.Second {
			t.Errorf("100 calls above the allowance took %v, want a second: a hundred are answered in one", took)
		}
		mailboxtest.Refused(t, "ask the coordinator in a loop", "teammate", mailboxtest.ByCoordinator, busy.Error())
	})
}

// A store that fills is told once, and not with each look.
func TestFillingStoreIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t, mailboxtest.MaxStore(4<<20), mailboxtest.Unguarded())
		anna, api := team.Dial("anna"), team.Connect("api")
		var told atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = anna.Events(ctx, func(kind string, data []byte) {
				if kind == "storeFilling" && strings.Contains(string(data), "MB_shop") {
					told.Add(1)
				}
			})
		}()
		var err error
		for err == nil {
			err = send(t, api, "api", mailbox.KindMessage, mailbox.Message{Text: strings.Repeat("x", 100<<10)})
		}
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		if !errors.Is(err, natsbox.ErrStoreFull) || told.Load() != 1 {
			t.Errorf("filled to %v, and told %d times, want once", err, told.Load())
		}
	})
}
