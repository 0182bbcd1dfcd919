package teammate

import (
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
)

// ends reports whether a decision would end plan mode, which the charter may reserve to some.
func ends(d planmode.Decision) bool {
	return d.Approved || d.Outcome == planmode.OutcomeApproved || d.Outcome == planmode.OutcomeRejectedAndExit
}

// submitted returns the bytes of the plan that a decision is about. A decision that ends nothing does not need them.
func (r *Runner) submitted(s planmode.Session, d planmode.Decision) ([]byte, error) {
	p := s.Pending
	if p == nil || p.RequestID != d.RequestID || p.Kind == planmode.AskLeave {
		return nil, nil
	}
	content, err := r.cfg.Store.Load(p.Plan.Digest)
	if err != nil && ends(d) {
		return nil, fmt.Errorf("%w: %w", errPlanGone, err)
	}
	return content, nil
}

// judge says whose word a decision is, and whether they may give it: about the request as we keep it and, where the plan
// was edited, about what the edited one names besides. Signers must be able to decide each.
func (r *Runner) judge(s planmode.Session, o charter.Order, d planmode.Decision, now time.Time) charter.Authority {
	p := s.Pending
	if p == nil || p.RequestID != d.RequestID {
		return charter.Judge(s.Charter, o, charter.Asked{}, false, now)
	}
	looked := [][]plans.Fact{p.Facts}
	if d.EditedPlan != nil {
		looked = append(looked, facts.Compute(d.EditedPlan, p.Prompts, treeOf(s)))
	}
	var all charter.Authority
	for i, found := range looked {
		a := charter.Judge(s.Charter, o, planmode.AskedOf(p.Prompts, facts.Paths(found), d.Mode), ends(d), now)
		if ends(d) && !facts.Complete(found) && !slices.ContainsFunc(a.Signers, isPerson) {
			a.NeedsPerson, a.Reason = true, "it names more files than can be listed: only a person may approve this"
		}
		if i == 0 {
			all = a
			continue
		}
		all.NeedsPerson = all.NeedsPerson || a.NeedsPerson
		all.QuorumMet = all.QuorumMet && a.QuorumMet
		all.WeakKey = all.WeakKey || a.WeakKey
		if all.Reason == "" {
			all.Reason = a.Reason
		}
	}
	return all
}

// treeOf is what the facts of a plan know of its working tree.
func treeOf(s planmode.Session) facts.Tree {
	return facts.Tree{Root: s.Tree, Linked: func(path string) string { return linked(s.Tree, path) }}
}

func isPerson(m charter.Member) bool { return m.Kind == charter.KindPerson }
