package natsbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// shop is a team of one leader and two teammates.
func shop(t testing.TB, opts ...mailboxtest.Option) *mailboxtest.Team {
	t.Helper()
	team := mailboxtest.Server(t, opts...)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	team.AddTeammate("docs")
	return team
}

func message(t testing.TB, from, to, text string) mailbox.Envelope {
	t.Helper()
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", from, to, 1, time.Now(), mailbox.Message{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func text(t testing.TB, m natsbox.Mail) string {
	t.Helper()
	b, err := mailbox.Body[mailbox.Message](m.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	return b.Text
}

// within is a context that fails the test's calls instead of hanging it.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// inbox receives in the background until the test ends, and hands mail over one by one.
func inbox(t testing.TB, c *natsbox.Conn) <-chan natsbox.Mail {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan natsbox.Mail)
	done := make(chan error, 1)
	go func() {
		done <- c.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
			select {
			case out <- m:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return out
}

func receive[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came within 30 s")
		panic("not reached")
	}
}

// order is one signed order, ready to be put.
type order struct {
	payload []byte
	sigs    []string
}

// decision signs an answer of a leader to a request.
func decision(t testing.TB, team *mailboxtest.Team, leader, to, id string, outcome planmode.Outcome, mode permissions.Mode) order {
	t.Helper()
	body := planmode.Decision{
		OrderHead: head(team, leader), RequestID: id, Revision: 1, Outcome: outcome, Approved: outcome == planmode.OutcomeApproved,
		Mode: mode, PlanDigest: "d",
	}
	return signed(t, team, leader, to, id, mailbox.DecisionSubject(team.Name, to, id), mailbox.KindPlanApprovalResponse, body)
}

func head(team *mailboxtest.Team, leader string) mailbox.OrderHead {
	ch := team.Charter()
	m, _ := ch.Member(leader)
	return mailbox.OrderHead{
		TeamID: ch.TeamID, CharterSerial: ch.Serial, Epoch: 1, DecidedAt: time.Now().UTC().Round(0),
		DecidedBy: mailbox.DecidedBy{Name: leader, Kind: string(m.Kind), Via: "command", Assurance: string(m.Assurance)},
	}
}

func signed(t testing.TB, team *mailboxtest.Team, leader, to, id, subject string, kind mailbox.Kind, body any) order {
	t.Helper()
	e, err := mailbox.New(id, kind, team.Name, leader, to, 1, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := mailbox.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := charter.SignOrder(team.Key(leader), subject, payload)
	if err != nil {
		t.Fatal(err)
	}
	return order{payload, []string{sig}}
}

func newUser(t testing.TB) nkeys.KeyPair {
	t.Helper()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	return kp
}
