package natsbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// BenchmarkApprovalRoundTrip is one approval as the broker sees it: a request of 4 KiB stored, pulled by the leader,
// decided in its write-once slot, read back, pulled by the teammate, and both acknowledged. It runs beside core
// request/reply over the same broker, and reports how many of those one approval costs.
func BenchmarkApprovalRoundTrip(b *testing.B) {
	for name, sync := range map[string]string{"sync=always": "always", "sync=2m": "2m"} {
		b.Run(name, func(b *testing.B) {
			team := shop(b, mailboxtest.Sync(sync))
			core := coreRoundTrip(b, team, 2000)
			r := newRound(b, team)
			r.trip(b) // the recipient is known after it
			b.ResetTimer()
			start := time.Now()
			for b.Loop() {
				r.trip(b)
			}
			each := time.Since(start) / time.Duration(b.N)
			b.ReportMetric(float64(each)/float64(core), "x-core")
			b.ReportMetric(float64(core.Nanoseconds()), "core-ns")
		})
	}
}

// BenchmarkCoreRequestReply is the ground that an approval is measured against.
func BenchmarkCoreRequestReply(b *testing.B) {
	team := shop(b)
	ask := responder(b, team)
	for b.Loop() {
		ask()
	}
}

func coreRoundTrip(b *testing.B, team *mailboxtest.Team, n int) time.Duration {
	b.Helper()
	ask := responder(b, team)
	for range 100 {
		ask()
	}
	start := time.Now()
	for range n {
		ask()
	}
	return time.Since(start) / time.Duration(n)
}

// responder returns one request and its reply between two connections.
func responder(b *testing.B, team *mailboxtest.Team) func() {
	b.Helper()
	kp := team.Server().Auth().CoordinatorKey()
	pub, err := kp.PublicKey()
	if err != nil {
		b.Fatal(err)
	}
	var conns [2]*nats.Conn
	for i := range conns {
		if conns[i], err = nats.Connect("", nats.InProcessServer(team.Server()), nats.Nkey(pub, kp.Sign)); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(conns[i].Close)
	}
	body := make([]byte, 4<<10)
	if _, err := conns[0].Subscribe("bench", func(m *nats.Msg) { _ = m.Respond(body) }); err != nil {
		b.Fatal(err)
	}
	if err := conns[0].Flush(); err != nil {
		b.Fatal(err)
	}
	return func() {
		if _, err := conns[1].Request("bench", body, 10*time.Second); err != nil {
			b.Fatal(err)
		}
	}
}

// round is a leader that decides whatever comes, and a teammate that waits for it.
type round struct {
	team    *mailboxtest.Team
	api     *natsbox.Conn
	plan    []byte
	decided chan string
}

func newRound(b *testing.B, team *mailboxtest.Team) *round {
	b.Helper()
	r := &round{team: team, api: team.Connect("api"), plan: make([]byte, 4<<10), decided: make(chan string)}
	anna := team.Connect("anna")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() {
		done <- anna.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
			id := m.Envelope.ID
			o := decision(b, team, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeDefault)
			_, err := anna.PutDecision(ctx, m.Subject.From, id, o.payload, o.sigs)
			return err
		})
	}()
	go func() {
		done <- r.api.ReceiveOrders(ctx, func(_ context.Context, o charter.Order, _ natsbox.StoredInfo) error {
			s, err := mailbox.ParseSubject(o.Subject)
			if err == nil {
				r.decided <- s.Request
			}
			return err
		})
	}()
	b.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, <-done); !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	})
	return r
}

func (r *round) trip(b *testing.B) {
	b.Helper()
	id := natsbox.NewRequestID()
	body := planmode.ApprovalRequest{RequestID: id, PlanID: "p", Kind: planmode.AskPlan, Plan: plans.Plan{Content: r.plan}}
	e, err := mailbox.New(id, mailbox.KindPlanApprovalRequest, r.team.Name, "api", mailbox.Lead, 1, time.Now(), body)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.api.Send(b.Context(), e); err != nil {
		b.Fatal(err)
	}
	if got := <-r.decided; got != id {
		b.Fatalf("decided %s, want %s", got, id)
	}
}
