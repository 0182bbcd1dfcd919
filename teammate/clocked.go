package teammate

import (
	"context"
	"slices"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// tick ends grants in time. It sleeps until the next one ends, and looks at the wall again each minute: somebody may have
// set it forward.
func (r *Runner) tick(ctx context.Context) {
	for {
		changed := r.changed.wait()
		now := r.clock.now()
		grants := r.snapshot().Grants
		if slices.ContainsFunc(grants, func(g permissions.Grant) bool { return !now.Before(g.ExpiresAt) }) {
			if _, err := r.step(planmode.Ticked{Now: now}); err != nil {
				r.log.Error("teammate: expired grants could not be ended and are refused", "cause", err)
			}
		}
		select {
		case <-changed:
		case <-time.After(untilNext(r.snapshot().Grants, now)):
		case <-ctx.Done():
			return
		}
	}
}

// untilNext is how long to sleep: to the next end of a grant, a second at least, a minute at most.
func untilNext(grants []permissions.Grant, now time.Time) time.Duration {
	d := time.Minute
	for _, g := range grants {
		d = min(d, g.ExpiresAt.Sub(now))
	}
	return max(d, time.Second)
}
