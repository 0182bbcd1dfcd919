package attacks_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func (w *world) instance(t *testing.T, name, instance string) *natsbox.Conn {
	t.Helper()
	cfg := w.Config(name)
	cfg.Instance = instance
	box, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Close)
	return box
}

// A name has one instance. A second one that holds the same key is refused while the first lives; where it takes the name over,
// the first has no rights left, and what it still says counts for nothing.
func TestAttackTwoOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.Connect("mate")
	old := w.Raw("mate")
	second := w.instance(t, "mate", "second")
	t.Run("join beside a running instance", func(t *testing.T) {
		_, err := second.Join(t.Context(), natsbox.JoinRequest{Instance: "second"})
		if !errors.Is(err, natsbox.ErrNameTaken) {
			t.Fatalf("%v, want that the name is taken", err)
		}
		mailboxtest.Refused(t, "join beside a running instance", "teammate", mailboxtest.ByCoordinator, err.Error())
	})
	if _, err := answered(old, &nats.Msg{Subject: "swarm.shop.mb.lead.mate.message", Data: []byte("{}")}); err != nil {
		t.Fatalf("the first instance, before: %v", err)
	}
	welcome, err := second.Join(t.Context(), natsbox.JoinRequest{Instance: "second", Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.Fenced():
	case <-time.After(patience):
		t.Error("the first instance is not told")
	}
	t.Run("go on over a connection that was open", func(t *testing.T) {
		until(t, "the end of the connection", func() bool { return !old.IsConnected() })
		mailboxtest.Refused(t, "go on over a connection that was open", "teammate", mailboxtest.ByDoor, "it was cut")
	})
	again := w.Raw("mate")
	for _, a := range []struct{ name, subject string }{
		{"mail of a fenced instance", "swarm.shop.mb.lead.mate.message"},
		{"a status of a fenced instance", "swarm.shop.stat.mate"},
		{"a plan of a fenced instance", "swarm.shop.mb.lead.mate.plan_approval_request"},
		{"a fenced instance pulls", "JS.swarm.CONSUMER.MSG.NEXT.MB_shop." + w.fill("{own}", "mate")},
		{"a fenced instance pulls the new one's mail", "JS.swarm.CONSUMER.MSG.NEXT.MB_shop." + welcome.Consumers.Mail},
		{"a fenced instance acknowledges the new one's mail", "$JS.ACK.MB_shop." + welcome.Consumers.Mail + ".1.1.1.1.1"},
	} {
		t.Run(a.name, func(t *testing.T) {
			before := w.snapshot()
			if err := again.Publish(a.subject, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			settle(t, again)
			why := violation(again, a.subject)
			if why == "" {
				t.Errorf("a fenced instance publishes on %s", a.subject)
			}
			w.unchanged(t, before)
			mailboxtest.Refused(t, a.name, "teammate", mailboxtest.ByPermissions, why)
		})
	}
	if _, err := answered(again, &nats.Msg{Subject: "swarm.shop.svc.mate.charter"}); err != nil {
		t.Errorf("it may ask how it stands: %v", err)
	}
	mail(t, second, "mate", mailbox.Lead, "from the second")
	t.Run("a request of an epoch that is over", func(t *testing.T) {
		id := ask(t, second, "mate", welcome.Epoch-1, w.Charter().TeamID)
		now := ask(t, second, "mate", welcome.Epoch, w.Charter().TeamID)
		anna := w.Dial("anna")
		until(t, "the request of now", func() bool { _, err := anna.Request(t.Context(), now); return err == nil })
		if row, err := anna.Request(t.Context(), id); !errors.Is(err, natsbox.ErrNotFound) {
			t.Errorf("the leaders see %+v, %v", row, err)
		}
		mailboxtest.Refused(t, "a request of an epoch that is over", "teammate", mailboxtest.ByCoordinator, "it is not shown: a later instance has joined")
	})
}
