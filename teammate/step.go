package teammate

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// record is a step whose effects are under way.
type record struct {
	seq     uint64
	plan    string // id of the plan that the session was about
	effects []planmode.Effect
	view    *View // to be swapped in on the way, when the step widens; nil when it is in force already
	stopped int   // calls that were running, and were told to stop
	again   bool  // of an earlier process: what was superseded since is left out

	shown permissions.Mode // what the client showed after SetMode, where that is another mode
	lost  error            // why the approved plan is not in its file; nil: it is
	local chan struct{}    // closed when everything but the mail was carried out
	mail  sync.WaitGroup
}

// none is the record of a step that changed nothing.
func none() *record {
	rec := &record{local: make(chan struct{})}
	close(rec.local)
	return rec
}

// await blocks until a step's effects were carried out here; what is to be sent may still be on its way.
func (r *Runner) await(ctx context.Context, rec *record) error {
	select {
	case <-rec.local:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.over:
		return ErrLeft
	}
}

// step takes one event: it is the only caller of Apply. When it returns nil the step is on disk, and its effects follow in
// order. On error nothing has changed.
func (r *Runner) step(ev planmode.Event) (*record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stepLocked(ev, nil)
}

// stepLocked is step for whoever holds the lock. prepare, when it is not nil, is done after Apply has agreed and before
// the step is written: its error stops the step.
func (r *Runner) stepLocked(ev planmode.Event, prepare func(next *planmode.Session) error) (*record, error) {
	old := r.session
	next, effects, err := old.Apply(ev)
	if err != nil {
		return nil, err
	}
	if len(effects) == 0 && reflect.DeepEqual(old, next) {
		return none(), nil
	}
	if prepare != nil {
		if err := prepare(&next); err != nil {
			return nil, err
		}
	}
	now := r.clock.now()
	over := r.noteEnded(old, next, effects, now)
	seq, err := r.cfg.Journal.Append(slim(ev), next, effects, now)
	if err != nil {
		return nil, fmt.Errorf("teammate: the step was not taken: %w", err)
	}
	over()
	return r.took(old, next, seq, effects), nil
}

// noteEnded writes down which grants a step ends, before it is taken: a crash in between loses none. They count as ended
// when the returned function is called.
func (r *Runner) noteEnded(old, next planmode.Session, effects []planmode.Effect, now time.Time) func() {
	more := endedBy(old, next, effects, now)
	if len(more) == 0 {
		return func() {}
	}
	list, err := r.ended.with(more)
	if err != nil {
		r.log.Warn("teammate: which grants have ended is kept in memory only", "cause", err)
	}
	return func() { r.ended.take(list) }
}

// took makes a step that is on disk the present one.
func (r *Runner) took(old, next planmode.Session, seq uint64, effects []planmode.Effect) *record {
	r.session, r.seq = next, seq
	r.planning.follow(next, r.cfg.Budget, r.overBudget)
	rec := &record{seq: seq, plan: next.Cycle.PlanID, effects: effects, local: make(chan struct{})}
	view := r.viewOf(next, seq)
	if widens(old, next) {
		rec.view = view
	} else {
		r.show(view)
	}
	if next.State != planmode.Working || next.Approved != nil || len(next.Asks) > 0 {
		r.Rest(false)
	} else if old.Approved != nil { // it is done
		r.Rest(true)
	}
	rec.stopped = r.calls.cancel(effects, old.State, next.State)
	r.work.push(rec)
	return rec
}

// show swaps the view, unless a later step's is in force already.
func (r *Runner) show(v *View) {
	for {
		old := r.view.Load()
		if old != nil && old.Step >= v.Step && v.Step != 0 {
			return
		}
		if r.view.CompareAndSwap(old, v) {
			r.changed.all()
			r.beat()
			return
		}
	}
}

// slim leaves out of a journalled event what the plan store holds.
func slim(ev planmode.Event) planmode.Event {
	switch ev := ev.(type) {
	case planmode.Submitted:
		ev.Content = nil
		return ev
	case planmode.Decided:
		ev.Content = nil
		return ev
	}
	return ev
}

// snapshot returns the session after the last step, which the view may not show yet.
func (r *Runner) snapshot() planmode.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session
}
