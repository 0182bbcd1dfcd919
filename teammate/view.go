package teammate

import (
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// View is what is in force, for whoever must decide quickly: a value that never changes. Its slices and pointers belong to
// everybody and are not to be written.
type View struct {
	Step     uint64 // of the journal; each step has another view
	State    planmode.State
	Mode     permissions.Mode
	Saved    permissions.Mode
	Grants   []permissions.Grant
	PlanFile string // absolute
	PlanID   string
	Revision int
	// EnteredBy is whose wish the planning is.
	EnteredBy planmode.EnteredBy
	Tree      string // absolute
	Epoch     uint64
	Pending   *planmode.Pending
	Approved  *planmode.Approval
	Asks      []planmode.Ask // calls that wait for a leader's word
	Charter   charter.Charter
}

// viewOf is the view of a session after a step. The plan file is always named, so that the engine can tell it from the
// rest of swarm's state, which no mode writes.
func (r *Runner) viewOf(s planmode.Session, step uint64) *View {
	return &View{
		Step: step, State: s.State, Mode: s.Mode, Saved: s.Saved, Grants: s.Grants,
		PlanFile: r.cfg.Store.WorkFile(), PlanID: s.Cycle.PlanID, Revision: s.Cycle.Revision, EnteredBy: s.Cycle.EnteredBy, Tree: s.Tree, Epoch: s.Epoch,
		Pending: s.Pending, Approved: s.Approved, Asks: s.Asks, Charter: s.Charter,
	}
}

// View returns what is in force, or false before the team was joined and after the teammate has left: nothing is allowed
// then.
func (r *Runner) View() (View, bool) {
	v := r.view.Load()
	if v == nil || v.State == planmode.Left {
		return View{}, false
	}
	return *v, true
}

// Decide judges one call against a view, at this moment.
func (r *Runner) Decide(v View, call permissions.Call) permissions.Decision {
	if r.cfg.Reader.Name != "" {
		return r.asReader(call, r.judging(v))
	}
	return r.cfg.Engine.Decide(call, r.judging(v))
}

// DecideAnswered judges a call that a leader has allowed, this once: what no mode lifts still stands.
func (r *Runner) DecideAnswered(v View, call permissions.Call) permissions.Decision {
	if d := r.Decide(v, call); r.cfg.Reader.Name != "" && d.Verdict == permissions.Deny {
		return d
	}
	s := r.judging(v)
	s.Mode, s.Grants, s.Answered = permissions.ModeBypass, nil, true
	return r.cfg.Engine.Decide(call, s)
}

func (r *Runner) judging(v View) permissions.State {
	now := r.clock.now()
	return permissions.State{
		Mode: v.Mode, Grants: append(slices.Clip(v.Grants), r.spent(v, now)...), Rules: r.cfg.Rules, Tree: v.Tree, Home: r.cfg.Home, PlanFile: v.PlanFile,
		Trusted:   r.cfg.Trusted,
		Forbidden: r.cfg.Forbidden, Unattended: !r.cfg.Attended, Now: now,
	}
}

// spent are grants of the plan that is carried out which are used up or have expired: they let nothing pass, and are the
// reason why a call is asked.
func (r *Runner) spent(v View, now time.Time) []permissions.Grant {
	var list []permissions.Grant
	for _, e := range r.ended.all() {
		if v.Approved != nil && e.PlanID == v.Approved.PlanID && e.Digest == v.Approved.Digest && !e.Live(now) {
			list = append(list, e.Grant)
		}
	}
	return list
}

// widens reports whether more may be done after a step than before it: the view then waits for the agent's client.
func widens(old, next planmode.Session) bool {
	return next.Mode.Above(old.Mode) && old.State != "" || newGrants(old.Grants, next.Grants)
}

func newGrants(old, next []permissions.Grant) bool {
	had := make(map[string]permissions.Grant, len(old))
	for _, g := range old {
		had[g.ID] = g
	}
	for _, g := range next {
		before, ok := had[g.ID]
		if !ok || g.ExpiresAt.After(before.ExpiresAt) || g.Uses < before.Uses {
			return true
		}
	}
	return false
}

// clock is the wall clock that does not go back: the later of the wall and of what the monotonic clock makes of an
// earlier reading. A grant expires by whichever of the two comes first.
type clock struct {
	wall  func() time.Time
	start time.Time // a reading of the monotonic clock
	base  time.Time // the wall then
}

func newClock(wall func() time.Time) *clock {
	return &clock{wall: wall, start: time.Now(), base: wall().Round(0)}
}

// goOn has the time go on from a later moment that was written down.
func (c *clock) goOn(from time.Time) { c.start, c.base = time.Now(), from.Round(0) }

func (c *clock) now() time.Time {
	wall, counted := c.wall().Round(0).UTC(), c.base.Add(time.Since(c.start)).UTC()
	if counted.After(wall) {
		return counted
	}
	return wall
}
