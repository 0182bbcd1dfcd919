//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/teammate"
)

// states are the receipts about an id that are stored, in their order.
func (r *rig) states(of string) []mailbox.ReceiptState {
	r.t.Helper()
	var all []natsbox.ReceiptInfo
	if err := r.anna.Call(context.Background(), natsbox.VerbReceipts, natsbox.IDRequest{ID: of}, &all); err != nil {
		r.t.Fatal(err)
	}
	var states []mailbox.ReceiptState
	for _, i := range all {
		if i.From != "api" {
			r.t.Errorf("a receipt of %s", i.From)
		}
		states = append(states, i.Receipt.State)
	}
	return states
}

// wantStates waits for receipts, and for no more.
func (r *rig) wantStates(of string, want ...mailbox.ReceiptState) {
	r.t.Helper()
	until(r.t, fmt.Sprintf("receipts %v of %s", want, of), func() bool { return len(r.states(of)) >= len(want) })
	if got := r.states(of); !slices.Equal(got, want) {
		r.t.Errorf("receipts of %s are %v, want %v", of, got, want)
	}
}

// A letter is delivered when it is kept, and seen when it was handed over: not when it was offered.
func TestLetterIsSeenWhenHandedOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	id := r.say(r.anna, "anna", "one")
	r.wantStates(id, mailbox.Delivered)
	letters, done, err := m.OfferMail(t.Context(), 10)
	if err != nil || len(letters) != 1 {
		t.Fatalf("OfferMail = %+v, %v, want one letter", letters, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if again, _, err := m.OfferMail(soon, 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("offered to two at once: %+v, %v", again, err)
	}
	if err := done(false); err != nil { // the client died
		t.Fatal(err)
	}
	if s := m.status(); s.Mail != 1 {
		t.Errorf("%d unread letters after one was not handed over, want 1", s.Mail)
	}
	other := r.say(r.anna, "anna", "two")
	r.wantStates(other, mailbox.Delivered)
	r.wantStates(id, mailbox.Delivered)
	if letters, err := m.ReceiveMail(t.Context(), 10); err != nil || len(letters) != 2 || letters[0].ID != id {
		t.Fatalf("ReceiveMail = %+v, %v, want both letters", letters, err)
	}
	r.wantStates(id, mailbox.Delivered, mailbox.Seen)
	for range 2 {
		l, done, err := m.ReadMail(id)
		if err != nil || l.Text != "one" {
			t.Fatalf("ReadMail = %+v, %v", l, err)
		}
		if err := done(true); err != nil {
			t.Fatal(err)
		}
	}
	r.wantStates(id, mailbox.Delivered, mailbox.Seen)
}

// What is urgent comes first; the rest keeps its order.
func TestUrgentMailComesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	for _, text := range []string{"one", "two"} {
		r.say(r.anna, "anna", text)
	}
	until(t, "two letters", func() bool { return m.status().Mail == 2 })
	if from := m.UrgentMail(); from != "" {
		t.Errorf("urgent mail from %q, want none", from)
	}
	r.sends("stop", true)
	until(t, "three letters", func() bool { return m.status().Mail == 3 })
	if from := m.UrgentMail(); from != "anna" {
		t.Errorf("urgent mail from %q, want anna", from)
	}
	letters, err := m.ReceiveMail(t.Context(), 2)
	if err != nil || len(letters) != 2 || letters[0].Text != "stop" || letters[1].Text != "one" {
		t.Errorf("ReceiveMail = %+v, %v, want stop and one", letters, err)
	}
}

func (r *rig) sends(text string, urgent bool) string {
	r.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, r.team.Name, "anna", "api", 0, time.Now(), mailbox.Message{Text: text, Urgent: urgent})
	if err == nil {
		_, err = r.anna.Send(context.Background(), env)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return env.ID
}

// dying is a mailbox whose reader dies with the first piece of mail: before it was handled, or after it and before the
// broker heard of it.
type dying struct {
	teammate.Box
	handled bool
	died    chan struct{}
}

func (d dying) ReceiveMail(ctx context.Context, handle func(context.Context, natsbox.Mail) error) error {
	return d.Box.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
		var err error
		if d.handled {
			err = handle(ctx, m)
		}
		d.died <- struct{}{}
		<-ctx.Done()
		return errors.Join(err, context.Cause(ctx))
	})
}

// A runner that dies between delivery and handling, or between handling and the acknowledgement, has the letter again, and
// the agent has it once.
func TestLetterSurvivesItsReader(t *testing.T) {
	t.Parallel()
	for name, handled := range map[string]bool{"before it is handled": false, "before it is acknowledged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			died := make(chan struct{}, 8)
			m := r.start(func(c *teammate.Config) { c.Box = dying{c.Box, handled, died} })
			id := r.say(r.anna, "anna", "one")
			<-died
			deliveries := make(chan int, 8)
			m = r.again(m, func(c *teammate.Config) { c.Box = counting{c.Box, deliveries} })
			letters, err := m.ReceiveMail(t.Context(), 10)
			if err != nil || len(letters) != 1 || letters[0].ID != id {
				t.Fatalf("ReceiveMail = %+v, %v, want the letter once", letters, err)
			}
			if n := <-deliveries; n < 2 {
				t.Errorf("delivery %d, want another one", n)
			}
			last := r.say(r.anna, "anna", "two")
			if letters, err := m.ReceiveMail(t.Context(), 10); err != nil || len(letters) != 1 || letters[0].ID != last {
				t.Errorf("ReceiveMail = %+v, %v, want the next letter alone", letters, err)
			}
			r.wantStates(id, mailbox.Delivered, mailbox.Seen)
		})
	}
}

// counting says for each piece of mail which delivery it was.
type counting struct {
	teammate.Box
	deliveries chan int
}

func (c counting) ReceiveMail(ctx context.Context, handle func(context.Context, natsbox.Mail) error) error {
	return c.Box.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
		err := handle(ctx, m)
		if m.Envelope.Kind == mailbox.KindMessage {
			c.deliveries <- m.Deliveries
		}
		return err
	})
}

// twice hands every piece of mail over twice, as a broker does whose acknowledgement was lost.
type twice struct{ teammate.Box }

func (b twice) ReceiveMail(ctx context.Context, handle func(context.Context, natsbox.Mail) error) error {
	var old []natsbox.Mail
	return b.Box.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
		err := handle(ctx, m)
		for _, m := range old {
			err = errors.Join(err, handle(ctx, m))
		}
		old = append(old, m)
		return err
	})
}

// A letter that comes again is known also when it was read and forgotten long ago, over a restart.
func TestForgottenLetterIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(func(c *teammate.Config) { c.Box = twice{c.Box} })
	got := map[string]int{}
	const letters = 140
	for i := range letters {
		r.say(r.anna, "anna", fmt.Sprint(i))
		if i == letters-5 {
			m = r.again(m, func(c *teammate.Config) { c.Box = twice{c.Box} })
		}
		list, err := m.ReceiveMail(t.Context(), 300)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			if got[l.Text]++; got[l.Text] > 1 {
				t.Fatalf("letter %s came %d times", l.Text, got[l.Text])
			}
		}
	}
	if s := m.status(); s.Mail != 0 {
		t.Errorf("%d unread letters, want none", s.Mail)
	}
}

// Mail that cannot be read is refused with its reason, and is no letter.
func TestUnreadableLetterIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, r.team.Name, "anna", "api", 0, time.Now(), map[string]any{"text": 3})
	if err == nil {
		_, err = r.anna.Send(t.Context(), env)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rec := r.receipt(env.ID); rec.State != mailbox.Refused || rec.Reason == "" {
		t.Errorf("receipt %+v, want refused with its reason", rec)
	}
	if s := m.status(); s.Mail != 0 {
		t.Errorf("%d letters, want none", s.Mail)
	}
}

// A decision is delivered, applied, and seen when the agent has it; a revocation has no agent who sees it.
func TestReceiptsOfOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	r.decide(r.approval(r.open()))
	a := m.wait()
	r.wantStates(p.RequestID, mailbox.Delivered, mailbox.Applied)
	m.AnswerSeen(a)
	m.AnswerSeen(a)
	r.wantStates(p.RequestID, mailbox.Delivered, mailbox.Applied, mailbox.Seen)
	r.again(m)
	r.wantStates(p.RequestID, mailbox.Delivered, mailbox.Applied, mailbox.Seen)
}
