package coordinator

import (
	"context"
	"errors"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// line is who gives orders to whom.
type line struct{ teammate, leader string }

// given is an order's counter, and the key of the leader who gave it.
type given struct {
	key     string
	counter uint64
}

// carriedOut notes that a teammate says it has applied an order.
func (x *index) carriedOut(teammate, id string) {
	if g, ok := x.given[slot{teammate, id}]; ok {
		l := line{teammate, g.key}
		x.done[l] = max(x.done[l], g.counter)
	}
}

// appliedOrders are the highest counters that a teammate has said it applied, by the keys of those who lead now.
func (x *index) appliedOrders(teammate string) map[string]uint64 {
	out := map[string]uint64{}
	for _, m := range x.charter().Members {
		if n := x.done[line{teammate, m.Key}]; n > 0 && m.Role == charter.RoleLeader && !m.Retired {
			out[m.Key] = n
		}
	}
	return out
}

// order takes an order that answers nothing in: its counter, and the mode that it sets. What no leader signed is ignored.
func (x *index) order(m message) event {
	ev := event{Kind: "order", From: m.subject.From}
	it := &issued{name: m.name, teammate: m.subject.To, leader: m.subject.From, seq: m.seq, stored: m.stored}
	x.issued[m.seq] = it
	o := charter.Order{Subject: m.name, Payload: m.data, Sigs: m.sigs}
	var e mailbox.Envelope
	var counter uint64
	var mode permissions.Mode
	var err error
	switch m.subject.Kind {
	case mailbox.KindModeSetRequest:
		var b planmode.ModeSet
		e, b, err = charter.OpenStored[planmode.ModeSet](x.charter(), o)
		counter, mode = b.Counter, b.Mode
	case mailbox.KindGrantRevoked:
		var b planmode.GrantRevoked
		e, b, err = charter.OpenStored[planmode.GrantRevoked](x.charter(), o)
		counter = b.Counter
	case mailbox.KindShutdownRequest:
		var b mailbox.ShutdownRequest
		e, b, err = charter.OpenStored[mailbox.ShutdownRequest](x.charter(), o)
		counter = b.Counter
	default:
		return ev
	}
	if err != nil {
		it.unread = errors.Is(err, charter.ErrBadOrder)
		return ev
	}
	x.post(m, e, orderStream(x.team))
	x.orders[slot{m.subject.To, e.ID}] = mode
	it.id, it.signed, it.counter, it.mode = e.ID, true, counter, mode
	if who, ok := x.charter().Member(e.From); ok {
		it.key = who.Key
		x.given[slot{m.subject.To, e.ID}] = given{who.Key, counter}
	}
	if mode == permissions.ModePlan {
		x.recall(m)
	}
	l := line{m.subject.To, m.subject.From}
	x.counters[l] = max(x.counters[l], counter)
	return ev
}

// maxRecalls bounds what is kept for one teammate.
const maxRecalls = 64

// recall notes an order of plan mode.
func (x *index) recall(m message) {
	list := append(x.recalls[m.subject.To], natsbox.RecallInfo{By: m.subject.From, At: m.stored})
	x.recalls[m.subject.To] = list[max(0, len(list)-maxRecalls):]
}

// recallOf is the first recall of a teammate after its plan was approved; nil where there is none.
func (x *index) recallOf(r *request) *natsbox.RecallInfo {
	d, ok := x.decisions[r.slot]
	if !ok || !d.Valid || d.Outcome != string(planmode.OutcomeApproved) {
		return nil
	}
	for _, rec := range x.recalls[r.teammate] {
		if rec.At.After(d.StoredAt) {
			return &rec
		}
	}
	return nil
}

// counter tells a leader the highest counter of its own orders to a teammate, up to the last one that is stored.
func (r *running) counter(ctx context.Context, who charter.Member, data []byte) (any, error) {
	if who.Role != charter.RoleLeader {
		return nil, refusal(natsbox.CodeForbidden, "", "%s is %s, and only leaders give orders", who.Name, who.Role)
	}
	q, err := read[natsbox.CounterRequest](data)
	if err != nil {
		return nil, err
	}
	var info natsbox.CounterInfo
	var behind error
	err = r.owner.ask(ctx, func(x *index) {
		behind = r.owner.catchUp(ctx, r.owner.ord)
		info.Counter = x.counters[line{q.To, who.Name}]
	})
	if err == nil {
		err = behind
	}
	return info, err
}
