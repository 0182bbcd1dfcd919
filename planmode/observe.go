package planmode

import "github.com/planswarm/swarm/permissions"

// maxDrift is how often in a row a client may show another mode while planning, before its agent is stopped.
const maxDrift = 3

// modeObserved is rows 45 to 49b: what the agent's client shows. An unknown mode counts as plan.
func (s *step) modeObserved(ev ModeObserved) {
	if s.State == Working {
		s.observedWorking(ev)
		return
	}
	s.observedPlanning(ev.Mode)
}

func (s *step) observedWorking(ev ModeObserved) {
	switch {
	case ev.Mode == s.Mode:
	case !restorable(ev.Mode):
		if !ev.Mode.Known() {
			s.emit("mode.unknown", "mode", ev.Mode)
		}
		s.enter(ByClient, ev.PlanID, ev.PlanFile, "replanned")
	case ev.Mode.Above(s.ceiling()):
		s.do(SetMode{s.Mode})
		s.emit("mode.drift", "mode", ev.Mode, "want", s.Mode)
	default:
		from := s.Mode
		s.Mode = ev.Mode
		s.emit("mode.changed", "from", from, "to", s.Mode, "cause", "client")
	}
}

func (s *step) observedPlanning(m permissions.Mode) {
	switch {
	case m == permissions.ModePlan:
		s.Drift = 0
	case s.State == Planning && s.Cycle.EnteredBy == ByClient && s.mayLeave() && !m.Above(s.ceiling()):
		s.open(m)
		s.dropAsks(WithdrawnReplanned, true)
		s.emit("plan.left", "by", ByClient, "mode", m)
		s.do(ReportStatus{})
	default:
		s.drifted(m)
	}
}

// drifted is row 49. The count begins again with the agent that is started next.
func (s *step) drifted(m permissions.Mode) {
	s.Drift++
	s.do(SetMode{permissions.ModePlan})
	s.emit("mode.drift", "mode", m, "want", permissions.ModePlan)
	if s.Drift < maxDrift {
		return
	}
	s.Drift = 0
	s.do(StopAgent{"drift"})
	s.emit("security", "cause", "drift", "mode", m)
}
