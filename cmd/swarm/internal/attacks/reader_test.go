package attacks_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// reader is a member that reads its mail.
type reader struct {
	*natsbox.Conn
	mu   sync.Mutex
	mail []natsbox.Mail
}

func (w *world) reads(t *testing.T, name string) *reader {
	t.Helper()
	r := &reader{Conn: w.Connect(name)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.mail = append(r.mail, m)
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// texts are the messages that were handed over, with who sent them by the broker's word.
func (r *reader) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, m := range r.mail {
		b, _ := mailbox.Body[mailbox.Message](m.Envelope)
		out = append(out, m.Subject.From+": "+b.Text)
	}
	return out
}

func (r *reader) has(line string) int {
	n := 0
	for _, s := range r.texts() {
		if s == line {
			n++
		}
	}
	return n
}

func envelope(t testing.TB, change func(*mailbox.Envelope)) []byte {
	t.Helper()
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "mate", "other", 1, time.Now(), mailbox.Message{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&e)
	}
	data, err := mailbox.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Mail whose envelope contradicts its subject, or that nobody can read, is not handed over.
func TestAttackEnvelopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.reads(t, "other")
	until(t, "what lay there", func() bool { return other.has("anna: between us") == 1 })
	good := string(envelope(t, nil))
	for _, a := range []struct{ name, data string }{
		{"an envelope in a leader's name", string(envelope(t, func(e *mailbox.Envelope) { e.From = "anna" }))},
		{"an envelope to somebody else", string(envelope(t, func(e *mailbox.Envelope) { e.To = "anna" }))},
		{"an envelope of another team", string(envelope(t, func(e *mailbox.Envelope) { e.Team = "store" }))},
		{"an envelope of another kind", string(envelope(t, func(e *mailbox.Envelope) { e.Kind = mailbox.KindPlanApprovalResponse }))},
		{"an envelope of a later version", strings.Replace(good, `"v":1`, `"v":2`, 1)},
		{"an envelope without a version", strings.Replace(good, `"v":1,`, ``, 1)},
		{"an envelope with two senders", strings.Replace(good, `"from":"mate"`, `"from":"mate","from":"anna"`, 1)},
		{"an envelope with a look-alike sender", strings.Replace(good, `"from":"mate"`, `"from":"mate","FROM":"anna"`, 1)},
		{"mail that is no JSON", "approved"},
		{"mail without a byte", ""},
		{"mail that is nested too deep", strings.Replace(good, `{"text":"x"}`, strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000), 1)},
		{"mail of two envelopes", good + good},
	} {
		t.Run(a.name, func(t *testing.T) {
			before, had := other.Stats().Mismatched, len(other.texts())
			if _, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.mb.other.mate.message", Data: []byte(a.data)}); err != nil {
				t.Fatal(err)
			}
			until(t, "the reader's word", func() bool { return other.Stats().Mismatched > before || len(other.texts()) > had })
			for _, text := range other.texts()[had:] {
				t.Errorf("handed over: %s", text)
			}
			mailboxtest.Refused(t, a.name, "teammate", mailboxtest.ByReader, "it is dropped and counted, and nobody is handed it")
		})
	}
	if _, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.mb.other.mate.message", Data: []byte(good)}); err != nil {
		t.Fatal(err)
	}
	until(t, "mail that is as it says", func() bool { return other.has("mate: x") == 1 })
}

// Who knows the id of another's mail, before or after it was sent, does not take its place.
func TestAttackMessageIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.reads(t, "other")
	t.Run("squat on an envelope's id", func(t *testing.T) {
		id := natsbox.NewID()
		squat := envelope(t, func(e *mailbox.Envelope) { e.ID = id })
		if _, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.mb.other.mate.message", Data: squat}); err != nil {
			t.Fatal(err)
		}
		until(t, "mate's", func() bool { return other.has("mate: x") == 1 })
		anna := w.Dial("anna")
		for range 2 {
			send(t, anna, "anna", "other", 1, id, mailbox.KindMessage, mailbox.Message{Text: "mine"})
		}
		mail(t, anna, "anna", "other", "after it")
		until(t, "anna's next", func() bool { return other.has("anna: after it") == 1 })
		if n := other.has("anna: mine"); n != 1 {
			t.Errorf("anna's mail came %d times, want once", n)
		}
		mailboxtest.Refused(t, "squat on an envelope's id", "teammate", mailboxtest.ByReader, "mail is known by its sender and its id: anna's came once")
	})
	t.Run("squat on a message id of the broker's", func(t *testing.T) {
		m := &nats.Msg{Subject: "swarm.shop.mb.other.mate.message", Header: nats.Header{"Nats-Msg-Id": {"anna-1"}}, Data: envelope(t, nil)}
		if _, err := answered(w.peer("mate"), m); err != nil {
			t.Fatal(err)
		}
		// Whoever derives an id loses its mail: the broker says "duplicate". Ours are drawn.
		m = &nats.Msg{Subject: "swarm.shop.mb.other.anna.message", Header: nats.Header{"Nats-Msg-Id": {"anna-1"}}, Data: []byte("{}")}
		if a, err := answered(w.peer("anna"), m); err != nil || !strings.Contains(a, "duplicate") {
			t.Fatalf("the control: %s, %v", a, err)
		}
		seen := map[string]bool{}
		for range 3 {
			mail(t, w.Dial("anna"), "anna", "other", "drawn")
		}
		st, err := w.js.Stream(t.Context(), "MB_shop")
		if err != nil {
			t.Fatal(err)
		}
		last, err := st.GetLastMsgForSubject(t.Context(), "swarm.shop.mb.other.anna.message")
		if err != nil {
			t.Fatal(err)
		}
		for seq := last.Sequence - 2; seq <= last.Sequence; seq++ {
			raw, err := st.GetMsg(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			id := raw.Header.Get("Nats-Msg-Id")
			if len(id) < 22 || seen[id] || strings.Contains(string(raw.Data), id) {
				t.Errorf("message id %q of %s can be known before it is used", id, raw.Data)
			}
			seen[id] = true
		}
		mailboxtest.Refused(t, "squat on a message id of the broker's", "teammate", mailboxtest.ByReader, "ids are 128 random bits, another for each message, and not in it")
	})
}
