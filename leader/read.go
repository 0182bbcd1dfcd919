package leader

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Reader reads what the coordinator knows. [*natsbox.Conn] is one.
type Reader interface {
	Caller
	Pending(context.Context) ([]natsbox.Row, error)
	Request(ctx context.Context, id string) (natsbox.Row, error)
}

// Read asks the coordinator for everything that waits, and for the requests that ids name if they wait no more, so that
// [Queue.Find] can say what became of them. Ids that nobody knows are left out. Now is set to the present when it is zero.
func Read(ctx context.Context, box Reader, cfg QueueConfig, ids ...string) (*Queue, error) {
	rows, err := box.Pending(ctx)
	if err != nil {
		return nil, err
	}
	if err := box.Call(ctx, natsbox.VerbPresence, nil, &cfg.Presence); err != nil {
		return nil, err
	}
	if cfg.Now.IsZero() {
		cfg.Now = time.Now()
	}
	for _, id := range ids {
		if row, err := NewQueue(rows, cfg).anyNamed(id); row != nil || err != nil {
			continue
		}
		row, err := box.Request(ctx, id)
		if errors.Is(err, natsbox.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		listed := func(r natsbox.Row) bool { return r.From == row.From && r.EnvelopeID == row.EnvelopeID }
		if !slices.ContainsFunc(rows, listed) { // a name means a request that may wait
			rows = append(rows, row)
		}
	}
	return NewQueue(rows, cfg), nil
}

// Previous is the revision to compare a plan with for a leader who has seen none: the last one before it that was decided,
// or else the one before it. Its Ended says which. The error is an [Error] when there is none.
func Previous(ctx context.Context, box Reader, r Row) (Seen, error) {
	if r.Request == nil || r.Kind != RowPlan || r.Previous == "" {
		return Seen{}, errNoPrevious(&r)
	}
	from, err := box.Request(ctx, r.Previous)
	if err != nil {
		return Seen{}, err
	}
	q := from.Request
	if q == nil || from.From != r.From || q.PlanID != r.Request.PlanID || q.Revision >= r.Request.Revision {
		return Seen{}, errNoPrevious(&r)
	}
	s := Seen{Revision: q.Revision, Content: q.Plan.Content, Ended: "which nobody decided", Request: q}
	if d := from.Decision; d != nil && d.Valid && d.By != nil {
		s.Ended = d.Outcome + " by " + d.By.Name
	}
	return s, nil
}
