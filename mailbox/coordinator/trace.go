package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// trace tells how far something has come. Everything in it is derived from the streams, and is the same after a restart.
func (r *running) trace(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.IDRequest](data)
	if err != nil {
		return nil, err
	}
	var t natsbox.Trace
	var refused error
	err = r.owner.ask(ctx, func(x *index) {
		p, req, err := x.traced(who, strings.TrimSpace(q.ID), r.co.cfg.Now())
		if refused = err; err == nil {
			t = x.traceOf(who, p, req)
			x.attend(t.Waits, time.Now(), r.co.auth.Online)
		}
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	t.Steps = append(t.Steps, r.deadSteps(t)...)
	slices.SortStableFunc(t.Steps, func(a, b natsbox.TraceStep) int { return a.At.Compare(b.At) })
	return t, nil
}

// mayTrace reports whether a member may know of a post: a teammate of what it has sent or was sent.
func mayTrace(who charter.Member) func(post) bool {
	me := own(who)
	return func(p post) bool { return me == "" || p.from == me || p.to == me || p.to == mailbox.All }
}

// traced finds what a word names: a request by id, handle or its teammate's name, else mail or an order by its id, or by
// the beginning of that.
func (x *index) traced(who charter.Member, word string, now time.Time) (post, *request, error) {
	may := mayTrace(who)
	if r := x.find(own(who), word); r != nil {
		if p, ok := x.posts.find(r.id, func(p post) bool { return p.from == r.teammate }); ok {
			return p, r, nil
		}
	}
	ids := []string{word}
	if _, ok := x.posts.find(word, may); !ok {
		ids = nil
		if len(word) >= minPrefix {
			ids = x.posts.named(word, may)
		}
	}
	switch len(ids) {
	case 0:
		next := "swarm inbox and swarm inbox --mail list what there is"
		if own(who) != "" {
			next = "swarm mail send and swarm mail recv print ids"
		}
		old := ""
		if at, ok := natsbox.TimeOf(word); ok && now.Sub(at) > natsbox.KeepMail {
			old = fmt.Sprintf(": by its id it is of %s, and mail that everybody has handled is deleted after %d days", at.Format(time.DateOnly), int(natsbox.KeepMail.Hours()/24))
		}
		e := refusal(natsbox.CodeNotFound, next, "no mail, request or order %q%s", word, old)
		e.Near = mailbox.Nearest(word, append(x.handles(who), x.posts.newest(may)...))
		return post{}, nil, e
	case 1:
		p, _ := x.posts.find(ids[0], may)
		return p, x.requests[slot{p.from, p.id}], nil
	}
	return post{}, nil, refusal(natsbox.CodeBadRequest, "write more of it", "%q begins several ids: %s", word, strings.Join(ids, ", "))
}

// handles are those of the requests that a member may see, the newest ones.
func (x *index) handles(who charter.Member) []string {
	var list []*request
	for _, r := range x.requests {
		if own(who) == "" || r.teammate == who.Name {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return b.stored.Compare(a.stored) })
	var out []string
	for _, r := range list[:min(len(list), maxCompare)] {
		out = append(out, mailbox.Handle(r.teammate, r.id, 4))
	}
	return out
}

// traceOf is the way of a post so far. Req is set where it is a request.
func (x *index) traceOf(who charter.Member, p post, req *request) natsbox.Trace {
	t := natsbox.Trace{ID: p.id, Kind: p.kind, From: p.from, To: p.to, Urgent: p.urgent}
	t.Steps = []natsbox.TraceStep{{State: natsbox.TraceStored, At: p.stored, By: p.from, Stream: p.stream, Seq: p.seq}}
	takers := x.takers(p)
	if req != nil {
		t.Expires = x.expires(req)
		t.Steps = append(t.Steps, x.signed(who, req)...)
		t.Steps = append(t.Steps, x.ends(req)...)
		takers = append(takers, p.from)
	}
	for _, rc := range x.receipts[p.id] {
		if !slices.Contains(takers, rc.From) {
			continue // about somebody else's mail: worth nothing
		}
		s := natsbox.TraceStep{State: string(rc.Receipt.State), At: rc.StoredAt, By: rc.From, Reason: rc.Receipt.Reason, Mode: rc.Receipt.Mode}
		if req != nil && rc.From == req.teammate {
			s.Of = "decision"
		}
		t.Steps = append(t.Steps, s)
	}
	t.Waits = x.waits(p, req, t.Steps)
	return t
}

// takers are the members that something is for, and whose receipts count.
func (x *index) takers(p post) []string {
	var names []string
	for _, m := range x.charter().Members {
		if m.Name == p.to || p.to == mailbox.All && m.Name != p.from && !m.Retired && p.seq > x.since(m.Name) || p.to == mailbox.Lead && m.Role == charter.RoleLeader {
			names = append(names, m.Name)
		}
	}
	return names
}

// signed are the signatures of leaders for a decision that needs several. How leaders decide is theirs until they have.
func (x *index) signed(who charter.Member, r *request) []natsbox.TraceStep {
	if own(who) != "" && x.open[r.slot] != nil {
		return nil
	}
	var steps []natsbox.TraceStep
	for _, e := range r.endorsed {
		steps = append(steps, natsbox.TraceStep{State: natsbox.TraceSigned, At: e.StoredAt, By: e.From, Stream: mailStream(x.team), Seq: e.Seq})
	}
	return steps
}

// ends are the steps that settle a request.
func (x *index) ends(r *request) []natsbox.TraceStep {
	var steps []natsbox.TraceStep
	if d, ok := x.decisions[r.slot]; ok {
		s := natsbox.TraceStep{
			State: natsbox.TraceDecided, At: d.StoredAt, Stream: decisionStream(x.team), Seq: d.seq, Outcome: d.Outcome, Reason: d.Reason, Mode: string(d.Mode),
		}
		if d.By != nil {
			s.By = d.By.Name
		}
		if len(d.Signers) > 1 {
			s.Signers = d.Signers
		}
		if !d.Valid {
			s.Outcome = "void"
		}
		steps = append(steps, s)
	}
	if a := r.answer; a != nil {
		steps = append(steps, natsbox.TraceStep{
			State: natsbox.TraceAnswered, At: a.stored, By: a.by, Stream: mailStream(x.team), Seq: a.seq, Other: a.envelope,
		})
	}
	switch {
	case r.withdrawn != "":
		steps = append(steps, natsbox.TraceStep{State: natsbox.TraceWithdrawn, At: r.ended, By: r.teammate, Reason: r.withdrawn})
	case r.superseded != "":
		steps = append(steps, natsbox.TraceStep{State: natsbox.TraceSuperseded, At: r.ended, By: r.teammate, Other: r.superseded})
	}
	return steps
}

// waits says what is still to come: the decision of a request and its application, or that mail is taken and read.
func (x *index) waits(p post, req *request, steps []natsbox.TraceStep) []natsbox.TraceWait {
	has := func(by string, states ...mailbox.ReceiptState) bool {
		return slices.ContainsFunc(steps, func(s natsbox.TraceStep) bool {
			return (by == "" || s.By == by) && slices.Contains(states, mailbox.ReceiptState(s.State))
		})
	}
	final := []mailbox.ReceiptState{mailbox.Applied, mailbox.Refused}
	switch {
	case req != nil && x.open[req.slot] != nil:
		if has("", mailbox.Refused) {
			return nil
		}
		return []natsbox.TraceWait{{For: natsbox.TraceDecided, Who: mailbox.Lead}}
	case req != nil:
		if _, ok := x.decisions[req.slot]; !ok || has(req.teammate, final...) {
			return nil
		}
		return []natsbox.TraceWait{{For: string(mailbox.Applied), Who: req.teammate}}
	case p.kind.Orders():
		if has(p.to, final...) {
			return nil
		}
		return []natsbox.TraceWait{{For: string(mailbox.Applied), Who: p.to}}
	case !letters(p.kind):
		return nil // nobody says what becomes of it
	}
	return x.unread(p, has)
}

// letters reports whether receipts are sent about mail of a kind.
func letters(k mailbox.Kind) bool {
	switch k {
	case mailbox.KindMessage, mailbox.KindQuestion, mailbox.KindAnswer, mailbox.KindTaskAssignment:
		return true
	}
	return false
}

// unread says who has not taken or not seen a letter. Of the leaders' mailbox, one who has seen it is enough.
func (x *index) unread(p post, has func(string, ...mailbox.ReceiptState) bool) []natsbox.TraceWait {
	names := x.takers(p)
	if p.to == mailbox.Lead {
		names = []string{mailbox.Lead}
	}
	var waits []natsbox.TraceWait
	for _, name := range names {
		by := name
		if name == mailbox.Lead {
			by = ""
		}
		m, _ := x.charter().Member(name)
		switch {
		case has(by, mailbox.Seen, mailbox.Applied, mailbox.Refused), p.to == mailbox.All && m.Role != charter.RoleTeammate:
		case has(by, mailbox.Delivered), m.Role == charter.RoleLeader: // a leader has no runner
			waits = append(waits, natsbox.TraceWait{For: string(mailbox.Seen), Who: name})
		default:
			waits = append(waits, natsbox.TraceWait{For: string(mailbox.Delivered), Who: name})
		}
	}
	return waits
}

// attend says of those that something waits for whether they are there.
func (x *index) attend(waits []natsbox.TraceWait, now time.Time, online func(string) bool) {
	for i, w := range waits {
		for _, m := range x.charter().Members {
			if m.Retired || m.Name != w.Who && (w.Who != mailbox.Lead || m.Role != charter.RoleLeader) {
				continue
			}
			w.Live = w.Live || online(m.Name)
			if known := x.members[m.Name]; known != nil {
				w.Live = w.Live || known.fresh(now)
				if known.seen.After(w.Seen) {
					w.Seen = known.seen
				}
			}
		}
		if w.Live {
			w.Seen = time.Time{} // it is there
		}
		waits[i] = w
	}
}

// deadSteps are the members that have given it up.
func (r *running) deadSteps(t natsbox.Trace) []natsbox.TraceStep {
	r.dead.mu.Lock()
	defer r.dead.mu.Unlock()
	var steps []natsbox.TraceStep
	for _, d := range r.dead.all {
		if d.EnvelopeID == t.ID && d.From == t.From {
			steps = append(steps, natsbox.TraceStep{State: natsbox.TraceDead, At: d.DiedAt, By: d.Recipient, Reason: d.Reason, Other: d.ID})
		}
	}
	return steps
}
