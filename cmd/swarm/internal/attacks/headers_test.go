package attacks_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Headers that tell the broker to do something else than to store this message are refused: what they need is off in our
// streams. The same message without them is stored.
func TestAttackHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range []struct {
		name   string
		header nats.Header
		code   string
	}{
		{"roll a mailbox up", nats.Header{"Nats-Rollup": {"all"}}, "(10111)"},
		{"roll a subject up", nats.Header{"Nats-Rollup": {"sub"}}, "(10111)"},
		{"have a message expire", nats.Header{"Nats-TTL": {"1s"}}, "(10166)"},
		{"have a message sent later", nats.Header{"Nats-Schedule": {"@at 2100-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"swarm.shop.dec.other.r9"}}, "(10188)"},
		{"store a batch at once", nats.Header{"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}}, "(10174)"},
		{"count on a subject", nats.Header{"Nats-Incr": {"1"}}, "(10168)"},
		{"expect another stream", nats.Header{"Nats-Expected-Stream": {"DEC_shop"}}, "(10060)"},
		{"expect another message before", nats.Header{"Nats-Expected-Last-Msg-Id": {"x"}}, "(10070)"},
		{"expect an empty stream", nats.Header{"Nats-Expected-Last-Sequence": {"0"}}, "(10071)"},
	} {
		t.Run(a.name, func(t *testing.T) {
			for _, x := range [][2]string{
				{"mate", "swarm.shop.mb.lead.mate.message"},
				{"anna", "swarm.shop.mb.other.anna.message"},
				{"bob", "swarm.shop.ord.other.bob.grant_revoked"},
				{"bob", "swarm.shop.dec.other." + natsbox.NewRequestID()},
			} {
				if a.code == "(10071)" && strings.Contains(x[1], ".dec.") || a.code == "(10060)" && strings.Contains(x[1], ".dec.") || strings.Contains(x[1], ".ord.") && a.code == "(10071)" {
					continue // true there
				}
				before := w.snapshot()
				_, err := answered(w.peer(x[0]), &nats.Msg{Subject: x[1], Header: a.header, Data: []byte("{}")})
				if err == nil || !strings.HasSuffix(err.Error(), a.code) {
					t.Errorf("%s on %s: %v, want %s", x[0], x[1], err, a.code)
					continue
				}
				w.unchanged(t, before)
				mailboxtest.Refused(t, a.name, roles[x[0]], mailboxtest.ByStream, err.Error())
			}
			for _, who := range []string{"mate", "anna", "bob"} {
				m := &nats.Msg{Subject: "swarm.shop.mb.lead." + who + ".message", Header: nats.Header{"Traceparent": {"00-0-0-00"}}, Data: []byte("{}")}
				if _, err := answered(w.peer(who), m); err != nil {
					t.Errorf("%s, without: %v", who, err)
				}
			}
		})
	}
}

// Headers that say who sent a message, or where its trace goes, do nothing: its sender is its subject's.
func TestAttackHeadersThatName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spy, err := w.peer("bob").SubscribeSync("_INBOX_bob.trace")
	if err != nil {
		t.Fatal(err)
	}
	conn := w.Connect("other")
	got := make(chan natsbox.Mail, 64)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = conn.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error { got <- m; return nil })
	}()
	defer func() { cancel(); <-done }()
	for _, a := range []struct {
		name   string
		header nats.Header
	}{
		{"a header that names another sender", nats.Header{"Nats-Request-Info": {`{"acc":"M_leader_anna","user":"anna"}`}, "From": {"anna"}, "Swarm-From": {"anna"}}},
		{"a header that names another stream", nats.Header{"Nats-Stream-Source": {"DEC_shop 1"}, "Nats-Subject": {"swarm.shop.mb.other.anna.message"}, "Nats-Sequence": {"1"}}},
		{"a trace into another's inbox", nats.Header{"Nats-Trace-Dest": {"_INBOX_bob.trace"}, "Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}},
		{"a header with a leader's signature that is none", nats.Header{"Swarm-Sig": {public(t, w.Key("anna")) + ".AAAA"}}},
	} {
		t.Run(a.name, func(t *testing.T) {
			e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "mate", "other", 1, time.Now(), mailbox.Message{Text: a.name})
			if err != nil {
				t.Fatal(err)
			}
			data, err := mailbox.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			mate := w.Raw("mate")
			_, err = answered(mate, &nats.Msg{Subject: "swarm.shop.mb.other.mate.message", Header: a.header, Data: data})
			if why := violation(mate, a.header.Get("Nats-Trace-Dest")); why != "" {
				mailboxtest.Refused(t, a.name, "teammate", mailboxtest.ByPermissions, why)
				return
			}
			if err != nil && strings.HasSuffix(err.Error(), "(10227)") {
				mailboxtest.Refused(t, a.name, "teammate", mailboxtest.ByStream, err.Error())
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for {
				m := <-got
				if b, err := mailbox.Body[mailbox.Message](m.Envelope); err != nil || b.Text != a.name {
					continue // what lay there before
				}
				if m.Subject.From != "mate" || m.Envelope.From != "mate" {
					t.Errorf("other reads it as mail of %s", m.Subject.From)
				}
				break
			}
			if m, err := spy.NextMsg(20 * time.Millisecond); err == nil {
				t.Errorf("bob hears %q on %s", m.Data, m.Subject)
			}
			mailboxtest.Refused(t, a.name, "teammate", mailboxtest.ByReader, "it is read as mail of mate, as its subject says")
		})
	}
}

// What is too large for its stream, and what no subject is, is not stored.
func TestAttackSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	big := func(n int) []byte { return []byte(strings.Repeat("x", n)) }
	for _, a := range []struct {
		name, me, subject string
		data              []byte
		code              string
	}{
		{"mail larger than a mailbox takes", "mate", "swarm.shop.mb.lead.mate.message", big(natsbox.MaxMail + 1), "(10054)"},
		{"an order larger than the stream takes", "bob", "swarm.shop.ord.other.bob.grant_revoked", big(natsbox.MaxMail + 1), "(10054)"},
	} {
		t.Run(a.name, func(t *testing.T) {
			before := w.snapshot()
			_, err := answered(w.peer(a.me), &nats.Msg{Subject: a.subject, Data: a.data})
			if err == nil || !strings.HasSuffix(err.Error(), a.code) {
				t.Fatalf("%v, want %s", err, a.code)
			}
			w.unchanged(t, before)
			if _, err := answered(w.peer(a.me), &nats.Msg{Subject: a.subject, Data: big(1000)}); err != nil {
				t.Errorf("a smaller one: %v", err)
			}
			mailboxtest.Refused(t, a.name, roles[a.me], mailboxtest.ByStream, err.Error())
		})
	}
	t.Run("a status larger than it may be", func(t *testing.T) {
		before := w.snapshot()
		_, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.stat.mate", Data: big(130 << 10)})
		if err == nil {
			t.Fatal("stored")
		}
		w.unchanged(t, before)
		if _, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.stat.mate", Data: big(1000)}); err != nil {
			t.Errorf("a smaller one: %v", err)
		}
		mailboxtest.Refused(t, "a status larger than it may be", "teammate", mailboxtest.ByStream, err.Error())
	})
	for name, subject := range map[string]string{
		"a subject with a NUL": "swarm.shop.mb.lead.mate.mess\x00age", "a subject that is not UTF-8": "swarm.shop.mb.lead.mate.\xff\xfe",
		"a subject with an empty token":  "swarm.shop.mb..mate.message",
		"a subject of a look-alike kind": "swarm.shop.mb.lead.mate.messagе",
	} {
		t.Run(name, func(t *testing.T) {
			before, nc := w.snapshot(), w.Raw("mate")
			why := ""
			if err := nc.Publish(subject, []byte("{}")); err != nil {
				why = err.Error()
			}
			if err := nc.Flush(); err != nil && why == "" {
				why = err.Error()
			}
			if why == "" && nc.LastError() != nil {
				why = nc.LastError().Error()
			}
			if why == "" {
				t.Error("nobody says no")
			}
			w.unchanged(t, before)
			mailboxtest.Refused(t, name, "teammate", mailboxtest.ByPermissions, why)
		})
	}
	if _, err := answered(w.Raw("mate"), &nats.Msg{Subject: "swarm.shop.mb.lead.mate.message", Data: []byte("{}")}); err != nil {
		t.Errorf("a good subject: %v", err)
	}
}

// A wildcard in the place of a recipient is a recipient that nobody is: it is stored once, and waits for no one.
func TestAttackMailToAWildcard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var before map[string]uint64
	until(t, "the mail of before", func() bool { // a consumer hears of it a moment after it is stored
		before = w.waiting(t)
		for _, name := range []string{"anna", "mate", "other"} {
			if before[w.fill("{own}", name)] == 0 {
				return false
			}
		}
		return true
	})
	for _, subject := range []string{"swarm.shop.mb.*.mate.message", "swarm.shop.mb.*.anna.message"} {
		me := map[bool]string{true: "mate", false: "anna"}[strings.Contains(subject, "mate")]
		if _, err := answered(w.peer(me), &nats.Msg{Subject: subject, Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if now := w.waiting(t); !maps.Equal(before, now) {
			t.Errorf("mail to a wildcard reaches somebody: %v, and before %v", now, before)
		}
		mailboxtest.Refused(t, "mail to a wildcard", roles[me], mailboxtest.ByStream, "it waits for nobody: no consumer has it")
	}
	if _, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.mb.other.mate.message", Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	until(t, "mail to other", func() bool { return !maps.Equal(before, w.waiting(t)) })
}

// waiting is how much mail each consumer has still to hand over.
func (w *world) waiting(t *testing.T) map[string]uint64 {
	t.Helper()
	st, err := w.js.Stream(t.Context(), "MB_shop")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for c := range st.ListConsumers(t.Context()).Info() {
		if c.Config.Durable != "" {
			out[c.Name] = c.NumPending
		}
	}
	return out
}

// A slot takes one decision, whoever tries what.
func TestAttackTheSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	subject := "swarm.shop.dec.other." + natsbox.NewRequestID()
	if _, err := answered(w.peer("anna"), &nats.Msg{Subject: subject, Header: nats.Header{"Nats-Msg-Id": {"known"}}, Data: []byte("first")}); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]nats.Header{
		"decide a second time":                   nil,
		"decide a second time under the same id": {"Nats-Msg-Id": {"known"}},
		"replace a decision by a rollup":         {"Nats-Rollup": {"sub"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, me := range []string{"bob", "bot", "anna"} {
				before := w.snapshot()
				answer, err := answered(w.peer(me), &nats.Msg{Subject: subject, Header: h, Data: []byte("second")})
				if err == nil && !strings.Contains(answer, `"duplicate"`) {
					t.Errorf("%s: %s", me, answer)
				}
				w.unchanged(t, before)
				why := answer
				if err != nil {
					why = err.Error()
				}
				mailboxtest.Refused(t, name, roles[me], mailboxtest.ByStream, why)
			}
			got, err := w.peer("bob").Request("JS.swarm.DIRECT.GET.DEC_shop."+subject, nil, patience)
			if err != nil || string(got.Data) != "first" {
				t.Errorf("the slot holds %v, %v", got, err)
			}
		})
	}
}
