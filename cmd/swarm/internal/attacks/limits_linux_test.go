package attacks_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// What the owner's charter keeps for persons, for several leaders, or from an agent, is judged by the teammate: a leader's key
// straight on the subject is not enough.
func TestAttackWhoMayDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.team.Amend(func(c *charter.Charter) {
		c.PersonOnly = []charter.Match{{Intents: []string{"push"}}, {Mode: permissions.ModeAcceptEdits}}
		c.Quorum = []charter.Quorum{{Match: charter.Match{Intents: []string{"lint"}}, Need: 2, Of: []string{"anna", "bob"}}}
		c.AgentLimits = []charter.AgentLimit{{Name: "bot", Intents: []string{"run tests"}, MaxFiles: 1}}
	})
	m := r.start()
	asBot := func(r *rig, d *planmode.Decision) { d.DecidedBy = r.head("bot").DecidedBy }
	for _, a := range []struct {
		decision
		prompt string
		right  []string // who may decide the same
	}{
		{decision{name: "an agent decides what is for persons", by: "lead agent", want: "only a person may approve this", signed: signedBy("bot"), change: asBot}, "push", []string{"anna"}},
		{decision{name: "a policy decides what is for persons", by: "policy", want: "only a person may approve this", signed: signedBy("policy"), change: func(r *rig, d *planmode.Decision) { d.DecidedBy = r.head("policy").DecidedBy }}, "push", []string{"bob"}},
		{decision{name: "an agent widens a mode that is for persons", by: "lead agent", want: "only a person may approve this", signed: signedBy("bot"), change: func(r *rig, d *planmode.Decision) {
			asBot(r, d)
			d.Mode = permissions.ModeAcceptEdits
		}}, "run tests", []string{"bot"}},
		{decision{name: "an agent lets out of plan mode what is for persons", by: "lead agent", want: "only a person may approve this", signed: signedBy("bot"), change: func(r *rig, d *planmode.Decision) {
			asBot(r, d)
			d.Outcome, d.Approved, d.Grants = planmode.OutcomeRejectedAndExit, false, nil
		}}, "push", []string{"anna"}},
		{decision{name: "an agent decides beyond its limit", by: "lead agent", want: "bot may not approve", signed: signedBy("bot"), change: asBot}, "build", []string{"anna"}},
		{decision{name: "one leader where two are needed", by: "leader", want: "2 of anna, bob must approve this, 1 did"}, "lint", []string{"bob", "anna"}},
		{decision{name: "one leader's endorsement counted twice", by: "leader", want: "2 of anna, bob must approve this, 1 did", signed: signedBy("bob", "bob", "bob")}, "lint", []string{"anna", "bob"}},
		{decision{name: "an endorsement by one who is not asked", by: "lead agent", want: "2 of anna, bob must approve this, 1 did", signed: signedBy("bob", "bot")}, "lint", []string{"bob", "anna"}},
		{decision{name: "an endorsement by a removed leader", by: "removed member", want: "2 of anna, bob must approve this, 1 did", signed: signedBy("bob", "eva")}, "lint", []string{"bob", "anna"}},
		{decision{name: "an endorsement by a teammate", by: operator, want: "2 of anna, bob must approve this, 1 did", signed: signedBy("bob", "api", "mate")}, "lint", []string{"bob", "anna"}},
		{decision{name: "an endorsement of other bytes", by: operator, want: "2 of anna, bob must approve this, 1 did", signed: func(r *rig, s string, p []byte) []string {
			return []string{sign(r.t, r.keys["bob"], s, p), sign(r.t, r.keys["anna"], s, append([]byte(" "), p...))}
		}}, "lint", []string{"bob", "anna"}},
	} {
		t.Run(a.name, func(t *testing.T) {
			r.voided(t, m, a.decision, a.prompt)
			r.counts(t, m, r.plans(m, a.prompt), a.right...)
		})
	}
}

// A decision that was good for one request is none for another: not later, not for a teammate that asks the same, and not
// when its bytes are handed over as an order.
func TestAttackReplay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	first := r.plans(m, "run tests")
	d := r.approval(first, "bob")
	d.Outcome, d.Approved, d.Grants, d.Mode, d.Feedback = planmode.OutcomeRejected, false, nil, "", "once more"
	payload := r.wire(t, "bob", "api", mailbox.KindPlanApprovalResponse, d.Epoch, d)
	subject := mailbox.DecisionSubject("shop", "api", first.EnvelopeID)
	r.store(t, subject, payload, sign(t, r.keys["bob"], subject, payload))
	r.receipt(t, first.EnvelopeID)
	good := r.approval(first, "bob") // an approval of the first one, which lost its slot
	again := r.wire(t, "bob", "api", mailbox.KindPlanApprovalResponse, good.Epoch, good)
	sig := sign(t, r.keys["bob"], subject, again)
	t.Run("an approval of a request that is settled", func(t *testing.T) {
		_, err := answered(r.root, orderMsg(subject, again, sig))
		if err == nil {
			t.Fatal("the slot takes it")
		}
		m.is(t, planmode.Planning, permissions.ModePlan, 0)
		mailboxtest.Refused(t, "an approval of a request that is settled", operator, mailboxtest.ByStream, err.Error())
	})
	t.Run("an earlier approval in a later slot", func(t *testing.T) {
		r.voided(t, m, decision{
			name: "an earlier approval in a later slot", by: operator, want: "is not over this order",
			bytes: func([]byte) []byte { return again }, signed: func(*rig, string, []byte) []string { return []string{sig} },
		}, "run tests")
	})
	t.Run("an earlier approval, signed again as it is", func(t *testing.T) {
		r.voided(t, m, decision{name: "an earlier approval, signed again as it is", by: "leader", want: "in the slot of", bytes: func([]byte) []byte { return again }}, "run tests")
	})
	t.Run("an approval as an order", func(t *testing.T) {
		row := r.plans(m, "run tests")
		order := mailbox.OrderSubject("shop", "api", "bob", mailbox.KindModeSetRequest)
		r.store(t, order, again, sign(t, r.keys["bob"], order, again))
		r.handled(t, "ORD_shop", "api")
		if p := m.status().Pending; p == nil || p.RequestID != row.EnvelopeID {
			t.Errorf("pending is %+v, want the same", p)
		}
		m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
		mailboxtest.Refused(t, "an approval as an order", "leader", mailboxtest.ByTeammate, "it is no order, and changes nothing")
	})
	t.Run("a decision before its request", func(t *testing.T) {
		// Ids are drawn by the teammate: whoever fills slots ahead fills slots of nobody.
		for _, id := range []string{"1", strings.Repeat("0", 36), first.Request.PlanID} {
			s := mailbox.DecisionSubject("shop", "api", id)
			p := r.wire(t, "bob", "api", mailbox.KindPlanApprovalResponse, 1, good)
			r.store(t, s, p, sign(t, r.keys["bob"], s, p))
		}
		r.handled(t, "DEC_shop", "api")
		m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
		mailboxtest.Refused(t, "a decision before its request", "leader", mailboxtest.ByTeammate, "it answers no request, and changes nothing")
	})
	t.Run("the slot of the next request", func(t *testing.T) {
		r.slotAhead(t)
	})
	r.counts(t, m, r.plans(m, "run tests"), "bob")
}
