package teammate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// exhausted is the cause that ends a grant with its last use. That use itself may finish, in the grant's time.
const exhausted = "exhausted"

// A StoppedError is the cause of the context of a call that was ended from outside.
type StoppedError struct{ Cause string }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("teammate: stopped: %s", e.Cause)
}

// calls are the allowed calls that are running, with the grants that each rests on.
type calls struct {
	mu      sync.Mutex
	running map[*call]struct{}
	less    signal // one has ended
}

type call struct {
	grants []string
	stop   context.CancelCauseFunc
}

// add counts a call as running. It is stopped when left is over, which is none when it is zero.
func (c *calls) add(ctx context.Context, grants []string, left time.Duration) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	one := &call{grants: grants, stop: stop}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[*call]struct{}{}
	}
	c.running[one] = struct{}{}
	expires := func() bool { return false }
	if left > 0 {
		expires = time.AfterFunc(left, func() { stop(&StoppedError{"its grant has ended: expired"}) }).Stop
	}
	return ctx, func() {
		expires()
		stop(nil)
		c.mu.Lock()
		delete(c.running, one)
		c.mu.Unlock()
		c.less.all()
	}
}

// under returns the calls that rest on one of the grants; nil is all.
func (c *calls) under(ids []string) []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*call
	for one := range c.running {
		if ids == nil || slices.ContainsFunc(one.grants, func(id string) bool { return slices.Contains(ids, id) }) {
			found = append(found, one)
		}
	}
	return found
}

// cancel tells what must end with a step to stop, at once: before any effect of it, and whatever the effects before it
// are busy with. It returns how many calls were running.
func (c *calls) cancel(effects []planmode.Effect, old, next planmode.State) (stopped int) {
	if old == planmode.Working && next != planmode.Working {
		return c.stop("plan mode was entered, or the teammate has left")
	}
	for _, e := range effects {
		switch e := e.(type) {
		case planmode.EndGrants:
			stopped += c.end(e)
		case planmode.StopAgent:
			stopped += c.stop(e.Cause)
		}
	}
	return stopped
}

func (c *calls) end(e planmode.EndGrants) int {
	switch {
	case e.Cause == exhausted:
		return 0
	case e.All:
		return c.stop(e.Cause)
	}
	under := c.under(append([]string{}, e.IDs...))
	for _, one := range under {
		one.stop(&StoppedError{"its grant has ended: " + e.Cause})
	}
	return len(under)
}

func (c *calls) stop(cause string) int {
	under := c.under(nil)
	for _, one := range under {
		one.stop(&StoppedError{cause})
	}
	return len(under)
}

// wait blocks until no call that rests on one of the grants is left; nil is any call.
func (c *calls) wait(ctx context.Context, ids []string) error {
	for {
		less := c.less.wait()
		left := c.under(ids)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-less:
		case <-ctx.Done():
			return fmt.Errorf("%d calls did not end: %w", len(left), context.Cause(ctx))
		}
	}
}

// Begin records that a call which was judged against v begins: its grants' uses are in the journal when it returns nil, and
// until end is called the call counts as running. The returned context is cancelled, with a [*StoppedError] as its cause,
// when the call must stop: its grant has ended, plan mode was entered, or the teammate leaves. With [ErrMoved] something
// has happened since v, and the call must be judged again.
func (r *Runner) Begin(ctx context.Context, v View, d permissions.Decision) (running context.Context, end func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seq != v.Step {
		return nil, nil, ErrMoved
	}
	if d.Verdict != permissions.Allow {
		return nil, nil, errors.New("teammate: a call that was not allowed cannot begin")
	}
	ids := d.GrantIDs()
	left := r.remaining(ids)
	if err := r.use(ids, d.Hash); err != nil {
		return nil, nil, err
	}
	running, end = r.calls.add(ctx, ids, left)
	r.Rest(false)
	return running, end, nil
}

// remaining is how long the first of the grants to end still lives; zero without grants. One that is over is not live
// when it is used.
func (r *Runner) remaining(ids []string) time.Duration {
	var first time.Time
	for _, g := range r.session.Grants {
		if slices.Contains(ids, g.ID) && (first.IsZero() || g.ExpiresAt.Before(first)) {
			first = g.ExpiresAt
		}
	}
	if first.IsZero() {
		return 0
	}
	return max(first.Sub(r.clock.now()), 1)
}

// Use records one use of each grant, for a call that somebody else carries out. When it returns nil the uses are in the
// journal. [planmode.ErrNoGrant] means that one of them is not live any more; nothing may run then.
func (r *Runner) Use(_ context.Context, grantIDs []string, callHash string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.use(grantIDs, callHash)
}

// use is Use for whoever holds the lock. All grants are looked at before the first is used.
func (r *Runner) use(ids []string, callHash string) error {
	now := r.clock.now()
	for _, id := range ids {
		i := slices.IndexFunc(r.session.Grants, func(g permissions.Grant) bool { return g.ID == id })
		if i < 0 || !r.session.Grants[i].Live(now) {
			return fmt.Errorf("%w: %s", planmode.ErrNoGrant, id)
		}
	}
	for _, id := range ids {
		if _, err := r.stepLocked(planmode.GrantUsed{GrantID: id, CallHash: callHash, Now: now}, nil); err != nil {
			return err
		}
	}
	return nil
}
