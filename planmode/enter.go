package planmode

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// started is rows 1 and 2.
func (s *step) started(ev Started) error {
	if ev.Charter.TeamID != ev.Team {
		return fmt.Errorf("%w: it is of team %q, and the session of %q", ErrBadCharter, ev.Charter.TeamID, ev.Team)
	}
	if _, err := DialectOf(ev.Dialect); err != nil {
		return err
	}
	s.Session = Session{
		V: Version, Team: ev.Team, Teammate: ev.Teammate, Tree: ev.Tree, Epoch: ev.Epoch, Charter: ev.Charter, Dialect: ev.Dialect,
	}
	mode := ev.Mode
	if mode == permissions.ModePlan {
		ev.Plan = true
		mode = permissions.MinMode(permissions.ModeDefault, s.ceiling())
	}
	if err := s.checkOwn(mode); err != nil {
		return err
	}
	s.State, s.Mode = Working, mode
	s.do(ReportStatus{})
	if ev.Plan {
		s.enter(ByFlag, ev.PlanID, ev.PlanFile, "replanned")
	}
	return nil
}

// dialect is the session's way to speak; one that this version does not know is the strict one.
func (s Session) dialect() Dialect {
	if d, err := DialectOf(s.Dialect); err == nil {
		return d
	}
	return swarmDialect
}

// entryRefused is a wish to plan that nobody or somebody said no to: whoever works goes on working, whoever plans planning.
func (s *step) entryRefused(ev EntryRefused) {
	data := Notice{Cause: inUTF8(ev.Cause)}
	switch {
	case data.Cause != "":
	case ev.Resolved == ResolvedDismissed:
		data.Cause = "the question was closed without an answer: go on without a plan, in the mode that you have"
	default:
		data.Cause = "it was not agreed to: ask your leader how to go on before you enter plan mode again"
	}
	s.notify(NotifyEntryRefused, data)
	s.emit("plan.entry", "resolved", ev.Resolved, "reason", inUTF8(ev.Reason), "by", inUTF8(ev.By))
}

// inUTF8 is a text of somebody's that reads the same after a restart.
func inUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// checkOwn says why a teammate whose own mode is m does not join.
func (s *step) checkOwn(m permissions.Mode) error {
	switch {
	case !m.Known():
		return fmt.Errorf("%w %q: start with default, acceptEdits, plan, auto, dontAsk or bypassPermissions", ErrUnknownMode, m)
	case m == permissions.ModePlan: // the cap leaves no mode to work in
		return fmt.Errorf("%w: the charter allows no mode to work in: have the owner raise the cap", ErrAboveCap)
	}
	return checkCap(m, s.ceiling())
}

// entered is rows 4 and 5. Saved is not touched by somebody who plans already.
func (s *step) entered(ev Entered) error {
	switch {
	case s.State != Working:
		s.notify(NotifyPresentState, Notice{})
		return nil
	case !ev.From.Known():
		return fmt.Errorf("%w %q: it counts as plan: report what the client shows", ErrUnknownMode, ev.From)
	case ev.From != s.Mode:
		return fmt.Errorf("%w: %s, and in force is %s: report the client's mode first", ErrModeMismatch, ev.From, s.Mode)
	}
	s.enter(ev.By, ev.PlanID, ev.PlanFile, "replanned", "resolved", cmp.Or(ev.Resolved, ResolvedAuto), "reason", inUTF8(ev.Reason))
	return nil
}

// enter is row 4, the single way into plan mode: the mode is saved here and nowhere else (invariant 5), and what was
// granted, and what was asked for outside of plan mode, ends here.
func (s *step) enter(by EnteredBy, planID, planFile, cause string, more ...any) {
	s.Saved = s.Mode
	capped := s.Mode.Above(s.ceiling()) && s.ceiling() != permissions.ModePlan
	if capped {
		s.Saved = s.ceiling()
	}
	s.State, s.Mode, s.Drift = Planning, permissions.ModePlan, 0
	s.newCycle(by, planID, planFile)
	s.endAll(cause)
	s.Approved = nil
	s.dropAsks(WithdrawnReplanned, true)
	s.do(SetMode{permissions.ModePlan})
	s.notify(NotifyHowToPlan, Notice{})
	if capped {
		s.emit("mode.capped", "mode", s.Saved)
	}
	s.emit("plan.entered", append([]any{"by", by, "planId", s.Cycle.PlanID, "savedMode", s.Saved}, more...)...)
	s.do(ReportStatus{})
}

// newCycle begins a round of planning. A plan id that is given again goes on counting its revisions, so that no two
// requests have the same digest.
func (s *step) newCycle(by EnteredBy, planID, planFile string) {
	if planID != "" && planID != s.Cycle.PlanID {
		s.Cycle = Cycle{PlanID: planID}
	}
	s.Cycle.EnteredBy = by
	if planFile != "" {
		s.Cycle.PlanFile = planFile
	}
}

// open puts the session back to work in a mode that was decided, or that may be taken without a decision.
func (s *step) open(m permissions.Mode) {
	s.State, s.Mode, s.Saved = Working, m, ""
	s.Pending, s.Drift = nil, 0
}
