package planmode

import (
	"fmt"
)

// Version is the version of a stored [Session].
const Version = 1

// Apply returns the session after ev and the effects to carry out, in order. It is total: it never panics, and on error
// the session is the one before and there are no effects.
func (s Session) Apply(ev Event) (Session, []Effect, error) {
	if err := s.admits(ev); err != nil {
		return s, nil, err
	}
	next := step{Session: s.clone()}
	if err := next.take(ev); err != nil {
		return s, nil, err
	}
	return next.Session, next.effects, nil
}

// step is one Apply under way: a copy that is nobody else's yet, and what is to be done so far. It is thrown away on error.
type step struct {
	Session
	effects []Effect
}

func (s *step) do(effects ...Effect) { s.effects = append(s.effects, effects...) }

// admits holds what does not depend on the event's content: a session begins with Started, ends with Left, and takes no
// step when it contradicts itself. The end itself is always possible.
func (s Session) admits(ev Event) error {
	_, starts := ev.(Started)
	switch {
	case s.State == "" && !starts:
		return fmt.Errorf("%w: %T before the session was started", ErrWrongState, ev)
	case s.State != "" && starts:
		return fmt.Errorf("%w: the session is %s already", ErrWrongState, s.State)
	case s.State == "" || ends(ev):
		return nil
	case s.State == Left:
		return fmt.Errorf("%w: the teammate has left: start it again", ErrWrongState)
	}
	return s.Check()
}

func ends(ev Event) bool {
	switch ev.(type) {
	case Exited, Fenced:
		return true
	}
	return false
}

// take is the transition table; each method names its rows.
func (s *step) take(ev Event) error {
	switch ev := ev.(type) {
	case Started:
		return s.started(ev)
	case Entered:
		return s.entered(ev)
	case EntryRefused:
		s.entryRefused(ev)
	case Submitted:
		return s.submitted(ev)
	case Published:
		s.published(ev)
	case Decided:
		return s.decided(ev)
	case Reissued:
		return s.reissued(ev)
	case WithdrawAsked:
		s.withdraw(ev.Reason)
	case Interrupted:
		s.interrupted()
	case AgentLost:
		s.agentLost(ev)
	case LeaveAsked:
		return s.leaveAsked(ev)
	case ModeOrdered:
		return s.modeOrdered(ev)
	case ModeObserved:
		s.modeObserved(ev)
	case RevokeOrdered:
		return s.revokeOrdered(ev)
	case ShutdownOrdered:
		return s.shutdownOrdered(ev)
	case GrantUsed:
		return s.grantUsed(ev)
	case Ticked:
		s.ticked(ev)
	default:
		return s.takeMore(ev)
	}
	return nil
}

func (s *step) takeMore(ev Event) error {
	switch ev := ev.(type) {
	case Asked:
		return s.asked(ev)
	case AskWithdrawn:
		s.askWithdrawn(ev)
	case PermissionAnswered:
		return s.permissionAnswered(ev)
	case CallRefused:
		s.callRefused(ev)
	case TaskMarked:
		return s.taskMarked(ev)
	case Completed:
		return s.completed(ev)
	case CharterChanged:
		return s.charterChanged(ev)
	case Resumed:
		s.resumed(ev)
	case Exited:
		s.leave("exit", true)
	case Fenced:
		s.leave("fenced", false)
	default:
		return fmt.Errorf("%w: %T is no event of a session", ErrWrongState, ev)
	}
	return nil
}
