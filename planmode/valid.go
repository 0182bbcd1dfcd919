package planmode

import (
	"fmt"

	"github.com/planswarm/swarm/permissions"
)

// Check reports whether the session holds what holds after every step, as a journal should before it goes on with one
// that it has read: mode plan exactly while planning or waiting, a saved mode exactly then, a pending request exactly
// while waiting, and grants only under an approved plan and bound to its digest. The error wraps [ErrDamaged].
func (s Session) Check() error {
	planning := s.State == Planning || s.State == AwaitingLeaderApproval
	switch {
	case s.State == "":
		return nil
	case !planning && s.State != Working && s.State != Left:
		return fmt.Errorf("%w: unknown state %q", ErrDamaged, s.State)
	case (s.Mode == permissions.ModePlan) != planning:
		return fmt.Errorf("%w: %s in mode %q", ErrDamaged, s.State, s.Mode)
	case s.State != Left && !s.Mode.Known():
		return fmt.Errorf("%w: unknown mode %q", ErrDamaged, s.Mode)
	case (s.Saved != "") != planning || planning && !restorable(s.Saved):
		return fmt.Errorf("%w: %s with saved mode %q", ErrDamaged, s.State, s.Saved)
	case (s.Pending != nil) != (s.State == AwaitingLeaderApproval):
		return fmt.Errorf("%w: %s, and a request is open: %t", ErrDamaged, s.State, s.Pending != nil)
	case s.Approved != nil && s.State != Working:
		return fmt.Errorf("%w: %s with an approved plan", ErrDamaged, s.State)
	}
	return s.checkGrants()
}

func (s Session) checkGrants() error {
	for _, g := range s.Grants {
		if s.Approved == nil || g.Digest != s.Approved.Digest {
			return fmt.Errorf("%w: grant %s is not of the approved plan", ErrDamaged, g.ID)
		}
	}
	return nil
}

// restorable reports whether a mode can be what comes back after planning.
func restorable(m permissions.Mode) bool { return m.Known() && m != permissions.ModePlan }

// ceiling is the widest mode that the team allows. Without a charter of this team, or with one that names no known mode,
// it is plan: nothing is restored.
func (s Session) ceiling() permissions.Mode {
	if s.Charter.TeamID != s.Team || !s.Charter.Caps.Mode.Known() {
		return permissions.ModePlan
	}
	return s.Charter.Caps.Mode
}

// checkTarget says why a mode cannot be what a decision or a request restores under a cap.
func checkTarget(m, ceiling permissions.Mode) error {
	switch {
	case !m.Known():
		return fmt.Errorf("%w %q: name default, acceptEdits, auto, dontAsk or bypassPermissions", ErrUnknownMode, m)
	case m == permissions.ModePlan:
		return fmt.Errorf("%w: name the mode that comes after it", ErrTargetPlan)
	}
	return checkCap(m, ceiling)
}

func checkCap(m, ceiling permissions.Mode) error {
	if !ceiling.Known() || m.Above(ceiling) {
		return fmt.Errorf("%w: %s, and the cap is %q: name a narrower mode, or have the owner raise the cap", ErrAboveCap, m, ceiling)
	}
	return nil
}
