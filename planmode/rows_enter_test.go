package planmode_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func starting(mode permissions.Mode, plan bool) planmode.Started {
	ev := start(teamCharter())
	ev.Mode, ev.Plan, ev.PlanID, ev.PlanFile = mode, plan, "p1", file
	return ev
}

func speaking(dialect string) planmode.Started {
	ev := start(teamCharter())
	ev.Dialect = dialect
	return ev
}

// entering are the effects of row 4.
func entering(endGrants, event string) []string {
	return []string{endGrants, "SetMode plan", "Notify howToPlan", event, "ReportStatus"}
}

func enterRows(t *testing.T) []row {
	zero, cycle := planmode.Session{}, planmode.Cycle{PlanID: "p1", PlanFile: file, EnteredBy: planmode.ByAgent}
	wide := working(t)
	wide.Mode = permissions.ModeBypass // above the cap: no step leads there
	foreign := start(teamCharter())
	foreign.Charter.TeamID = "ab12"
	capless := start(teamCharter())
	capless.Charter.Caps.Mode = ""
	entersWide := enter(planmode.ByAgent)
	entersWide.From = permissions.ModeBypass
	unknown, other := enter(planmode.ByAgent), enter(planmode.ByAgent)
	unknown.From, other.From = "turbo", permissions.ModeDefault
	again := enter(planmode.ByLeader)
	again.PlanID = "p9"
	return []row{
		{name: "1-zero-Started", from: zero, ev: starting(permissions.ModeAcceptEdits, false), want: "working acceptEdits", effects: []string{"ReportStatus"}},
		{name: "1-zero-Started-unknown-mode", from: zero, ev: starting("turbo", false), err: planmode.ErrUnknownMode},
		{name: "1-zero-Started-no-mode", from: zero, ev: starting("", false), err: planmode.ErrUnknownMode},
		{name: "1-zero-Started-above-cap", from: zero, ev: starting(permissions.ModeBypass, false), err: planmode.ErrAboveCap},
		{name: "1-zero-Started-no-cap", from: zero, ev: capless, err: planmode.ErrAboveCap},
		{name: "1-zero-Started-foreign-charter", from: zero, ev: foreign, err: planmode.ErrBadCharter},
		{
			name: "1-zero-Started-mode-plan", from: zero, ev: starting(permissions.ModePlan, false), want: "planning plan default",
			effects: append([]string{"ReportStatus"}, entering("EndGrants replanned and all", "Emit plan.entered")...),
		},
		{
			name: "2-zero-Started-planning", from: zero, ev: starting(permissions.ModeAcceptEdits, true), want: "planning plan acceptEdits",
			effects: append([]string{"ReportStatus"}, entering("EndGrants replanned and all", "Emit plan.entered")...),
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Cycle != (planmode.Cycle{PlanID: "p1", PlanFile: file, EnteredBy: planmode.ByFlag}) {
					t.Errorf("cycle is %+v", after.Cycle)
				}
			},
		},
		{name: "2-zero-Started-planning-above-cap", from: zero, ev: starting(permissions.ModeBypass, true), err: planmode.ErrAboveCap},
		{name: "3-W-Started", from: working(t), ev: starting(permissions.ModeDefault, false), err: planmode.ErrWrongState},
		{name: "3-P-Started", from: planning(t), ev: starting(permissions.ModeDefault, false), err: planmode.ErrWrongState},
		{name: "3-A-Started", from: awaiting(t), ev: starting(permissions.ModeDefault, false), err: planmode.ErrWrongState},
		{name: "3-L-Started", from: left(t), ev: starting(permissions.ModeDefault, false), err: planmode.ErrWrongState},
		{name: "1-zero-Started-unknown-dialect", from: zero, ev: speaking("klingon"), err: planmode.ErrUnknownDialect},
		{name: "71-W-EntryRefused", from: working(t), ev: planmode.EntryRefused{Resolved: planmode.ResolvedRefused, Reason: "to look"}, want: "working acceptEdits", effects: []string{"Notify entryRefused", "Emit plan.entry"}, check: same},
		{name: "71-P-EntryRefused", from: planning(t), ev: planmode.EntryRefused{Resolved: planmode.ResolvedDismissed}, want: "planning plan acceptEdits", effects: []string{"Notify entryRefused", "Emit plan.entry"}, check: same},
		{name: "71-A-EntryRefused", from: awaiting(t), ev: planmode.EntryRefused{Resolved: planmode.ResolvedDismissed}, want: "awaitingLeaderApproval plan acceptEdits", effects: []string{"Notify entryRefused", "Emit plan.entry"}, check: same},
		{name: "3a-zero-Entered", from: zero, ev: enter(planmode.ByAgent), err: planmode.ErrWrongState},
		{name: "3a-zero-Exited", from: zero, ev: planmode.Exited{}, err: planmode.ErrWrongState},
		{name: "3a-zero-Resumed", from: zero, ev: planmode.Resumed{Team: team, Epoch: 3, Now: now}, err: planmode.ErrWrongState},
		{
			name: "4-W-Entered", from: working(t), ev: enter(planmode.ByAgent), want: "planning plan acceptEdits",
			effects: entering("EndGrants replanned and all", "Emit plan.entered"),
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				if after.Cycle != cycle {
					t.Errorf("cycle is %+v, want %+v", after.Cycle, cycle)
				}
				if n := effects[2].(planmode.Notify); n.Data.PlanFile != file {
					t.Errorf("the agent is told %+v, want the plan file", n.Data)
				}
			},
		},
		{
			name: "4-W-Entered-with-a-plan", from: carrying(t), ev: enter(planmode.ByAgent), want: "planning plan acceptEdits",
			effects: entering("EndGrants replanned r1/1 r1/2 and all", "Emit plan.entered"),
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Approved != nil || len(after.Grants) != 0 {
					t.Errorf("approved plan %v and grants %v outlive planning", after.Approved, after.Grants)
				}
			},
		},
		{
			name: "4-W-Entered-with-an-open-ask", from: withAsk(t, working(t)), ev: enter(planmode.ByAgent), want: "planning plan acceptEdits",
			effects: []string{
				"EndGrants replanned and all", "PublishWithdrawn a1 replanned", "StopWatch a1", "ReleaseCall a1 false",
				"SetMode plan", "Notify howToPlan", "Emit plan.entered", "ReportStatus",
			},
		},
		{name: "4-W-Entered-other-mode", from: working(t), ev: other, err: planmode.ErrModeMismatch},
		{name: "4-W-Entered-unknown-mode", from: working(t), ev: unknown, err: planmode.ErrUnknownMode},
		{
			name: "4-W-Entered-above-cap", from: wide, ev: entersWide, want: "planning plan auto",
			effects: []string{"EndGrants replanned and all", "SetMode plan", "Notify howToPlan", "Emit mode.capped", "Emit plan.entered", "ReportStatus"},
		},
		{name: "5-P-Entered", from: planning(t), ev: again, want: "planning plan acceptEdits", effects: []string{"Notify presentState"}, check: same},
		{name: "5-A-Entered", from: awaiting(t), ev: again, want: "awaitingLeaderApproval plan acceptEdits", effects: []string{"Notify presentState"}, check: same},
	}
}
