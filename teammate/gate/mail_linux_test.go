package gate_test

import (
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// write sends a message to the teammate, and returns its id.
func (r *rig) write(text string, urgent bool) string {
	r.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, r.team.Name, "anna", "api", 1, time.Now(), mailbox.Message{Text: text, Urgent: urgent})
	if err == nil {
		_, err = r.anna.Send(r.t.Context(), env)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return env.ID
}

// has reports whether a receipt is stored about an id.
func (r *rig) has(of string, state mailbox.ReceiptState) bool {
	r.t.Helper()
	var all []natsbox.ReceiptInfo
	if err := r.anna.Call(r.t.Context(), natsbox.VerbReceipts, natsbox.IDRequest{ID: of}, &all); err != nil {
		r.t.Fatal(err)
	}
	for _, i := range all {
		if i.From == "api" && i.Receipt.State == state {
			return true
		}
	}
	return false
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(15 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never came: %s", what)
		}
	}
}

// A client that dies before it has printed a letter has read nothing: the next one has it, and only then was it seen.
func TestLetterOfAClientThatDies(t *testing.T) {
	r := newRig(t, options{})
	id := r.write("mind the tests", false)
	first := result[[]teammate.Letter](t, r.ask(gate.VerbRecv, dies{gate.RecvArgs{TimeoutMS: -1}}))
	if len(first) != 1 || first[0].ID != id {
		t.Fatalf("mail.recv = %+v, want the letter", first)
	}
	r.until("delivered", func() bool { return r.has(id, mailbox.Delivered) })
	r.ask(gate.VerbRead, dies{gate.ReadArgs{ID: id}})
	r.until("one unread letter", func() bool { return r.status().Mail == 1 })
	if r.has(id, mailbox.Seen) {
		t.Error("seen, and nobody has printed it")
	}
	again := result[[]teammate.Letter](t, r.ask(gate.VerbRecv, gate.RecvArgs{TimeoutMS: -1}))
	if len(again) != 1 || again[0].ID != id {
		t.Fatalf("mail.recv = %+v, want the letter again", again)
	}
	r.until("seen", func() bool { return r.has(id, mailbox.Seen) })
	for range 2 {
		if l := result[teammate.Letter](t, r.ask(gate.VerbRead, gate.ReadArgs{ID: id})); l.Text != "mind the tests" {
			t.Errorf("mail.read = %+v", l)
		}
	}
}

// Whoever asks the gate anything hears of urgent mail, until it is read.
func TestUrgentMailIsTold(t *testing.T) {
	r := newRig(t, options{})
	r.write("by the way", false)
	r.until("a letter", func() bool { return r.status().Mail == 1 })
	if s := r.ask(gate.VerbStatus, nil); s.Urgent != "" {
		t.Errorf("urgent mail from %q, want none", s.Urgent)
	}
	r.write("stop", true)
	r.until("two letters", func() bool { return r.status().Mail == 2 })
	if s := r.ask(gate.VerbStatus, nil); s.Urgent != "anna" {
		t.Errorf("urgent mail from %q, want anna", s.Urgent)
	}
	if l := result[[]teammate.Letter](t, r.ask(gate.VerbRecv, gate.RecvArgs{Max: 1})); len(l) != 1 || l[0].Text != "stop" {
		t.Errorf("mail.recv = %+v, want what is urgent", l)
	}
	r.until("nothing urgent", func() bool { return r.ask(gate.VerbStatus, nil).Urgent == "" })
}

// An answer that the agent's client has printed was seen.
func TestAnswerIsSeen(t *testing.T) {
	r := newRig(t, options{})
	r.works(1)
	s := r.ask(gate.VerbWait, gate.WaitArgs{})
	s.want(t, 0, "")
	id := result[teammate.Answer](t, s).RequestID
	r.until("seen", func() bool { return r.has(id, mailbox.Seen) })
}
