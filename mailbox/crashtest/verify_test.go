package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// patience is how long, in fake time, everything may take to come to rest after the last kill.
const patience = 30 * time.Minute

// finish has the agents end what they are at, with nobody killed any more, until nothing waits and nothing is under way.
func (w *world) finish(jobs []*work) {
	w.mu.Lock()
	w.ending = true
	w.mu.Unlock()
	late := time.After(patience)
	for _, k := range jobs {
		select {
		case <-k.done:
		case <-late:
			w.fatal("%s waits for ever: %s", k.name, w.stand(k))
		}
	}
	js, end := w.admin()
	defer end()
	for begin := time.Now(); ; time.Sleep(time.Second) {
		left := w.undelivered(js)
		if left == "" {
			return
		}
		if time.Since(begin) > patience {
			w.fatal("never delivered: %s", left)
		}
	}
}

func (w *world) stand(k *work) string {
	m := w.part(k.name).(*mate)
	if m.Runner == nil {
		return "its runner has not started"
	}
	s, err := m.Status()
	data, _ := json.Marshal(s)
	return fmt.Sprintf("%s (%v); oddities %v", data, err, w.notes.oddities)
}

// admin is the broker as its operator sees it.
func (w *world) admin() (jetstream.JetStream, func()) {
	w.t.Helper()
	server := w.running().server
	key := server.Auth().CoordinatorKey()
	nc, err := nats.Connect("", nats.InProcessServer(server), nats.Nkey(w.public(key), key.Sign), nats.NoReconnect())
	w.check(err)
	js, err := jetstream.New(nc)
	w.check(err)
	return js, nc.Close
}

// undelivered names a consumer that has something to deliver, or to be acknowledged.
func (w *world) undelivered(js jetstream.JetStream) string {
	for _, name := range []string{"MB_", "DEC_", "ORD_"} {
		st, err := js.Stream(context.Background(), name+team)
		w.check(err)
		all, left := st.ListConsumers(context.Background()), ""
		for c := range all.Info() { // to the end: a goroutine of the client fills it
			if durable := c.Config.Durable; durable != "" && (c.NumPending > 0 || c.NumAckPending > 0) {
				left = fmt.Sprintf("%s to %s: %d, and %d not acknowledged", name, durable[:strings.Index(durable, "-")], c.NumPending, c.NumAckPending)
			}
		}
		w.check(all.Err())
		if left != "" {
			return left
		}
	}
	return ""
}

// record is one stored message.
type record struct {
	*jetstream.RawStreamMsg
	at  mailbox.Subject
	env mailbox.Envelope
}

func (w *world) stream(js jetstream.JetStream, name string) []record {
	st, err := js.Stream(context.Background(), name+team)
	w.check(err)
	var all []record
	for seq := uint64(1); seq <= st.CachedInfo().State.LastSeq; seq++ {
		m, err := st.GetMsg(context.Background(), seq)
		w.check(err)
		r := record{RawStreamMsg: m}
		if name != "AUDIT_" {
			r.at, err = mailbox.ParseSubject(m.Subject)
			w.check(err)
			r.env, err = mailbox.Decode(m.Data)
			w.check(err)
		}
		all = append(all, r)
	}
	return all
}

// verify holds what everybody was told against what is on disk.
func (w *world) verify(jobs []*work) {
	js, end := w.admin()
	mail, decisions, orders, ledger := w.stream(js, "MB_"), w.stream(js, "DEC_"), w.stream(js, "ORD_"), w.stream(js, "AUDIT_")
	end()
	dirs := map[string]string{}
	for _, k := range jobs {
		m := w.part(k.name).(*mate)
		m.stop(teammate.ErrDetach)
		<-m.ended
		dirs[k.name] = m.dir
	}
	w.notes.mu.Lock()
	defer w.notes.mu.Unlock()
	for _, what := range w.notes.oddities {
		w.fail("%s", what)
	}
	w.verifyMail(mail, dirs)
	slots := w.verifySlots(decisions)
	for name, dir := range dirs {
		w.verifyJournal(name, dir, slots)
	}
	w.verifyOrders(orders, mail, dirs)
	w.verifyDesks()
	w.verifyLedger(ledger, mail, decisions, orders)
}

// verifyMail: what was acknowledged is stored, and was shown once to whom it was for.
func (w *world) verifyMail(mail []record, dirs map[string]string) {
	stored := map[letter]bool{}
	for _, r := range mail {
		stored[letter{r.at.From, r.at.To, r.env.ID}] = true
	}
	kept := map[letter]int{}
	for name, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "inbox", "*.json"))
		w.check(err)
		for _, file := range files {
			var l teammate.Letter
			data, err := os.ReadFile(file)
			w.check(err)
			w.check(json.Unmarshal(data, &l))
			kept[letter{l.From, name, l.ID}]++
		}
	}
	for l := range w.notes.sent {
		switch {
		case !stored[l]:
			w.fail("lost: %v was acknowledged to its sender and is not in the mailbox", l)
		case l.to == mailbox.Lead && !w.notes.heard[l]:
			w.fail("lost: no desk was told of %v", l)
		case l.to != mailbox.Lead && kept[l] == 0:
			w.fail("lost: %v is not with its teammate", l)
		}
	}
	for l, n := range kept {
		if n > 1 {
			w.fail("handled twice: %v lies %d times in the inbox", l, n)
		}
	}
	for l, n := range w.notes.shown {
		if n > 1 {
			w.fail("handled twice: %v was shown %d times", l, n)
		}
	}
}

// verifySlots: a request has one decision, that a leader signed, and whoever was told that theirs counts was told the truth.
func (w *world) verifySlots(decisions []record) map[[2]string]planmode.Decision {
	c := w.charter()
	plans, outcomes := map[[2]string]planmode.Decision{}, map[[2]string]claim{}
	for _, r := range decisions {
		k := [2]string{r.at.To, r.at.Request}
		if _, twice := outcomes[k]; twice {
			w.fail("request %v has two decisions", k)
		}
		o := charter.Order{Subject: r.Subject, Payload: r.Data, Sigs: r.Header.Values(charter.SigHeader)}
		if _, d, err := charter.OpenOrder[planmode.Decision](c, o); err == nil {
			plans[k], outcomes[k] = d, claim{d.DecidedBy.Name, string(d.Outcome)}
			continue
		}
		_, a, err := charter.OpenOrder[planmode.PermissionAnswer](c, o)
		if err != nil {
			w.fail("request %v: %v", k, err)
		}
		outcomes[k] = claim{a.DecidedBy.Name, string(a.Behavior)}
	}
	for k, claims := range w.notes.claims {
		for _, said := range claims {
			if said != outcomes[k] {
				w.fail("request %v: %s was told that it is %s, and the slot says %v", k, said.by, said.outcome, outcomes[k])
			}
		}
	}
	return plans
}

// line is what is read of a journal here.
type line struct {
	Event struct {
		Type string `json:"type"`
		Data struct {
			Decision planmode.Decision `json:"decision"`
			OrderID  string            `json:"orderId"`
			GrantID  string            `json:"grantId"`
		} `json:"data"`
	} `json:"event"`
	Session *planmode.Session `json:"session"`
}

func (w *world) lines(dir string) []line {
	raw, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	w.check(err)
	var all []line
	for text := range bytes.Lines(raw) {
		var l line
		w.check(json.Unmarshal(text, &l))
		all = append(all, l)
	}
	return all
}

// verifyJournal: every way out of plan mode has its signed decision, each decision was applied once, grants live with their
// plan alone, and no use is missing.
func (w *world) verifyJournal(name, dir string, slots map[[2]string]planmode.Decision) {
	j, err := journal.Open(dir, journal.Config{})
	w.check(err)
	last, _ := j.Session()
	w.check(j.Close())
	if last.Pending != nil || len(last.Asks) > 0 || len(last.Grants) > 0 { // recalled at the last moment it plans, and waits for nobody
		w.fail("%s is left %s, with pending %v, asks %v, grants %v", name, last.State, last.Pending, last.Asks, last.Grants)
	}
	applied, uses := map[string]int{}, map[string]int{}
	before := planmode.Session{}
	for _, l := range w.lines(dir) {
		if l.Session == nil {
			continue
		}
		s := *l.Session
		if err := s.Check(); err != nil {
			w.fail("%s: %v", name, err)
		}
		if (before.State == planmode.Planning || before.State == planmode.AwaitingLeaderApproval) && s.State == planmode.Working {
			id := l.Event.Data.Decision.RequestID
			applied[id]++
			d, ok := slots[[2]string{name, id}]
			if !ok || d.Outcome != planmode.OutcomeApproved || before.Pending == nil || before.Pending.RequestID != id || d.PlanDigest != before.Pending.Digest {
				w.fail("%s left plan mode by %s of request %q without a decision that says so: %v", name, l.Event.Type, id, d.Outcome)
			}
		}
		if l.Event.Type == "grantUsed" {
			uses[l.Event.Data.GrantID]++
		}
		before = s
	}
	for id, n := range applied {
		if n > 1 {
			w.fail("handled twice: %s applied the decision on %s %d times", name, id, n)
		}
	}
	for grant, n := range w.notes.runs[name] {
		if n > uses[grant] {
			w.fail("%s ran %d times under %s, and the journal has %d uses", name, n, grant, uses[grant])
		}
	}
}

// verifyOrders: what was acknowledged to a leader was applied or refused, once, and its receipts do not contradict.
func (w *world) verifyOrders(orders, mail []record, dirs map[string]string) {
	stored := map[string]bool{}
	for _, r := range orders {
		stored[r.env.ID] = true
	}
	ends, said := map[string]map[mailbox.ReceiptState]bool{}, map[string][]string{}
	for _, r := range mail {
		if r.env.Kind != mailbox.KindReceipt {
			continue
		}
		b, err := mailbox.Body[mailbox.Receipt](r.env)
		w.check(err)
		if ends[b.Of] == nil {
			ends[b.Of] = map[mailbox.ReceiptState]bool{}
		}
		ends[b.Of][b.State] = true
		said[b.Of] = append(said[b.Of], fmt.Sprintf("%d %s %s by %s: %s", r.Sequence, r.Time.Format("15:04:05.000"), b.State, r.at.From, b.Reason))
	}
	for _, o := range w.notes.orders {
		switch {
		case !stored[o.ID]:
			w.fail("lost: the order %s to %s was acknowledged and is not stored", o.ID, o.To)
		case len(ends[o.ID]) == 0:
			w.fail("lost: the order %s (%s) to %s has no receipt", o.ID, o.Kind, o.To)
		}
	}
	for id, states := range ends {
		if states[mailbox.Applied] && states[mailbox.Refused] {
			w.fail("%s was applied, and was refused: %q", id, said[id])
		}
	}
	for name, dir := range dirs {
		applied, counters := map[string]int{}, map[string]uint64{}
		for _, l := range w.lines(dir) {
			if l.Session == nil {
				continue
			}
			if id := l.Event.Data.OrderID; id != "" && !maps.Equal(counters, l.Session.Orders) { // else its receipt was sent again
				applied[id]++
			}
			counters = l.Session.Orders
		}
		for id, n := range applied {
			if n > 1 {
				w.fail("handled twice: %s applied the order %s %d times", name, id, n)
			}
		}
	}
}

// verifyDesks: a desk tells nothing twice.
func (w *world) verifyDesks() {
	for _, events := range w.notes.told {
		for what, n := range events {
			if n > 1 && !strings.HasPrefix(what, "applied") && !strings.HasPrefix(what, "refused") {
				w.fail("handled twice: a desk told %d times: %s", n, what)
			}
		}
	}
}

// verifyLedger: the chain holds, and has one entry of each message.
func (w *world) verifyLedger(ledger []record, streams ...[]record) {
	v := audit.NewVerifier(w.charter())
	digests := map[string]string{}
	for _, r := range ledger {
		e, ok := v.Add(audit.Line{Entry: r.Data, Sig: r.Header.Get(charter.SigHeader)})
		if !ok || e.Source == nil {
			continue
		}
		at := fmt.Sprint(e.Source.Stream, " ", e.Source.Seq)
		if digests[at] != "" {
			w.fail("the ledger has %s twice", at)
		}
		digests[at] = e.Source.Digest
	}
	for _, p := range v.Problems() {
		w.fail("the ledger: %s", p)
	}
	for _, stream := range streams {
		for _, r := range stream {
			name := map[string]string{"mb": "MB_", "dec": "DEC_", "ord": "ORD_"}[r.at.Branch] + team
			if at := fmt.Sprint(name, " ", r.Sequence); digests[at] != audit.Digest(r.Data) {
				w.fail("the ledger has a gap: %s (%s)", at, r.Subject)
			}
		}
	}
	if len(ledger) == 0 {
		w.fail("the ledger is empty")
	}
}
