package leader_test

import (
	"testing"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// The command that the next leader is told is one that signs what the first one signed: it says no where that is a no, names
// the bytes where they say more than was asked, and the teammate where the plan that is signed has HIGH risk.
func TestTheCommandThatSignsToo(t *testing.T) {
	s := newShop(t)
	const hidden = "# Fix it\n\n<!-- hidden -->\n- [ ] main.go\n"
	tom, _ := s.Member("tom")
	for name, c := range map[string]struct {
		plan string
		d    planmode.Decision
		want []string // after the handle; a text that begins with ! is not there
	}{
		"as it was asked": {goodPlan, planmode.Decision{Outcome: planmode.OutcomeApproved}, []string{"swarm approve ", "!--confirm", "!--signed", "!reject"}},
		"of HIGH risk":    {hidden, planmode.Decision{Outcome: planmode.OutcomeApproved}, []string{"swarm approve ", " --confirm api\n", "!--signed"}},
		"edited into one": {
			goodPlan,
			planmode.Decision{Outcome: planmode.OutcomeApproved, PlanWasEdited: true, EditedPlan: []byte(hidden)},
			[]string{"swarm approve ", " --confirm api --signed "},
		},
		"edited out of one": {
			hidden,
			planmode.Decision{Outcome: planmode.OutcomeApproved, PlanWasEdited: true, EditedPlan: []byte(goodPlan)},
			[]string{"swarm approve ", "!--confirm", " --signed "},
		},
		"a wider mode": {goodPlan, planmode.Decision{Outcome: planmode.OutcomeApproved, Mode: permissions.ModeBypass}, []string{"swarm approve ", "!--confirm", " --signed "}},
		"a no":         {hidden, planmode.Decision{Outcome: planmode.OutcomeRejectedAndExit}, []string{"swarm reject ", " --leave -m TEXT\n", "!--confirm", "!swarm approve"}},
	} {
		r := s.row(t, ask{from: "api", plan: c.plan})
		if c.d.Mode == "" {
			c.d.Mode = r.ModeBack
		}
		r.Vote = &leader.Vote{By: []charter.Member{tom}, Decision: &c.d}
		contains(t, name, leader.SignedLine(&r, leader.Given{Signed: r.Vote, Have: 1, Need: 2}), append(c.want, "signed; 1 of 2: tom\n", r.Handle)...)
		for _, want := range c.want { // show says the same
			if want[0] == ' ' || want[:3] == "!--" {
				contains(t, name+", shown", show(t, &r, leader.ShowConfig{}), want[:len(want)-1])
			}
		}
	}
}
