package planmode

import (
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// grantUsed is rows 50 and 51. It is recorded before the gate answers allow.
func (s *step) grantUsed(ev GrantUsed) error {
	i := slices.IndexFunc(s.Grants, func(g permissions.Grant) bool { return g.ID == ev.GrantID })
	if i < 0 || s.State != Working || !s.Grants[i].Live(ev.Now) {
		return fmt.Errorf("%w %q: ask for permission, or put it into the plan", ErrNoGrant, ev.GrantID)
	}
	s.Grants[i].Uses++
	g := s.Grants[i]
	s.emit("grant.used", "grantId", g.ID, "callHash", ev.CallHash, "uses", g.Uses)
	if g.MaxUses > 0 && g.Uses >= g.MaxUses {
		s.endGrants("exhausted", func(g permissions.Grant) bool { return g.ID == ev.GrantID })
	}
	return nil
}

// ticked is rows 53c and 54.
func (s *step) ticked(ev Ticked) { s.expire(ev.Now) }

func (s *step) expire(now time.Time) {
	s.endGrants("expired", func(g permissions.Grant) bool { return !g.ExpiresAt.After(now) })
}

// endGrants ends the grants that match, if any, and returns them.
func (s *step) endGrants(cause string, match func(permissions.Grant) bool) []permissions.Grant {
	var ended, kept []permissions.Grant
	var ids []string
	for _, g := range s.Grants {
		if match(g) {
			ended, ids = append(ended, g), append(ids, g.ID)
		} else {
			kept = append(kept, g)
		}
	}
	s.Grants = kept
	if len(ended) > 0 {
		s.do(EndGrants{IDs: ids, Cause: cause})
	}
	return ended
}

// endAll ends every grant and whatever was started, also when nothing is granted.
func (s *step) endAll(cause string) {
	ids := []string{}
	for _, g := range s.Grants {
		ids = append(ids, g.ID)
	}
	s.Grants = nil
	s.do(EndGrants{IDs: ids, Cause: cause, All: true})
}

// ForPlan reports whether an answer can allow a call for the plan at now: one is being carried out, and was approved with
// grants that have not all run out.
func (s Session) ForPlan(now time.Time) bool {
	return s.State == Working && s.Approved != nil && s.Approved.Until.After(now)
}

func termsOf(grants []permissions.Grant) []permissions.GrantTerms {
	var terms []permissions.GrantTerms
	for _, g := range grants {
		terms = append(terms, g.GrantTerms)
	}
	return terms
}

// completed is rows 55 to 57: the plan is done, and what was granted for it is over.
func (s *step) completed(ev Completed) error {
	switch {
	case s.State != Working:
		return fmt.Errorf("%w: a plan that waits or is written is not done: submit it, or leave plan mode", ErrWrongState)
	case s.Approved == nil:
		return nil
	}
	done := *s.Approved
	s.Approved = nil
	s.endAll("completed")
	s.notifyOnce(done.RequestID+"/completed", NotifyCompleted, Notice{RequestID: done.RequestID, Revision: done.Revision})
	s.emit("plan.completed", "requestId", done.RequestID, "planId", done.PlanID, "digest", done.Digest, "by", ev.By)
	s.do(ReportStatus{})
	return nil
}
