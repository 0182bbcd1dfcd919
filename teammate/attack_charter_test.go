//go:build linux

package teammate_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// A leader's key whose word is not enough puts its signed approval straight into the request's slot, past every desk and
// command. The teammate itself refuses it (invariant 14, THREATS 33): it says why, still plans, and asks again.
func TestAttackApprovalByWhoMayNot(t *testing.T) {
	t.Parallel()
	tests := "run tests"
	for name, tc := range map[string]struct {
		by     []string // who sign, the first one in its own name
		rule   func(*charter.Charter)
		change func(*planmode.Decision)
		why    string
	}{
		"an agent, of what is for persons": {[]string{"bot"}, func(c *charter.Charter) {
			c.PersonOnly = append(c.PersonOnly, charter.Match{Intents: []string{tests}})
		}, nothing, "only a person may approve this"},
		"a policy, of what is for persons": {[]string{"rules"}, func(c *charter.Charter) {
			c.PersonOnly = append(c.PersonOnly, charter.Match{Paths: []string{"a.go"}})
		}, nothing, "only a person may approve this"},
		"an agent and a policy together": {[]string{"bot", "rules"}, func(c *charter.Charter) {
			c.PersonOnly = append(c.PersonOnly, charter.Match{Intents: []string{tests}})
		}, nothing, "only a person may approve this"},
		"an agent, with a mode for persons": {[]string{"bot"}, func(c *charter.Charter) {
			c.PersonOnly = append(c.PersonOnly, charter.Match{Mode: permissions.ModeAuto})
		}, func(d *planmode.Decision) { d.Mode = permissions.ModeAuto }, "only a person may approve this"},
		"an agent beyond its limit": {[]string{"bot"}, func(c *charter.Charter) {
			c.AgentLimits = []charter.AgentLimit{{Name: "bot", Intents: []string{"lint"}, Reject: true}}
		}, nothing, `bot may not approve "run tests"`},
		"an agent that lets it leave": {[]string{"bot"}, func(c *charter.Charter) {
			c.PersonOnly = append(c.PersonOnly, charter.Match{Intents: []string{tests}})
		}, func(d *planmode.Decision) {
			d.Outcome, d.Approved, d.Grants, d.ApprovedDigest = planmode.OutcomeRejectedAndExit, false, nil, ""
		}, "only a person may approve this"},
		"one of two leaders": {[]string{"anna"}, func(c *charter.Charter) {
			c.Quorum = []charter.Quorum{{Match: charter.Match{Intents: []string{tests}}, Need: 2}}
		}, nothing, "2 of the persons who lead must approve this, 1 did"},
		"one leader twice": {[]string{"anna", "anna"}, func(c *charter.Charter) {
			c.Quorum = []charter.Quorum{{Match: charter.Match{Intents: []string{tests}}, Need: 2}}
		}, nothing, "1 did"},
		"a person and two that are none": {[]string{"anna", "bot", "rules"}, func(c *charter.Charter) {
			c.Quorum = []charter.Quorum{{Match: charter.Match{Intents: []string{tests}}, Need: 2}}
		}, nothing, "1 did"},
		"a key that is kept badly": {[]string{"anna"}, func(c *charter.Charter) {
			c.Assurance = []charter.AssuranceRule{{Match: charter.Match{Intents: []string{tests}}, Least: charter.Sealed}}
		}, nothing, "only a key that is kept sealed or better may approve this, and that of anna is plain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeAuto, PlanRequired: true}))
			keys := map[string]nkeys.KeyPair{
				"anna": r.team.Key("anna"), "bot": r.team.AddLeader("bot", charter.KindAgent), "rules": r.team.AddLeader("rules", charter.KindPolicy),
			}
			kinds := map[string]charter.Kind{"anna": charter.KindPerson, "bot": charter.KindAgent, "rules": charter.KindPolicy}
			r.team.Amend(tc.rule)
			m := r.start()
			id := m.plans().RequestID
			d := r.approval(r.open())
			tc.change(&d)
			d.DecidedBy.Name, d.DecidedBy.Kind = tc.by[0], string(kinds[tc.by[0]])
			subject := mailbox.DecisionSubject(r.team.Name, "api", id)
			payload, sig := r.sign(keys[tc.by[0]], tc.by[0], subject, mailbox.KindPlanApprovalResponse, d.Epoch, d)
			sigs := []string{sig}
			for _, name := range tc.by[1:] {
				sig, err := charter.SignOrder(keys[name], subject, payload)
				if err != nil {
					t.Fatal(err)
				}
				sigs = append(sigs, sig)
			}
			r.put(id, payload, sigs...)
			if rec := r.receipt(id); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, tc.why) {
				t.Fatalf("receipt = %+v, want refused because %q", rec, tc.why)
			}
			m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
			if s := m.status(); len(s.Grants) > 0 || s.Pending.RequestID == id {
				t.Fatalf("after the attack: %+v, want the plan asked again, and no grant", s.Pending)
			}
			by := map[charter.Kind]string{charter.KindPerson: "leader", charter.KindAgent: "lead agent", charter.KindPolicy: "policy"}[kinds[tc.by[0]]]
			mailboxtest.Refused(t, "approve straight on the subject: "+name, by, mailboxtest.ByTeammate, tc.why)
		})
	}
}
