package planmode

import (
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// leaveAsked is rows 35 to 39. A teammate does not let itself out of a plan mode that somebody else required.
func (s *step) leaveAsked(ev LeaveAsked) error {
	switch {
	case s.State == Working:
		s.notify(NotifyNotPlanning, Notice{})
		return nil
	case s.State == Planning && s.Cycle.EnteredBy == ByAgent && s.mayLeave():
		s.open(permissions.MinMode(s.Saved, s.ceiling()))
		s.do(SetMode{s.Mode})
		s.dropAsks(WithdrawnReplanned, true)
		s.notify(NotifyLeft, Notice{})
		s.emit("plan.left", "by", ByAgent, "mode", s.Mode)
		return nil
	case s.Pending != nil && s.Pending.Kind == AskLeave:
		s.notify(NotifyAwaiting, Notice{})
		return nil
	}
	if err := s.fresh(ev.RequestID); err != nil {
		return err
	}
	revised := s.Pending != nil
	s.request(Pending{
		RequestID: ev.RequestID, Kind: AskLeave, Reason: strings.ToValidUTF8(ev.Reason, "\uFFFD"),
		Digest: Digest(DigestInput{TeamID: s.Team, Teammate: s.Teammate, PlanID: s.Cycle.PlanID, Revision: s.Cycle.Revision + 1}),
	})
	if !revised {
		s.notify(NotifyAwaiting, Notice{})
	}
	return nil
}

// mayLeave reports whether the charter lets the side that entered plan mode leave it without a decision.
func (s *step) mayLeave() bool {
	return !s.Charter.Caps.PlanRequired && s.Charter.TeamID == s.Team && s.ceiling() != permissions.ModePlan
}

// leave is rows 63 to 65: the end. The saved mode is not restored, nobody is left to have it. Who was fenced off may not
// speak any more.
func (s *step) leave(cause string, mail bool) {
	if s.State == Left {
		return
	}
	if s.Pending == nil || !mail {
		s.endAll(cause)
	}
	if s.Pending != nil {
		id := s.Pending.RequestID
		s.refuse(id, SettledWithdrawn, "withdrawn: "+cause)
		if mail {
			s.do(PublishWithdrawn{id, WithdrawnExit})
		}
		s.do(StopWatch{id})
	}
	s.dropAsks(WithdrawnExit, mail)
	s.State, s.Mode, s.Saved, s.Drift = Left, "", "", 0
	s.Pending, s.Approved, s.Grants = nil, nil, nil
	s.do(StopAgent{cause})
	if mail {
		s.emit("teammate.left", "cause", cause)
	}
}
