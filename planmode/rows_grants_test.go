package planmode_test

import (
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func use(id string) planmode.GrantUsed {
	return planmode.GrantUsed{GrantID: id, CallHash: "h", Now: now}
}

func revoke(mod func(*planmode.RevokeOrdered)) planmode.RevokeOrdered {
	ev := planmode.RevokeOrdered{Authority: signed, OrderID: "o1", Signer: lead, Counter: 1}
	mod(&ev)
	return ev
}

func grantRows(t *testing.T) []row {
	const waits, plans, works = "awaitingLeaderApproval plan acceptEdits", "planning plan acceptEdits", "working acceptEdits"
	c := carrying(t)
	late := use("r1/1")
	late.Now = now.Add(time.Hour) // the moment at which it ends
	one, all := revoke(func(r *planmode.RevokeOrdered) { r.GrantID = "r1/2" }), revoke(func(r *planmode.RevokeOrdered) { r.All = true })
	other, unsigned := revoke(func(r *planmode.RevokeOrdered) { r.GrantID = "r0/1" }), revoke(func(r *planmode.RevokeOrdered) { r.All, r.Authority = true, charter.Authority{} })
	left := func(n int) func(*testing.T, planmode.Session, planmode.Session, []planmode.Effect) {
		return func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
			if len(after.Grants) != n || after.Approved == nil {
				t.Errorf("grants are %+v under %+v, want %d", after.Grants, after.Approved, n)
			}
		}
	}
	all.Reason = "tests are red"
	why := func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
		left(0)(t, before, after, effects)
		told(t, effects, "grants.revoked", "by alice", "count 2", "grants run tests, lint the code", "reason tests are red")
		if n := effects[1].(planmode.Notify); n.Data.Cause != "tests are red" {
			t.Errorf("the agent is told %+v, want the leader's reason", n.Data)
		}
	}
	rows := []row{
		{
			name: "50-W-GrantUsed", from: c, ev: use("r1/1"), want: works, effects: []string{"Emit grant.used"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Grants[0].Uses != 1 || after.Grants[1].Uses != 0 {
					t.Errorf("grants are %+v", after.Grants)
				}
			},
		},
		{name: "50-W-GrantUsed-last", from: must(t, c, use("r1/1")), ev: use("r1/1"), want: works, effects: []string{"Emit grant.used", "EndGrants exhausted r1/1"}, check: left(1)},
		{name: "51-W-GrantUsed-exhausted", from: must(t, c, use("r1/1"), use("r1/1")), ev: use("r1/1"), err: planmode.ErrNoGrant},
		{name: "51-W-GrantUsed-expired", from: c, ev: late, err: planmode.ErrNoGrant},
		{name: "51-W-GrantUsed-unknown", from: c, ev: use("r1/3"), err: planmode.ErrNoGrant},
		{name: "51-W-GrantUsed-no-id", from: working(t), ev: use(""), err: planmode.ErrNoGrant},
		{name: "51-P-GrantUsed", from: must(t, c, enter(planmode.ByAgent)), ev: use("r1/1"), err: planmode.ErrNoGrant},
		{name: "51-A-GrantUsed", from: awaiting(t), ev: use("r1/1"), err: planmode.ErrNoGrant},
		{name: "52-W-RevokeOrdered", from: c, ev: one, want: works, effects: []string{"EndGrants revoked r1/2", "Notify revoked", "Emit grants.revoked", "SendReceipt o1 applied 1"}, check: left(1)},
		{name: "52-W-RevokeOrdered-all", from: c, ev: all, want: works, effects: []string{"EndGrants revoked r1/1 r1/2 and all", "Notify revoked", "Emit grants.revoked", "SendReceipt o1 applied 2"}, check: why},
		{name: "52-W-RevokeOrdered-none", from: c, ev: other, want: works, effects: []string{"EndGrants revoked r0/1", "SendReceipt o1 applied 0"}, check: left(2)},
		{name: "53-P-RevokeOrdered", from: planning(t), ev: all, want: plans, effects: []string{"SendReceipt o1 applied 0"}, check: counted(1)},
		{name: "53-A-RevokeOrdered", from: awaiting(t), ev: all, want: waits, effects: []string{"SendReceipt o1 applied 0"}, check: counted(1)},
		{name: "53b-W-RevokeOrdered-unsigned", from: c, ev: unsigned, err: planmode.ErrNotLeader},
		{name: "53b-P-RevokeOrdered-unsigned", from: planning(t), ev: unsigned, err: planmode.ErrNotLeader},
		{name: "53b-A-RevokeOrdered-unsigned", from: awaiting(t), ev: unsigned, err: planmode.ErrNotLeader},
		{name: "53c-P-Ticked", from: planning(t), ev: planmode.Ticked{Now: now.AddDate(9, 0, 0)}, want: plans, check: same},
		{name: "53c-A-Ticked", from: awaiting(t), ev: planmode.Ticked{Now: now.AddDate(9, 0, 0)}, want: waits, check: same},
		{name: "54-W-Ticked", from: c, ev: planmode.Ticked{Now: now.Add(time.Hour)}, want: works, effects: []string{"EndGrants expired r1/1 r1/2"}, check: left(0)},
		{name: "54-W-Ticked-early", from: c, ev: planmode.Ticked{Now: now.Add(time.Hour - 1)}, want: works, check: same},
		{
			name: "55-W-Completed", from: c, ev: planmode.Completed{By: "agent"}, want: works,
			effects: []string{"EndGrants completed r1/1 r1/2 and all", "Notify completed", "Emit plan.completed", "ReportStatus"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Approved != nil || len(after.Grants) != 0 {
					t.Errorf("approved is %+v with grants %v", after.Approved, after.Grants)
				}
			},
		},
		{name: "56-W-Completed-without-plan", from: working(t), ev: planmode.Completed{}, want: works, check: same},
		{name: "57-P-Completed", from: planning(t), ev: planmode.Completed{}, err: planmode.ErrWrongState},
		{name: "57-A-Completed", from: awaiting(t), ev: planmode.Completed{}, err: planmode.ErrWrongState},
	}
	return rows
}

func changed(mod func(*charter.Charter)) planmode.CharterChanged {
	c := teamCharter()
	c.Serial++
	mod(&c)
	return planmode.CharterChanged{Charter: c, Now: now}
}

func teamRows(t *testing.T) []row {
	const waits, plans, works = "awaitingLeaderApproval plan acceptEdits", "planning plan acceptEdits", "working acceptEdits"
	c, capAt := carrying(t), func(m permissions.Mode) func(*charter.Charter) {
		return func(c *charter.Charter) { c.Caps.Mode = m }
	}
	all := []string{"EndGrants charter r1/1 r1/2", "Emit charter.changed"}
	agent := charter.Member{Name: "alice", Role: charter.RoleLeader, Kind: charter.KindAgent, Key: lead}
	stricter := changed(func(c *charter.Charter) { // for nothing that was granted
		c.Quorum = []charter.Quorum{{Match: charter.Match{Intents: []string{"deploy"}}, Need: 2}}
	})
	untimed := changed(func(c *charter.Charter) { c.Caps.Grants.TTLSeconds = 7200 })
	untimed.Now = time.Time{}
	resume := planmode.Resumed{Epoch: 4, Team: team, Now: now}
	late, moved := resume, resume
	late.Now, moved.Team = now.Add(2*time.Hour), "ab12"
	unpublished := must(t, planning(t), submit("r1", planA))
	voided := changed(func(*charter.Charter) {})
	voided.Void, voided.PlanID, voided.PlanFile = true, "p9", file
	byLeader := func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
		if after.Cycle.EnteredBy != planmode.ByLeader || after.Pending != nil || after.Grants != nil {
			t.Errorf("session is %+v", after)
		}
	}
	renewed := func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
		if after.Team != "ab12" || after.Epoch != 4 || after.Approved != nil || after.Grants != nil || len(after.Orders) != 0 {
			t.Errorf("session is %+v", after)
		}
	}
	return []row{
		{name: "58-W-CharterChanged", from: c, ev: changed(func(*charter.Charter) {}), want: works, effects: []string{"Emit charter.changed"}},
		{name: "58-W-CharterChanged-cap", from: c, ev: changed(capAt(permissions.ModeDefault)), want: "working default", effects: []string{"SetMode default", "Emit charter.changed"}},
		{
			name: "58-W-CharterChanged-cap-plan", from: c, ev: changed(capAt(permissions.ModePlan)), want: plans,
			effects: append(entering("EndGrants charter r1/1 r1/2 and all", "Emit plan.entered"), "Emit charter.changed"),
		},
		{name: "58-W-CharterChanged-uses", from: c, ev: changed(func(c *charter.Charter) { c.Caps.Grants.Uses = 1 }), want: works, effects: all},
		{name: "58-W-CharterChanged-life", from: c, ev: changed(func(c *charter.Charter) { c.Caps.Grants.TTLSeconds = 600 }), want: works, effects: all},
		{name: "58-W-CharterChanged-life-unknown-time", from: c, ev: untimed, want: works, effects: all},
		{name: "58-W-CharterChanged-leader-retired", from: c, ev: changed(func(c *charter.Charter) { c.Members = nil }), want: works, effects: all},
		{
			name: "58-W-CharterChanged-person-only", from: c, want: works, effects: []string{"EndGrants charter r1/1", "Emit charter.changed"},
			ev: changed(func(c *charter.Charter) {
				c.Members, c.PersonOnly = []charter.Member{agent}, []charter.Match{{Intents: []string{"run-tests"}}}
			}),
		},
		{
			name: "58-W-CharterChanged-person-only-class", from: c, want: works, effects: []string{"EndGrants charter r1/1", "Emit charter.changed"},
			ev: changed(func(c *charter.Charter) {
				c.Members, c.PersonOnly = []charter.Member{agent}, []charter.Match{{Classes: []permissions.Class{permissions.ClassPublishes}}}
			}),
		},
		{
			name: "58-W-CharterChanged-person-only-before", from: must(t, c, stricter), want: works, effects: []string{"Emit charter.changed"},
			ev: changed(func(c *charter.Charter) { c.Serial, c.Quorum = 9, stricter.Charter.Quorum }),
		},
		{
			name: "58-W-CharterChanged-quorum", from: c, want: works, effects: []string{"EndGrants charter r1/1", "Emit charter.changed"},
			ev: changed(func(c *charter.Charter) {
				c.Quorum = []charter.Quorum{{Match: charter.Match{Intents: []string{"run-tests"}}, Need: 2}}
			}),
		},
		{
			name: "58-W-CharterChanged-assurance", from: c, want: works, effects: []string{"EndGrants charter r1/1", "Emit charter.changed"},
			ev: changed(func(c *charter.Charter) {
				c.Assurance = []charter.AssuranceRule{{Match: charter.Match{Intents: []string{"run-tests"}}, Least: charter.Confirm}}
			}),
		},
		{
			name: "58-W-CharterChanged-limit", from: c, want: works, effects: []string{"EndGrants charter r1/1", "Emit charter.changed"},
			ev: changed(func(c *charter.Charter) {
				c.Members, c.AgentLimits = []charter.Member{agent}, []charter.AgentLimit{{Name: "alice", Intents: []string{"lint"}}}
			}),
		},
		{
			name: "58-W-CharterChanged-another-of-the-name", from: c, want: works, effects: all,
			ev: changed(func(c *charter.Charter) {
				other := alice
				other.Key = "UOTHER"
				c.Members = []charter.Member{other}
			}),
		},
		{
			name: "59a-W-CharterChanged-void", from: c, ev: voided, want: plans,
			effects: append(entering("EndGrants newTeam r1/1 r1/2 and all", "Emit plan.entered"), "Notify resubmit", "Emit charter.void"),
		},
		{name: "59a-P-CharterChanged-void", from: planning(t), ev: voided, want: plans, effects: []string{"Notify resubmit", "Emit charter.void"}, check: byLeader},
		{
			name: "59a-A-CharterChanged-void", from: awaiting(t), ev: voided, want: plans, check: byLeader,
			effects: []string{"PublishWithdrawn r1 newTeam", "StopWatch r1", "SetMode plan", "Notify stillPlanning", "Emit plan.withdrawn", "Notify resubmit", "Emit charter.void"},
		},
		{name: "58-W-CharterChanged-foreign", from: c, ev: changed(func(c *charter.Charter) { c.TeamID = "ab12" }), err: planmode.ErrBadCharter},
		{name: "58-W-CharterChanged-older", from: c, ev: changed(func(c *charter.Charter) { c.Serial = 3 }), err: planmode.ErrBadCharter},
		{name: "58-W-CharterChanged-no-cap", from: c, ev: changed(capAt("turbo")), err: planmode.ErrBadCharter},
		{
			name: "59-P-CharterChanged", from: planning(t), ev: changed(capAt(permissions.ModeDefault)), want: plans,
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Charter.Caps.Mode != permissions.ModeDefault {
					t.Error("the charter is not recorded")
				}
			},
		},
		{
			name: "59-A-CharterChanged", from: awaiting(t), ev: changed(capAt(permissions.ModeDefault)), want: waits,
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				_, _, err := after.Apply(approve(after)) // names acceptEdits
				wantErr(t, err, planmode.ErrAboveCap)
			},
		},
		{
			name: "60-W-Resumed", from: c, ev: resume, want: works, effects: []string{"SetMode acceptEdits", "Notify followPlan", "ReportStatus"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Epoch != 4 || len(after.Grants) != 2 {
					t.Errorf("epoch is %d, grants are %v: a restart is not an exit", after.Epoch, after.Grants)
				}
			},
		},
		{name: "60-W-Resumed-late", from: c, ev: late, want: works, effects: []string{"EndGrants expired r1/1 r1/2", "SetMode acceptEdits", "Notify followPlan", "ReportStatus"}},
		{name: "60-W-Resumed-with-ask", from: withAsk(t, working(t)), ev: resume, want: works, effects: []string{"SetMode acceptEdits", "AskLedger a1", "WatchDecision a1", "ReportStatus"}},
		{name: "61-P-Resumed", from: planning(t), ev: resume, want: plans, effects: []string{"SetMode plan", "Notify reentry"}},
		{
			name: "62-A-Resumed", from: awaiting(t), ev: resume, want: waits, effects: []string{"SetMode plan", "AskLedger r1", "WatchDecision r1", "Notify awaiting"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Pending.Epoch != 3 {
					t.Errorf("the request is of epoch %d now: what was decided meanwhile would be refused", after.Pending.Epoch)
				}
			},
		},
		{name: "62-A-Resumed-unpublished", from: unpublished, ev: resume, want: waits, effects: []string{"SetMode plan", "PublishRequest r1", "AskLedger r1", "WatchDecision r1", "Notify awaiting"}},
		{name: "62a-W-Resumed-new-team", from: c, ev: moved, want: plans, effects: []string{"EndGrants newTeam r1/1 r1/2 and all", "SetMode plan", "Notify resubmit"}, check: renewed},
		{
			name: "62a-W-Resumed-new-team-requires-a-plan", from: must(t, planningFreely(t, planmode.ByAgent), planmode.LeaveAsked{}), ev: moved, want: plans,
			effects: []string{"EndGrants newTeam and all", "SetMode plan", "Notify resubmit"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				c := freely()
				c.TeamID = "ab12"
				after = must(t, after, planmode.CharterChanged{Charter: c, Now: now}, planmode.LeaveAsked{RequestID: "r1"})
				if after.State != planmode.AwaitingLeaderApproval {
					t.Errorf("the agent has left by itself: %s", after.State)
				}
			},
		},
		{name: "62a-P-Resumed-new-team", from: must(t, planning(t), order(permissions.ModeAuto, 3)), ev: moved, want: "planning plan auto", effects: []string{"EndGrants newTeam and all", "SetMode plan", "Notify resubmit"}, check: renewed},
		{
			name: "62a-A-Resumed-new-team", from: awaiting(t), ev: moved, want: plans, effects: []string{"EndGrants newTeam and all", "SetMode plan", "Notify resubmit"},
			check: func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
				renewed(t, before, after, effects)
				wantSettled(t, after, "r1", planmode.SettledWithdrawn)
				if n := effects[2].(planmode.Notify); n.Data.PlanFile != file {
					t.Errorf("told is %+v, want the plan file", n.Data)
				}
			},
		},
	}
}

func endRows(t *testing.T) []row {
	shut := planmode.ShutdownOrdered{Authority: signed, OrderID: "o1", Signer: lead, Counter: 1, Reason: "done for today"}
	unsigned := shut
	unsigned.Authority = charter.Authority{}
	gone := func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
		if after.Pending != nil || after.Approved != nil || after.Grants != nil || after.Asks != nil {
			t.Errorf("session is %+v, want nothing left in force", after)
		}
	}
	stopped := func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
		gone(t, before, after, effects)
		told(t, effects, "stopped", "by alice", "reason done for today")
	}
	rows := []row{
		{name: "6-L-Exited", from: left(t), ev: planmode.Exited{}, want: "left", check: same},
		{name: "6-L-Fenced", from: left(t), ev: planmode.Fenced{}, want: "left", check: same},
		{name: "63-W-Fenced", from: carrying(t), ev: planmode.Fenced{}, want: "left", effects: []string{"EndGrants fenced r1/1 r1/2 and all", "StopAgent fenced"}, check: gone},
		{name: "63-P-Fenced", from: planning(t), ev: planmode.Fenced{}, want: "left", effects: []string{"EndGrants fenced and all", "StopAgent fenced"}, check: gone},
		{name: "63-A-Fenced", from: awaiting(t), ev: planmode.Fenced{}, want: "left", effects: []string{"EndGrants fenced and all", "StopWatch r1", "StopAgent fenced"}, check: gone},
		{
			name: "63-W-Fenced-with-ask", from: withAsk(t, working(t)), ev: planmode.Fenced{}, want: "left", check: gone,
			effects: []string{"EndGrants fenced and all", "StopWatch a1", "ReleaseCall a1 false", "StopAgent fenced"},
		},
		{name: "64-A-Exited", from: awaiting(t), ev: planmode.Exited{}, want: "left", effects: []string{"PublishWithdrawn r1 exit", "StopWatch r1", "StopAgent exit", "Emit teammate.left"}, check: gone},
		{
			name: "64-A-ShutdownOrdered", from: awaiting(t), ev: shut, want: "left", check: stopped,
			effects: []string{"Emit stopped", "PublishWithdrawn r1 exit", "StopWatch r1", "StopAgent shutdown", "Emit teammate.left", "SendReceipt o1 applied"},
		},
		{name: "64-A-ShutdownOrdered-unsigned", from: awaiting(t), ev: unsigned, err: planmode.ErrNotLeader},
		{name: "65-W-Exited", from: carrying(t), ev: planmode.Exited{}, want: "left", effects: []string{"EndGrants exit r1/1 r1/2 and all", "StopAgent exit", "Emit teammate.left"}, check: gone},
		{name: "65-P-Exited", from: planning(t), ev: planmode.Exited{}, want: "left", effects: []string{"EndGrants exit and all", "StopAgent exit", "Emit teammate.left"}, check: gone},
		{
			name: "65-W-Exited-with-ask", from: withAsk(t, working(t)), ev: planmode.Exited{}, want: "left", check: gone,
			effects: []string{"EndGrants exit and all", "PublishWithdrawn a1 exit", "StopWatch a1", "ReleaseCall a1 false", "StopAgent exit", "Emit teammate.left"},
		},
		{name: "65-W-ShutdownOrdered", from: working(t), ev: shut, want: "left", effects: []string{"Emit stopped", "EndGrants shutdown and all", "StopAgent shutdown", "Emit teammate.left", "SendReceipt o1 applied"}, check: stopped},
		{name: "65-P-ShutdownOrdered-unsigned", from: planning(t), ev: unsigned, err: planmode.ErrNotLeader},
		{name: "65-W-ShutdownOrdered-unsigned", from: working(t), ev: unsigned, err: planmode.ErrNotLeader},
	}
	for _, name := range eventNames(t) {
		ev := zeroEvent(t, name)
		switch ev.(type) {
		case planmode.Exited, planmode.Fenced:
			continue
		}
		rows = append(rows, row{name: "6-L-" + name, from: left(t), ev: ev, err: planmode.ErrWrongState})
	}
	return rows
}
