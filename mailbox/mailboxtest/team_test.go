package mailboxtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(mailboxtest.Settled(m)) }

// exchange sends one message from a teammate to a leader, and waits for it.
func exchange(t *testing.T, team *mailboxtest.Team) {
	t.Helper()
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	anna, api := team.Connect("anna"), team.Connect("api")
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, team.Name, "api", mailbox.Lead, 1, time.Now(), mailbox.Message{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Send(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = anna.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		if m.Envelope.ID != e.ID {
			t.Errorf("received %s, want %s", m.Envelope.ID, e.ID)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ReceiveMail = %v, want it to end with its mail", err)
	}
}

func TestATeamInATest(t *testing.T) { exchange(t, mailboxtest.Server(t)) }

func TestATeamOnAPort(t *testing.T) {
	team := mailboxtest.Server(t, mailboxtest.Listen("127.0.0.1:0"), mailboxtest.Named("docks"), mailboxtest.Sync("always"))
	if team.Server().URL() == "" {
		t.Error("no port is open")
	}
	exchange(t, team)
}

// Inside a bubble, time is the test's: half an hour of waiting takes no time.
func TestATeamInABubble(t *testing.T) {
	for range 2 { // nothing of the first bubble is left for the second
		synctest.Test(t, func(t *testing.T) {
			team := mailboxtest.Server(t, mailboxtest.Sync("always"))
			time.Sleep(30 * time.Minute)
			exchange(t, team)
		})
	}
}

func TestATeamThatIsStartedAgain(t *testing.T) {
	team := mailboxtest.Server(t)
	team.AddTeammate("api")
	api := team.Connect("api")
	team.Stop()
	team.Start()
	if _, ok := team.Charter().Member("api"); !ok {
		t.Error("the charter lacks api after the restart")
	}
	if _, err := api.Pending(t.Context()); err != nil {
		t.Errorf("the connection after the restart: %v", err)
	}
}

func BenchmarkServer(b *testing.B) {
	for b.Loop() {
		mailboxtest.Server(b).Stop()
	}
}
