package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Orders that answer nothing are deleted as mail is, when their teammate has acknowledged them and said what it did. What
// counters rest on stays for ever: of each leader's key and teammate the order with the highest counter, and the one with
// the highest counter that was applied. So no leader begins to count anew, and a teammate whose journal was cut still
// learns which orders it applied.

// issued is an order that lies in the stream of orders.
type issued struct {
	name     string // of its subject
	teammate string
	leader   string
	id       string
	seq      uint64
	stored   time.Time
	signed   bool // by a leader
	unread   bool // signed by a leader, and it cannot be read: nobody knows what rests on it
	key      string
	counter  uint64
	mode     permissions.Mode
}

// oldOrders says which orders nothing rests on any more.
type oldOrders struct{ stock }

// useless returns what may be deleted, the oldest first. Wherever that breaks off, what counters rest on is there.
func (u *oldOrders) useless() []uint64 {
	all := slices.SortedFunc(maps.Values(u.x.issued), func(a, b *issued) int { return cmp.Compare(a.seq, b.seq) })
	over, held := map[string]int{}, u.held(all)
	for _, o := range all {
		over[o.name]++
	}
	var out []uint64
	for _, o := range all {
		age := u.now.Sub(o.stored)
		if age < settleAge || age <= u.keep && over[o.name] <= u.full {
			continue
		}
		if held[o.seq] || o.seq == u.newest || o.seq > u.recorded || u.dead[o.seq] || !u.over(o) {
			continue
		}
		over[o.name]--
		out = append(out, o.seq)
	}
	return out
}

// held are the orders that counters rest on.
func (u *oldOrders) held(all []*issued) map[uint64]bool {
	type of struct {
		line
		key     string
		applied bool
	}
	best := map[of]*issued{}
	for _, o := range all {
		if !o.signed {
			continue
		}
		for _, k := range []of{{line{o.teammate, o.leader}, o.key, false}, {line{o.teammate, ""}, o.key, true}} {
			if k.applied && !u.said(o, mailbox.Applied) {
				continue
			}
			if b := best[k]; b == nil || o.counter > b.counter {
				best[k] = o
			}
		}
	}
	held := map[uint64]bool{}
	for _, o := range best {
		held[o.seq] = true
	}
	return held
}

// over reports whether nothing is to come of an order: its teammate has it and has said what it did, or is gone.
func (u *oldOrders) over(o *issued) bool {
	m, ok := u.x.charter().Member(o.teammate)
	switch {
	case ok && !m.Retired && u.readers[o.teammate].floor < o.seq:
		return false
	case !ok || m.Retired:
		return true
	case !o.signed:
		return !o.unread
	case !u.said(o, mailbox.Applied) && !u.said(o, mailbox.Refused):
		return false
	}
	return o.mode != permissions.ModePlan || !u.shown(o)
}

// said reports whether the teammate has said this of an order.
func (u *oldOrders) said(o *issued, state mailbox.ReceiptState) bool {
	return slices.ContainsFunc(u.x.receipts[o.id], func(r natsbox.ReceiptInfo) bool {
		return r.From == o.teammate && r.Receipt.State == state
	})
}

// shown reports whether leaders see an order of plan mode beside a request that was approved before it.
func (u *oldOrders) shown(o *issued) bool {
	for s := range u.x.requests {
		d, decided := u.x.decisions[s]
		if s.teammate == o.teammate && decided && d.Valid && d.Outcome == string(planmode.OutcomeApproved) && !o.stored.Before(d.StoredAt) {
			return true
		}
	}
	return false
}

// forgetOrders takes out of the index what was deleted, so that it is as after a restart.
func (x *index) forgetOrders(seqs []uint64) {
	for _, seq := range seqs {
		o := x.issued[seq]
		if o == nil {
			continue
		}
		delete(x.issued, seq)
		x.posts.drop(o.id, orderStream(x.team), seq)
		again := func(other *issued) bool { return other.teammate == o.teammate && other.id == o.id }
		if !slices.ContainsFunc(slices.Collect(maps.Values(x.issued)), again) { // stored once only
			delete(x.orders, slot{o.teammate, o.id})
			delete(x.given, slot{o.teammate, o.id})
		}
		x.recalls[o.teammate] = slices.DeleteFunc(slices.Clone(x.recalls[o.teammate]), func(r natsbox.RecallInfo) bool {
			return o.mode == permissions.ModePlan && r.By == o.leader && r.At.Equal(o.stored)
		})
	}
	x.posts.tidy()
}
