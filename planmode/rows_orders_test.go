package planmode_test

import (
	"slices"
	"testing"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func reissue(old, fresh string) planmode.Reissued {
	return planmode.Reissued{Old: old, New: fresh, Cause: "not signed by a leader", Epoch: 4}
}

func withdrawRows(t *testing.T) []row {
	const waits, plans = "awaitingLeaderApproval plan acceptEdits", "planning plan acceptEdits"
	a := awaiting(t)
	dropped := []string{"PublishWithdrawn a1 interrupted", "StopWatch a1", "ReleaseCall a1 false"}
	spent := must(t, a, reissue("r1", "r2"), reissue("r2", "r3"), reissue("r3", "r4"), reissue("r4", "r5"))
	withdrawn := func(reason string) []string {
		return []string{"PublishWithdrawn r1 " + reason, "StopWatch r1", "SetMode plan", "Notify stillPlanning", "Emit plan.withdrawn"}
	}
	settled := func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
		wantSettled(t, after, "r1", planmode.SettledWithdrawn)
	}
	return []row{
		{
			name: "29-A-Reissued", from: a, ev: reissue("r1", "r2"), want: waits,
			effects: []string{"SendReceipt r1 refused (not signed by a leader)", "StopWatch r1", "PublishRequest r2 over r1", "WatchDecision r2", "Emit decision.refused"},
			check: func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
				p := after.Pending
				if p.Attempt != 2 || p.Published || p.Epoch != 4 || p.Digest != before.Pending.Digest || p.Revision != 1 {
					t.Errorf("pending is %+v", p)
				}
				if r := planmode.NewRequest(effects[2].(planmode.PublishRequest), planA); r.Reason != "asked again: not signed by a leader" {
					t.Errorf("the leader is told %q", r.Reason)
				}
				wantSettled(t, after, "r1", planmode.SettledRefused)
			},
		},
		{name: "29-A-Reissued-used-id", from: a, ev: reissue("r1", "r1"), err: planmode.ErrUsedID},
		{
			name: "30-A-Reissued-fifth", from: spent, ev: reissue("r5", "r6"), want: plans,
			effects: []string{"SendReceipt r5 refused (not signed by a leader)", "StopWatch r5", "Notify undecidable", "Emit security"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				wantSettled(t, after, "r5", planmode.SettledRefused)
			},
		},
		{name: "31-A-Reissued-other", from: a, ev: reissue("r0", "r2"), want: waits, check: same},
		{name: "31-P-Reissued", from: planning(t), ev: reissue("r1", "r2"), want: plans, check: same},
		{name: "31-W-Reissued", from: working(t), ev: reissue("r1", "r2"), want: "working acceptEdits", check: same},
		{name: "32-A-WithdrawAsked", from: a, ev: planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent}, want: plans, effects: withdrawn("withdrawn"), check: settled},
		{name: "32-A-WithdrawAsked-odd-reason", from: a, ev: planmode.WithdrawAsked{Reason: "approved!"}, want: plans, effects: withdrawn("withdrawn"), check: settled},
		{name: "32-A-Interrupted", from: a, ev: planmode.Interrupted{}, want: plans, effects: withdrawn("interrupted"), check: settled},
		{name: "32-A-AgentLost", from: a, ev: planmode.AgentLost{}, want: plans, effects: withdrawn("agentLost"), check: settled},
		{name: "33-P-Interrupted", from: planning(t), ev: planmode.Interrupted{}, want: plans, effects: []string{"SetMode plan"}, check: same},
		{name: "34-P-WithdrawAsked", from: planning(t), ev: planmode.WithdrawAsked{}, want: plans, check: same},
		{name: "34-W-WithdrawAsked", from: working(t), ev: planmode.WithdrawAsked{}, want: "working acceptEdits", check: same},
		{name: "34-W-Interrupted", from: working(t), ev: planmode.Interrupted{}, want: "working acceptEdits", check: same},
		{name: "34-W-Interrupted-asks", from: withAsk(t, working(t)), ev: planmode.Interrupted{}, want: "working acceptEdits", effects: dropped, check: unasked},
		{name: "33-P-Interrupted-asks", from: withAsk(t, planning(t)), ev: planmode.Interrupted{}, want: plans, effects: append(slices.Clone(dropped), "SetMode plan"), check: unasked},
		{name: "32-A-Interrupted-asks", from: withAsk(t, a), ev: planmode.Interrupted{}, want: plans, effects: append(slices.Clone(dropped), withdrawn("interrupted")...), check: unasked},
		{name: "34-P-AgentLost", from: planning(t), ev: planmode.AgentLost{}, want: plans, check: same},
		{name: "34-W-AgentLost", from: carrying(t), ev: planmode.AgentLost{}, want: "working acceptEdits", check: same},
		{name: "34-A-AgentLost-resumable", from: a, ev: planmode.AgentLost{CanResumeAsk: true}, want: waits, check: same},
	}
}

// unasked is that nobody can answer any more what was asked before.
func unasked(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
	if len(after.Asks) != 0 {
		t.Errorf("asks are %v, want none", after.Asks)
	}
	wantSettled(t, after, "a1", planmode.SettledWithdrawn)
	for _, e := range effects {
		if r, ok := e.(planmode.ReleaseCall); ok && (r.Allow || !r.Withdrawn || r.Message != "interrupted") {
			t.Errorf("released is %+v, want that it was withdrawn, and why", r)
		}
	}
}

func leaveRows(t *testing.T) []row {
	const waits = "awaitingLeaderApproval plan acceptEdits"
	free := planningFreely(t, planmode.ByAgent)
	ask := planmode.LeaveAsked{RequestID: "r2", Reason: "only a question"}
	asks := []string{"PublishRequest r2", "WatchDecision r2", "Notify awaiting"}
	narrowed := must(t, free, planmode.CharterChanged{Charter: capped(freely(), permissions.ModeDontAsk), Now: now})
	recalled := must(t, free, order(permissions.ModePlan, 1))
	onlyPlan := must(t, free, planmode.CharterChanged{Charter: capped(freely(), permissions.ModePlan), Now: now})
	return []row{
		{name: "35-P-LeaveAsked", from: free, ev: ask, want: "working acceptEdits", effects: []string{"SetMode acceptEdits", "Notify left", "Emit plan.left"}},
		{name: "35-P-LeaveAsked-capped", from: narrowed, ev: ask, want: "working dontAsk", effects: []string{"SetMode dontAsk", "Notify left", "Emit plan.left"}},
		{
			name: "36-P-LeaveAsked-plan-required", from: planning(t), ev: ask, want: waits, effects: asks,
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				if p := after.Pending; p.Kind != planmode.AskLeave || p.Reason != "only a question" {
					t.Errorf("pending is %+v", p)
				}
				r := planmode.NewRequest(effects[0].(planmode.PublishRequest), nil)
				if r.Kind != planmode.AskLeave || r.Reason != "only a question" || r.ComputeDigest(team, mate) != after.Pending.Digest {
					t.Errorf("the request is %+v", r)
				}
			},
		},
		{name: "36-P-LeaveAsked-entered-by-leader", from: planningFreely(t, planmode.ByLeader), ev: ask, want: waits, effects: asks},
		{name: "36-P-LeaveAsked-entered-by-client", from: planningFreely(t, planmode.ByClient), ev: ask, want: waits, effects: asks},
		{name: "36-P-LeaveAsked-recalled-meanwhile", from: recalled, ev: ask, want: waits, effects: asks},
		{name: "36-P-LeaveAsked-nothing-to-leave-to", from: onlyPlan, ev: ask, want: waits, effects: asks},
		{name: "36-P-LeaveAsked-used-id", from: must(t, awaiting(t), planmode.WithdrawAsked{}), ev: planmode.LeaveAsked{RequestID: "r1"}, err: planmode.ErrUsedID},
		{name: "37-A-LeaveAsked-again", from: awaitingLeave(t), ev: ask, want: waits, effects: []string{"Notify awaiting"}, check: same},
		{
			name: "38-A-LeaveAsked-over-plan", from: awaiting(t), ev: ask, want: waits,
			effects: []string{"StopWatch r1", "PublishRequest r2 over r1", "WatchDecision r2", "Emit plan.revised"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if p := after.Pending; p.Kind != planmode.AskLeave || p.Revision != 2 || len(p.Prompts) != 0 {
					t.Errorf("pending is %+v", p)
				}
				wantSettled(t, after, "r1", planmode.SettledSuperseded)
			},
		},
		{name: "38-A-LeaveAsked-free-to-leave-but-waiting", from: must(t, free, submit("r1", planA)), ev: ask, want: waits, effects: []string{"StopWatch r1", "PublishRequest r2 over r1", "WatchDecision r2", "Emit plan.revised"}},
		{name: "39-W-LeaveAsked", from: working(t), ev: ask, want: "working acceptEdits", effects: []string{"Notify notPlanning"}, check: same},
	}
}

func capped(c charter.Charter, m permissions.Mode) charter.Charter {
	c.Serial++
	c.Caps.Mode = m
	return c
}

func by(a charter.Authority) func(*planmode.ModeOrdered) {
	return func(ev *planmode.ModeOrdered) { ev.Authority = a }
}

func counted(n uint64) func(*testing.T, planmode.Session, planmode.Session, []planmode.Effect) {
	return func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
		t.Helper()
		if after.Orders[lead] != n {
			t.Errorf("counters are %v, want %d", after.Orders, n)
		}
	}
}

// told checks what an event says, each as "field value".
func told(t *testing.T, effects []planmode.Effect, event string, want ...string) {
	t.Helper()
	for _, e := range effects {
		if e, ok := e.(planmode.Emit); ok && e.Event == event {
			var got []string
			for k, v := range e.Fields {
				got = append(got, k+" "+v)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s says %q, want %q", event, got, want)
			}
			return
		}
	}
	t.Errorf("there is no %s among %v", event, effects)
}

func orderRows(t *testing.T) []row {
	const waits, plans = "awaitingLeaderApproval plan acceptEdits", "planning plan acceptEdits"
	nobody := charter.Authority{}
	rows := []row{
		{
			name: "41-W-ModeOrdered-plan", from: carrying(t), ev: order(permissions.ModePlan, 1), want: plans,
			effects: append(append([]string{"Emit plan.recalled"}, entering("EndGrants recalled r1/1 r1/2 and all", "Emit plan.entered")...), "SendReceipt o1 applied"),
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				told(t, effects, "plan.recalled", "by alice", "reason first the tests")
				if after.Cycle != (planmode.Cycle{PlanID: "p2", PlanFile: file, EnteredBy: planmode.ByLeader}) || after.Orders[lead] != 1 {
					t.Errorf("cycle is %+v, counters are %v", after.Cycle, after.Orders)
				}
			},
		},
		{
			name: "42-W-ModeOrdered", from: carrying(t), ev: order(permissions.ModeDefault, 1), want: "working default",
			effects: []string{"SetMode default", "Emit mode.changed", "Emit mode.ordered", "SendReceipt o1 applied"},
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				told(t, effects, "mode.ordered", "by alice", "mode default", "reason first the tests")
				if len(after.Grants) != 2 {
					t.Errorf("grants are %v, want them kept", after.Grants)
				}
			},
		},
		{name: "43-P-ModeOrdered-plan", from: planning(t), ev: order(permissions.ModePlan, 1), want: plans, effects: []string{"Emit plan.recalled", "SendReceipt o1 applied"}, check: counted(1)},
		{name: "43-A-ModeOrdered-plan", from: awaiting(t), ev: order(permissions.ModePlan, 7), want: waits, effects: []string{"Emit plan.recalled", "SendReceipt o1 applied"}, check: counted(7)},
		{
			name: "44-P-ModeOrdered", from: planning(t), ev: order(permissions.ModeAuto, 1), want: "planning plan auto",
			effects: []string{"Emit mode.ordered", "SendReceipt o1 applied (restored after approval; still planning)"}, check: counted(1),
		},
		{
			name: "44-A-ModeOrdered", from: awaiting(t), ev: order(permissions.ModeDefault, 1), want: "awaitingLeaderApproval plan default",
			effects: []string{"Emit mode.ordered", "SendReceipt o1 applied (restored after approval; still planning)"}, check: counted(1),
		},
	}
	for state, s := range map[string]planmode.Session{"W": working(t), "P": planning(t), "A": awaiting(t)} {
		before, again := order(permissions.ModePlan, 5, called("o0")), "SendReceipt o0 applied"
		if state == "W" {
			before = order(permissions.ModeAcceptEdits, 5, called("o0"))
		}
		used := must(t, s, before)
		rows = append(rows,
			row{name: "39a-" + state + "-ModeOrdered-applied-before", from: used, ev: before, want: standing(used), effects: []string{again}, check: same},
			row{name: "39a-" + state + "-ModeOrdered", from: used, ev: order(permissions.ModeAuto, 5), want: standing(used), effects: []string{"SendReceipt o1 refused (old)"}, check: same},
			row{name: "39a-" + state + "-ModeOrdered-zero", from: s, ev: order(permissions.ModeAuto, 0), want: standing(s), effects: []string{"SendReceipt o1 refused (old)"}, check: same},
			row{
				name: "39a-" + state + "-RevokeOrdered", from: used, want: standing(used), effects: []string{"SendReceipt o1 refused (old)"}, check: same,
				ev: planmode.RevokeOrdered{All: true, Authority: signed, OrderID: "o1", Signer: lead, Counter: 4},
			},
			row{
				name: "39a-" + state + "-ShutdownOrdered", from: used, want: standing(used), effects: []string{"SendReceipt o1 refused (old)"}, check: same,
				ev: planmode.ShutdownOrdered{Authority: signed, OrderID: "o1", Signer: lead, Counter: 5},
			},
			row{name: "40-" + state + "-ModeOrdered-unsigned", from: s, ev: order(permissions.ModeDefault, 1, by(nobody)), err: planmode.ErrNotLeader},
			row{name: "40-" + state + "-ModeOrdered-plan-unsigned", from: s, ev: order(permissions.ModePlan, 1, by(nobody)), err: planmode.ErrNotLeader},
			row{name: "40-" + state + "-ModeOrdered-other-signer", from: s, ev: order(permissions.ModeDefault, 1, func(o *planmode.ModeOrdered) { o.Signer = "UMALLORY" }), err: planmode.ErrNotLeader},
			row{name: "40-" + state + "-ModeOrdered-no-signer", from: s, ev: order(permissions.ModeDefault, 1, func(o *planmode.ModeOrdered) { o.Signer = "" }), err: planmode.ErrNotLeader},
			row{name: "40-" + state + "-ModeOrdered-unknown", from: s, ev: order("turbo", 1), err: planmode.ErrUnknownMode},
			row{name: "40-" + state + "-ModeOrdered-above-cap", from: s, ev: order(permissions.ModeBypass, 1), err: planmode.ErrAboveCap},
			row{name: "40-" + state + "-ModeOrdered-needs-person", from: s, ev: order(permissions.ModeAuto, 1, by(person)), err: planmode.ErrNeedsPerson},
			row{name: "40-" + state + "-ModeOrdered-weak-key", from: s, ev: order(permissions.ModeAuto, 1, by(weak)), err: planmode.ErrWeakKey},
			row{name: "40-" + state + "-ModeOrdered-quorum", from: s, ev: order(permissions.ModeAuto, 1, by(charter.Authority{Leader: true})), err: planmode.ErrQuorum},
		)
	}
	return rows
}

func called(id string) func(*planmode.ModeOrdered) {
	return func(o *planmode.ModeOrdered) { o.OrderID = id }
}

func observeRows(t *testing.T) []row {
	const waits, plans = "awaitingLeaderApproval plan acceptEdits", "planning plan acceptEdits"
	seen := func(m permissions.Mode) planmode.ModeObserved {
		return planmode.ModeObserved{Mode: m, PlanID: "p2", PlanFile: file}
	}
	drifts := func(n int) func(*testing.T, planmode.Session, planmode.Session, []planmode.Effect) {
		return func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
			if after.Drift != n {
				t.Errorf("drift is %d, want %d", after.Drift, n)
			}
		}
	}
	byClient := func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
		if after.Cycle.EnteredBy != planmode.ByClient {
			t.Errorf("entered by %s, want client", after.Cycle.EnteredBy)
		}
	}
	drifted := must(t, planning(t), seen(permissions.ModeDefault), seen(permissions.ModeDefault))
	drift := []string{"SetMode plan", "Emit mode.drift"}
	free := planningFreely(t, planmode.ByClient)
	return []row{
		{name: "45-W-ModeObserved-same", from: working(t), ev: seen(permissions.ModeAcceptEdits), want: "working acceptEdits", check: same},
		{name: "46-W-ModeObserved-plan", from: carrying(t), ev: seen(permissions.ModePlan), want: plans, effects: entering("EndGrants replanned r1/1 r1/2 and all", "Emit plan.entered"), check: byClient},
		{
			name: "46-W-ModeObserved-unknown", from: working(t), ev: seen("turbo"), want: plans, check: byClient,
			effects: append([]string{"Emit mode.unknown"}, entering("EndGrants replanned and all", "Emit plan.entered")...),
		},
		{name: "47-W-ModeObserved", from: carrying(t), ev: seen(permissions.ModeAuto), want: "working auto", effects: []string{"Emit mode.changed"}},
		{name: "48-W-ModeObserved-above-cap", from: working(t), ev: seen(permissions.ModeBypass), want: "working acceptEdits", effects: []string{"SetMode acceptEdits", "Emit mode.drift"}, check: same},
		{name: "49a-P-ModeObserved-entered-by-client", from: free, ev: seen(permissions.ModeDefault), want: "working default", effects: []string{"Emit plan.left", "ReportStatus"}},
		{name: "49-P-ModeObserved", from: planning(t), ev: seen(permissions.ModeDefault), want: plans, effects: drift, check: drifts(1)},
		{name: "49-P-ModeObserved-unknown", from: free, ev: seen("turbo"), want: plans, effects: drift, check: drifts(1)},
		{name: "49-P-ModeObserved-above-cap", from: free, ev: seen(permissions.ModeBypass), want: plans, effects: drift, check: drifts(1)},
		{name: "49-P-ModeObserved-entered-by-agent", from: planningFreely(t, planmode.ByAgent), ev: seen(permissions.ModeDefault), want: plans, effects: drift},
		{name: "49-P-ModeObserved-plan-required", from: must(t, working(t), seen(permissions.ModePlan)), ev: seen(permissions.ModeDefault), want: plans, effects: drift},
		{name: "49-A-ModeObserved", from: awaiting(t), ev: seen(permissions.ModeDefault), want: waits, effects: drift, check: drifts(1)},
		{name: "49-A-ModeObserved-entered-by-client", from: must(t, free, submit("r1", planA)), ev: seen(permissions.ModeDefault), want: waits, effects: drift},
		{name: "49-P-ModeObserved-third", from: drifted, ev: seen(permissions.ModeDefault), want: plans, effects: append(drift, "StopAgent drift", "Emit security")},
		{name: "49b-P-ModeObserved-plan", from: drifted, ev: seen(permissions.ModePlan), want: plans, check: drifts(0)},
		{name: "49b-A-ModeObserved-plan", from: must(t, awaiting(t), seen(permissions.ModeAuto)), ev: seen(permissions.ModePlan), want: waits, check: drifts(0)},
	}
}
