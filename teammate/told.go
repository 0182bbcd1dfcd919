package teammate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// told are the transitions that no mail, decision or receipt tells: the ledger has them from the teammate itself.
var told = []string{"plan.entered", "plan.left", "plan.completed", "mode.capped", "mode.unknown", "mode.drift", "charter.changed", "charter.void", "teammate.left"}

const (
	toldMost = 64              // wait to be told; what is more is left out
	lastWord = 2 * time.Second // for what waits at the end
)

// tellLedger has an event be recorded in the team's ledger, some time. Nothing waits for it.
func (r *Runner) tellLedger(seq uint64, e planmode.Emit) {
	if seq == 0 || !slices.Contains(told, e.Event) {
		return
	}
	q := natsbox.EventRequest{Seq: seq, Event: e.Event, Digest: e.Fields["digest"], Mode: e.Fields["mode"], By: e.Fields["by"]}
	if q.Mode == "" {
		q.Mode = e.Fields["savedMode"]
	}
	select {
	case r.events <- q:
	default:
		r.log.Warn("teammate: an event is not in the ledger", "event", e.Event, "line", seq)
	}
}

// record tells the coordinator what is to be recorded, until ctx ends, and then, for a moment, what waits.
func (r *Runner) record(ctx context.Context) {
	for {
		select {
		case q := <-r.events:
			if r.recordOne(ctx, q) {
				continue
			}
			r.recordLast(ctx, q)
		case <-ctx.Done():
			r.recordLast(ctx)
		}
		return
	}
}

// recordLast tells what waits at the end, the first of it before.
func (r *Runner) recordLast(ctx context.Context, first ...natsbox.EventRequest) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	for _, q := range first {
		r.recordOne(ctx, q)
	}
	for !r.isFenced() {
		select {
		case q := <-r.events:
			r.recordOne(ctx, q)
		default:
			return
		}
	}
}

// recordOne tries again while the coordinator is away, and reports false when ctx ended before it was recorded. What is
// refused is not told again.
func (r *Runner) recordOne(ctx context.Context, q natsbox.EventRequest) bool {
	for wait := retryFirst; ctx.Err() == nil && !r.isFenced(); wait = min(2*wait, retryMost) {
		err := r.cfg.Box.Call(ctx, natsbox.VerbEvent, q, nil)
		if err == nil {
			return true
		}
		var refused *natsbox.ServiceError
		if errors.As(err, &refused) && refused.Code != natsbox.CodeUnavailable && refused.Code != natsbox.CodeBusy {
			r.log.Warn("teammate: an event is not in the ledger", "event", q.Event, "cause", err)
			return true
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return false
}
