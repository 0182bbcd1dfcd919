package natsbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Eight leaders decide the same request at once: one wins, and all others are told who.
func TestOneDecisionPerRequest(t *testing.T) {
	t.Parallel()
	for name, sameIDs := range map[string]bool{"fresh message ids": false, "equal message ids": true} {
		t.Run(name, func(t *testing.T) {
			team := shop(t)
			const leaders, rounds = 8, 25
			var conns []*natsbox.Conn
			for i := range leaders {
				conns = append(conns, racer(t, team, fmt.Sprintf("lead%d", i), sameIDs))
			}
			for range rounds {
				race(t, conns)
			}
		})
	}
}

func racer(t *testing.T, team *mailboxtest.Team, name string, sameIDs bool) *natsbox.Conn {
	t.Helper()
	team.AddLeader(name, charter.KindPerson)
	cfg := team.Config(name)
	if sameIDs {
		var ids []string
		for i := range 200 {
			ids = append(ids, fmt.Sprint("round", i))
		}
		natsbox.SetMessageIDs(&cfg, ids...)
	}
	c, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func race(t *testing.T, conns []*natsbox.Conn) {
	t.Helper()
	id := natsbox.NewRequestID()
	orders, errs, got := make([]order, len(conns)), make([]error, len(conns)), make([]charter.Order, len(conns))
	for i := range conns {
		orders[i] = order{fmt.Appendf(nil, "lead%d decides %s", i, id), []string{fmt.Sprint("lead", i)}}
	}
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() { got[i], errs[i] = c.PutDecision(t.Context(), "api", id, orders[i].payload, orders[i].sigs) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		if err == nil {
			if winner >= 0 {
				t.Fatalf("lead%d and lead%d were both told that they decided", winner, i)
			}
			winner = i
		}
	}
	if winner < 0 {
		t.Fatalf("nobody won: %v", errs)
	}
	if !bytes.Equal(got[winner].Payload, orders[winner].payload) {
		t.Errorf("the winner got another decision back")
	}
	for i, err := range errs {
		var lost *natsbox.AlreadyDecided
		if i != winner && (!errors.As(err, &lost) || !bytes.Equal(lost.Winner.Payload, orders[winner].payload)) {
			t.Errorf("lead%d = %v, want AlreadyDecided by lead%d", i, err, winner)
		}
	}
}

func TestADecisionIsPutAgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Dial("anna")
	id := natsbox.NewRequestID()
	o := decision(t, team, "anna", "api", id, planmode.OutcomeRejected, "")
	for i := range 2 {
		got, err := anna.PutDecision(t.Context(), "api", id, o.payload, o.sigs)
		if err != nil || !bytes.Equal(got.Payload, o.payload) {
			t.Errorf("PutDecision, time %d = %v, want success with what is stored", i+1, err)
		}
	}
	other := o
	other.sigs = []string{"another.signature"}
	var lost *natsbox.AlreadyDecided
	if _, err := anna.PutDecision(t.Context(), "api", id, other.payload, other.sigs); !errors.As(err, &lost) {
		t.Errorf("PutDecision of the same bytes with other signatures = %v, want AlreadyDecided", err)
	}
}

func TestReadDecision(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Dial("anna"), team.Connect("api"), team.Connect("docs")
	id := natsbox.NewRequestID()
	if _, err := api.ReadDecision(t.Context(), "api", id); !errors.Is(err, natsbox.ErrNoDecision) {
		t.Errorf("ReadDecision before = %v, want ErrNoDecision", err)
	}
	o := decision(t, team, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeDefault)
	if _, err := anna.PutDecision(t.Context(), "api", id, o.payload, o.sigs); err != nil {
		t.Fatal(err)
	}
	got, err := api.ReadDecision(t.Context(), "api", id)
	if err != nil {
		t.Fatal(err)
	}
	if _, d, err := charter.OpenOrder[planmode.Decision](team.Charter(), got); err != nil || d.RequestID != id {
		t.Errorf("OpenOrder of what was read = %v, want the decision of %s", err, id)
	}
	if _, err := docs.ReadDecision(t.Context(), "api", id); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("docs reads api's decision = %v, want ErrForbidden", err)
	}
}

func TestOnlyLeadersDecide(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	id := natsbox.NewRequestID()
	if _, err := api.PutDecision(t.Context(), "api", id, []byte("approved"), []string{"x"}); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a teammate's PutDecision = %v, want ErrForbidden", err)
	}
	if _, err := api.PutOrder(t.Context(), "docs", mailbox.KindModeSetRequest, []byte("x"), []string{"x"}); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a teammate's PutOrder = %v, want ErrForbidden", err)
	}
	anna := team.Dial("anna")
	if _, err := anna.PutDecision(t.Context(), "nobody", id, []byte("x"), []string{"x"}); !errors.Is(err, natsbox.ErrNoRecipient) {
		t.Errorf("PutDecision for nobody = %v, want ErrNoRecipient", err)
	}
	if _, err := anna.PutDecision(t.Context(), "api", "r1", []byte("x"), []string{"x"}); !errors.Is(err, mailbox.ErrBadRequestID) {
		t.Errorf("PutDecision for request r1 = %v, want ErrBadRequestID", err)
	}
}

func TestATeammateReceivesItsOrders(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Dial("anna"), team.Connect("api")
	type got struct {
		order charter.Order
		info  natsbox.StoredInfo
	}
	orders := make(chan got)
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		done <- api.ReceiveOrders(ctx, func(_ context.Context, o charter.Order, s natsbox.StoredInfo) error {
			orders <- got{o, s}
			return nil
		})
	}()
	id := natsbox.NewRequestID()
	d := decision(t, team, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeDefault)
	if _, err := anna.PutDecision(t.Context(), "api", id, d.payload, d.sigs); err != nil {
		t.Fatal(err)
	}
	g := receive(t, orders)
	if _, body, err := charter.OpenOrder[planmode.Decision](team.Charter(), g.order); err != nil || body.RequestID != id || g.info.Stream != "DEC_shop" {
		t.Errorf("received %+v (%v), want the decision of %s from DEC_shop", g.info, err, id)
	}
	env := natsbox.NewID()
	subject := mailbox.OrderSubject("shop", "api", "anna", mailbox.KindModeSetRequest)
	o := signed(t, team, "anna", "api", env, subject, mailbox.KindModeSetRequest,
		planmode.ModeSet{OrderHead: head(team, "anna"), Counter: 1, Mode: permissions.ModePlan})
	if _, err := anna.PutOrder(t.Context(), "api", mailbox.KindModeSetRequest, o.payload, o.sigs); err != nil {
		t.Fatal(err)
	}
	g = receive(t, orders)
	if _, body, err := charter.OpenOrder[planmode.ModeSet](team.Charter(), g.order); err != nil || body.Mode != permissions.ModePlan || g.info.Stream != "ORD_shop" {
		t.Errorf("received %+v (%v), want the mode order from ORD_shop", g.info, err)
	}
}

// An order whose handler fails holds back the next one: its counter would else make it an old one.
func TestOrdersComeInTheirOrder(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Dial("anna"), team.Connect("api")
	for n := range uint64(3) {
		subject := mailbox.OrderSubject("shop", "api", "anna", mailbox.KindModeSetRequest)
		o := signed(t, team, "anna", "api", natsbox.NewID(), subject, mailbox.KindModeSetRequest,
			planmode.ModeSet{OrderHead: head(team, "anna"), Counter: n + 1, Mode: permissions.ModePlan})
		if _, err := anna.PutOrder(t.Context(), "api", mailbox.KindModeSetRequest, o.payload, o.sigs); err != nil {
			t.Fatal(err)
		}
	}
	counters := make(chan uint64, 10)
	failed := false
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		done <- api.ReceiveOrders(ctx, func(_ context.Context, o charter.Order, _ natsbox.StoredInfo) error {
			_, body, err := charter.OpenOrder[planmode.ModeSet](team.Charter(), o)
			if err != nil {
				return err
			}
			counters <- body.Counter
			if !failed {
				failed = true
				return errors.New("the disk is full")
			}
			return nil
		})
	}()
	for _, want := range []uint64{1, 1, 2, 3} {
		if got := receive(t, counters); got != want {
			t.Fatalf("order %d came, want %d", got, want)
		}
	}
}
