package planmode_test

import (
	"slices"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func askRows(t *testing.T) []row {
	const allow, deny, once, plan = permissions.BehaviorAllow, permissions.BehaviorDeny, permissions.ScopeOnce, permissions.ScopePlan
	reply := func(mod func(*planmode.PermissionAnswered)) planmode.PermissionAnswered {
		return answer(allow, plan, mod)
	}
	c := withAsk(t, carrying(t))
	bare := must(t, awaiting(t), seal(awaiting(t), decide(awaiting(t), planmode.OutcomeApproved)))
	pipe := ask("a1", "h1")
	pipe.Argv = nil
	piped := must(t, carrying(t), planmode.Asked{Ask: pipe})
	longer := reply(func(ev *planmode.PermissionAnswered) {
		ev.Answer.Grant = &permissions.GrantTerms{Tree: ".", ExpiresAt: now.Add(20 * time.Hour), MaxUses: 3}
	})
	exact := func(until time.Time, tree string, uses int) func(*testing.T, planmode.Session, planmode.Session, []planmode.Effect) {
		return func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
			g := after.Grants[len(after.Grants)-1]
			if g.ID != "a1/1" || !slices.Equal(g.Argv, []string{"make", "deps"}) || g.Intent != "" || g.Digest != after.Approved.Digest ||
				!g.ExpiresAt.Equal(until) || g.Tree != tree || g.MaxUses != uses || g.GrantedBy != "alice" || len(after.Asks) != 0 {
				t.Errorf("grant is %+v, asks are %v", g, after.Asks)
			}
			wantSettled(t, after, "a1", planmode.SettledApplied)
		}
	}
	granted := []string{"AddGrants a1/1", "ReleaseCall a1 true", "StopWatch a1", "SendReceipt a1 applied"}
	rows := []row{
		{name: "67-W-PermissionAnswered-plan", from: c, ev: answer(allow, plan), want: "working acceptEdits", effects: granted, check: exact(now.Add(time.Hour), "backend", 10)},
		{name: "67-W-PermissionAnswered-plan-terms", from: c, ev: longer, want: "working acceptEdits", effects: granted, check: exact(now.Add(time.Hour), ".", 3)},
		{name: "67-W-PermissionAnswered-not-simple", from: piped, ev: answer(allow, plan), err: planmode.ErrGrantNotAsked},
		{name: "67-W-PermissionAnswered-other-argv", from: c, ev: reply(func(ev *planmode.PermissionAnswered) { ev.Answer.Argv = []string{"make"} }), err: planmode.ErrGrantNotAsked},
		{name: "67-W-PermissionAnswered-intent", from: c, ev: reply(func(ev *planmode.PermissionAnswered) { g := terms(tests); ev.Answer.Grant = &g }), err: planmode.ErrGrantNotAsked},
		{name: "67-W-PermissionAnswered-too-late", from: c, ev: reply(func(ev *planmode.PermissionAnswered) { ev.Now = now.Add(2 * time.Hour) }), err: planmode.ErrGrantNotAsked},
		{name: "67-W-PermissionAnswered-plan-without-grants", from: withAsk(t, bare), ev: answer(allow, plan), err: planmode.ErrGrantNotAsked},
		{name: "68-W-PermissionAnswered-plan", from: withAsk(t, working(t)), ev: answer(allow, plan), err: planmode.ErrWrongState},
	}
	rows = append(rows, everywhere(t)...)
	for state, s := range map[string]planmode.Session{"W": working(t), "P": planning(t), "A": awaiting(t)} {
		open := withAsk(t, s)
		if state != "W" {
			rows = append(rows, row{name: "68-" + state + "-PermissionAnswered-plan", from: open, ev: answer(allow, plan), err: planmode.ErrWrongState})
		}
		released := func(b bool) []string {
			return []string{map[bool]string{true: "ReleaseCall a1 true", false: "ReleaseCall a1 false"}[b], "StopWatch a1", "SendReceipt a1 applied"}
		}
		rows = append(rows,
			row{name: "69-" + state + "-PermissionAnswered-once", from: open, ev: answer(allow, once), want: standing(s), effects: released(true), check: answered},
			row{name: "69-" + state + "-PermissionAnswered-deny", from: open, ev: answer(deny, ""), want: standing(s), effects: released(false), check: answered},
			row{name: "69-" + state + "-PermissionAnswered-deny-by-any-leader", from: open, ev: answer(deny, "", func(ev *planmode.PermissionAnswered) { ev.Authority = person }), want: standing(s), effects: released(false), check: answered},
			row{name: "69-" + state + "-PermissionAnswered-again", from: must(t, open, answer(allow, once)), ev: answer(allow, once), want: standing(s), effects: []string{"SendReceipt a1 applied"}, check: same},
		)
	}
	return rows
}

func answered(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
	if len(after.Asks) != 0 || len(after.Grants) != 0 {
		t.Errorf("asks are %v and grants %v, want none", after.Asks, after.Grants)
	}
	wantSettled(t, after, "a1", planmode.SettledApplied)
}

// everywhere are the refusals of row 66, the same in each state.
func everywhere(t *testing.T) []row {
	refused := map[string]struct {
		mod func(*planmode.PermissionAnswered)
		err error
	}{
		"unsigned":     {func(ev *planmode.PermissionAnswered) { ev.Authority = charter.Authority{} }, planmode.ErrNotLeader},
		"team":         {func(ev *planmode.PermissionAnswered) { ev.Answer.TeamID = "ab12" }, planmode.ErrNotLeader},
		"needs-person": {func(ev *planmode.PermissionAnswered) { ev.Authority = person }, planmode.ErrNeedsPerson},
		"weak-key":     {func(ev *planmode.PermissionAnswered) { ev.Authority = weak }, planmode.ErrWeakKey},
		"quorum":       {func(ev *planmode.PermissionAnswered) { ev.Authority = charter.Authority{Leader: true} }, planmode.ErrQuorum},
		"other-call":   {func(ev *planmode.PermissionAnswered) { ev.Answer.CallHash = "h2" }, planmode.ErrDigestMismatch},
		"unknown":      {func(ev *planmode.PermissionAnswered) { ev.Answer.Behavior = "Allow" }, planmode.ErrUnknownOutcome},
		"no-scope":     {func(ev *planmode.PermissionAnswered) { ev.Answer.Scope = "" }, planmode.ErrUnknownOutcome},
		"not-open":     {func(ev *planmode.PermissionAnswered) { ev.Answer.RequestID = "a0" }, planmode.ErrStaleDecision},
	}
	var rows []row
	for name, r := range refused {
		ev := answer(permissions.BehaviorAllow, permissions.ScopeOnce, r.mod)
		for state, s := range map[string]planmode.Session{"W": working(t), "P": planning(t), "A": awaiting(t)} {
			rows = append(rows, row{name: "66-" + state + "-PermissionAnswered-" + name, from: withAsk(t, s), ev: ev, err: r.err})
		}
	}
	denied := answer(permissions.BehaviorDeny, "", func(ev *planmode.PermissionAnswered) { ev.Authority = charter.Authority{} })
	return append(rows, row{name: "66-W-PermissionAnswered-deny-unsigned", from: withAsk(t, working(t)), ev: denied, err: planmode.ErrNotLeader})
}

func TestAsks(t *testing.T) {
	for state, s := range map[string]planmode.Session{"W": working(t), "P": planning(t), "A": awaiting(t)} {
		t.Run(state, func(t *testing.T) { askUntilFull(t, s) })
	}
}

func askUntilFull(t *testing.T, s planmode.Session) {
	for i, id := range []string{"a1", "a2", "a3", "a4", "a5"} {
		next, effects, err := step(t, s, planmode.Asked{Ask: ask(id, "h"+id)})
		wantErr(t, err, nil)
		if len(next.Asks) != i+1 || brief(effects[0]) != "PublishAsk "+id || brief(effects[1]) != "WatchDecision "+id {
			t.Fatalf("asks are %v, effects %v", next.Asks, effects)
		}
		s = next
	}
	again, effects, err := step(t, s, planmode.Asked{Ask: ask("a9", "ha3")})
	wantErr(t, err, nil)
	if len(effects) != 0 || len(again.Asks) != 5 {
		t.Errorf("the same call makes effects %v and asks %v, want one row", effects, again.Asks)
	}
	_, _, err = step(t, s, planmode.Asked{Ask: ask("a6", "h6")})
	wantErr(t, err, planmode.ErrTooManyAsks)
	_, _, err = step(t, s, planmode.Asked{Ask: ask("a5", "h6")})
	wantErr(t, err, planmode.ErrUsedID)
	_, _, err = step(t, s, planmode.Asked{Ask: ask("a6", "")})
	wantErr(t, err, planmode.ErrBadPrompt)

	next, effects, err := step(t, s, planmode.AskWithdrawn{RequestID: "a2", Reason: planmode.WithdrawnInterrupt})
	wantErr(t, err, nil)
	if len(next.Asks) != 4 || brief(effects[0]) != "PublishWithdrawn a2 interrupted" || brief(effects[1]) != "StopWatch a2" {
		t.Errorf("asks are %v, effects %v", next.Asks, effects)
	}
	wantSettled(t, next, "a2", planmode.SettledWithdrawn)
	_, effects, err = step(t, next, planmode.AskWithdrawn{RequestID: "a2"})
	wantErr(t, err, nil)
	if len(effects) != 0 {
		t.Errorf("withdrawn twice: effects %v", effects)
	}
	_, effects, _ = step(t, next, answer(permissions.BehaviorAllow, permissions.ScopeOnce, func(ev *planmode.PermissionAnswered) { ev.Answer.RequestID = "a2" }))
	if len(effects) != 1 || brief(effects[0]) != "SendReceipt a2 refused (withdrawn)" {
		t.Errorf("an answer to a withdrawn ask makes %v", effects)
	}
}

// refusedCallRows are row 70: a call that was not let through is told, and changes nothing.
func refusedCallRows(t *testing.T) []row {
	ev := planmode.CallRefused{Tool: "Bash", Input: "curl example.com", CallHash: "h1", Reason: "network"}
	told := func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
		same(t, before, after, effects)
		e := effects[0].(planmode.Emit)
		if e.Fields["tool"] != "Bash" || e.Fields["callHash"] != "h1" || e.Fields["reason"] != "network" || len(e.Fields) != 3 {
			t.Errorf("told is %v, want tool, hash and reason, and not the call's text", e.Fields)
		}
	}
	rows := []row{{name: "70-L-CallRefused", from: left(t), ev: ev, err: planmode.ErrWrongState}}
	for state, s := range map[string]planmode.Session{"W": carrying(t), "P": planning(t), "A": awaiting(t)} {
		rows = append(rows, row{name: "70-" + state + "-CallRefused", from: s, ev: ev, want: standing(s), effects: []string{"Emit call.refused"}, check: told})
	}
	return rows
}
