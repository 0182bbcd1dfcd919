package coordinator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// maxPast is how many settled requests a list has.
const maxPast = 50

// maxTitle bounds what is kept of a request's text, in characters.
const maxTitle = 200

func titleOf(text string) string { return plans.Shorten(text, maxTitle) }

func planTitle(q *planmode.ApprovalRequest) string {
	if q.Kind == planmode.AskLeave {
		return titleOf("leave plan mode: " + q.Reason)
	}
	return titleOf(plans.Title(q.Plan.Content))
}

// endedAt is when a request was settled; zero while it is open.
func (x *index) endedAt(r *request) time.Time {
	d, decided := x.decisions[r.slot]
	switch {
	case decided:
		return d.StoredAt
	case r.answer != nil:
		return r.answer.stored
	}
	return r.ended
}

// past returns the requests of one teammate, or of all, that were settled last: the newest end first.
func (x *index) past(teammate string) []natsbox.Past {
	var list []*request
	for s, r := range x.requests {
		if x.open[s] == nil && (teammate == "" || s.teammate == teammate) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *request) int {
		return cmp.Or(x.endedAt(b).Compare(x.endedAt(a)), cmp.Compare(b.seq, a.seq))
	})
	past := make([]natsbox.Past, 0, maxPast)
	for _, r := range list[:min(len(list), maxPast)] {
		p := natsbox.Past{Row: x.row(r), Kind: r.kind(), Revision: r.revision, Title: r.title}
		p.Receipts = p.Receipts[max(0, len(p.Receipts)-4):]
		for i := range p.Receipts {
			p.Receipts[i].Reason = titleOf(p.Receipts[i].Reason)
		}
		past = append(past, p)
	}
	return past
}

// kind is the word of a request's kind, as leaders see it.
func (r *request) kind() string {
	switch {
	case r.isQuestion:
		return "question"
	case !r.isPlan:
		return "run"
	case r.isLeave:
		return "leave"
	}
	return "plan"
}

func (r *running) past(ctx context.Context, who charter.Member, _ []byte) (any, error) {
	var past []natsbox.Past
	err := r.owner.ask(ctx, func(x *index) { past = x.past(own(who)) })
	return past, err
}
