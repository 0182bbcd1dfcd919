package coordinator

import (
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// item is one message of the mail stream, as far as it matters for how long it is kept.
type item struct {
	seq     uint64
	stored  time.Time
	subject mailbox.Subject
	name    string // the subject's text
	id      string // of its envelope
	of      string // the id of what it is about
	state   mailbox.ReceiptState
	ignored bool // nothing in the index is from it
	waits   bool // it is a request that is shown when others are settled
}

func (x *index) item(m message) *item {
	it := &item{seq: m.seq, stored: m.stored, subject: m.subject, name: m.name}
	x.items[m.seq] = it
	return it
}

// speaksOf notes what mail is about.
func (it *item) speaksOf(e mailbox.Envelope) {
	it.id, it.of = e.ID, e.InReplyTo
	switch e.Kind {
	case mailbox.KindReceipt:
		if b, err := mailbox.Body[mailbox.Receipt](e); err == nil {
			it.of, it.state = b.Of, b.State
		}
	case mailbox.KindPlanWithdrawn:
		if b, err := mailbox.Body[planmode.Withdrawn](e); err == nil {
			it.of = b.RequestID
		}
	case mailbox.KindEndorsement:
		if b, err := mailbox.Body[mailbox.Endorsement](e); err == nil {
			it.of = b.Request
		}
	}
}

// forget takes out of the index what was deleted from the mail stream, so that it is as after a restart.
func (x *index) forget(seqs []uint64) {
	requests, receipts := map[slot]bool{}, map[string]bool{}
	for _, seq := range seqs {
		it := x.items[seq]
		if it == nil {
			continue
		}
		delete(x.items, seq)
		x.posts.drop(it.id, mailStream(x.team), seq)
		switch r := x.requests[slot{it.subject.From, it.id}]; {
		case it.subject.Kind == mailbox.KindReceipt:
			receipts[it.of] = true
			x.receipts[it.of] = slices.DeleteFunc(slices.Clone(x.receipts[it.of]), func(r natsbox.ReceiptInfo) bool {
				return r.From == it.subject.From && r.Receipt.State == it.state
			})
		case r != nil && r.seq == seq:
			requests[r.slot] = true
		}
		if it.subject.Kind == mailbox.KindMessage {
			x.letters = slices.DeleteFunc(x.letters, func(l letter) bool { return l.id == it.id && l.from == it.subject.From })
		}
	}
	for id := range receipts {
		if len(x.receipts[id]) == 0 {
			delete(x.receipts, id)
		}
	}
	x.posts.tidy()
	x.forgetRequests(requests)
}

// forgetRequests takes settled requests out, also as earlier revisions of others.
func (x *index) forgetRequests(gone map[slot]bool) {
	if len(gone) == 0 {
		return
	}
	for s := range gone {
		r := x.requests[s]
		delete(x.requests, s)
		if p := (slot{s.teammate, r.planID}); x.plans[p] == r {
			delete(x.plans, p)
		}
		x.byID[s.id] = slices.DeleteFunc(slices.Clone(x.byID[s.id]), func(o slot) bool { return o == s })
		if len(x.byID[s.id]) == 0 {
			delete(x.byID, s.id)
		}
	}
	for _, r := range x.requests {
		for r.previous != nil && gone[r.previous.slot] {
			r.previous = r.previous.previous
		}
	}
}

// drop takes the post of a number out; tidy is called after the last one.
func (p *posts) drop(id, stream string, seq uint64) {
	list := slices.DeleteFunc(slices.Clone(p.byID[id]), func(o post) bool { return o.stream == stream && o.seq == seq })
	if len(list) > 0 {
		p.byID[id] = list
		return
	}
	delete(p.byID, id)
}

func (p *posts) tidy() {
	p.ids = slices.DeleteFunc(p.ids, func(id string) bool { return p.byID[id] == nil })
}
