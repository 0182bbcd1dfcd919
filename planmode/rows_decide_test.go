package planmode_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func decideRows(t *testing.T) []row {
	a, leave := awaiting(t), awaitingLeave(t)
	superseded := must(t, a, submit("r2", planB))
	withdrawn := must(t, a, planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent})
	again := approve(a)
	edited := approve(a)
	edited.Decision.EditedPlan = planB
	edited = seal(a, edited)
	none := decide(a, planmode.OutcomeApproved)
	chosen := awaiting(t, options(ways...))
	choose := approve(chosen, func(d *planmode.Decided) { d.Decision.Option = "Decimal" })
	proposed := awaiting(t, requested(permissions.ModeAuto))
	wanted := approve(proposed, func(d *planmode.Decided) { d.Decision.Mode = permissions.ModeAuto })
	approved := []string{
		"WritePlan", "SetMode acceptEdits", "AddGrants r1/1 r1/2", "Notify approved", "StopWatch r1",
		"Emit plan.approved", "Emit mode.restored", "ReportStatus", "SendReceipt r1 applied",
	}
	rejected := []string{"SetMode plan", "Notify rejected", "StopWatch r1", "Emit plan.rejected", "SendReceipt r1 applied"}
	lowered := must(t, a, order(permissions.ModeDefault, 1))
	return []row{
		{name: "15-W-Decided-again", from: must(t, a, again), ev: again, want: "working acceptEdits", effects: []string{"SendReceipt r1 applied"}, check: same},
		{name: "15-A-Decided-superseded", from: superseded, ev: again, want: "awaitingLeaderApproval plan acceptEdits", effects: []string{"SendReceipt r1 refused (superseded)"}, check: same},
		{name: "15-P-Decided-withdrawn", from: withdrawn, ev: again, want: "planning plan acceptEdits", effects: []string{"SendReceipt r1 refused (withdrawn)"}, check: same},
		{name: "16-W-Decided-unknown", from: working(t), ev: again, err: planmode.ErrStaleDecision},
		{name: "16-P-Decided-unknown", from: planning(t), ev: again, err: planmode.ErrStaleDecision},
		{name: "16-A-Decided-other", from: a, ev: approve(a, func(d *planmode.Decided) { d.Decision.RequestID = "r0" }), err: planmode.ErrStaleDecision},
		{
			name: "25-A-Decided-approved", from: a, ev: again, want: "working acceptEdits", effects: approved,
			check: func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
				d := again.Decision
				if after.Approved.Digest != d.ApprovedDigest || d.ApprovedDigest == "" || after.Approved.PlanID != "p1" || after.Approved.Revision != 1 {
					t.Errorf("approved is %+v", after.Approved)
				}
				want := permissions.Grant{
					GrantTerms: terms(tests), ID: "r1/1", Teammate: mate, PlanID: "p1", RequestID: "r1",
					Digest: d.ApprovedDigest, Root: tree, GrantedBy: "alice",
				}
				if !reflect.DeepEqual(after.Grants[0], want) {
					t.Errorf("grant is\n%+v, want\n%+v", after.Grants[0], want)
				}
				if w := effects[0].(planmode.WritePlan); w.Digest != ref(planA).Digest || w.Edited != nil {
					t.Errorf("written is %+v, want the submitted bytes", w)
				}
				r := effects[len(effects)-1].(planmode.SendReceipt).Receipt
				if r.Mode != "acceptEdits" || r.Digest != d.ApprovedDigest || strings.Join(r.Grants, ",") != "run tests,lint the code" {
					t.Errorf("receipt is %+v", r)
				}
				wantSettled(t, after, "r1", planmode.SettledApplied)
			},
		},
		{
			name: "25-A-Decided-edited", from: a, ev: edited, want: "working acceptEdits",
			effects: []string{
				"WritePlan", "SetMode acceptEdits", "AddGrants r1/1 r1/2", "Notify approved", "StopWatch r1",
				"Emit plan.approved", "Emit plan.edited", "Emit mode.restored", "ReportStatus", "SendReceipt r1 applied",
			},
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				w, n := effects[0].(planmode.WritePlan), effects[3].(planmode.Notify).Data
				if w.Digest != ref(planB).Digest || !bytes.Equal(w.Edited, planB) || !bytes.Equal(n.Plan, planB) || !n.Edited {
					t.Errorf("written is %+v and told %+v, want the edited bytes", w, n)
				}
				if after.Approved.Title != "Fix the rounding in cents" {
					t.Errorf("title is %q, want that of the edited plan", after.Approved.Title)
				}
				if after.Grants[0].Digest != edited.Decision.ApprovedDigest {
					t.Error("the grants are not bound to the edited plan")
				}
			},
		},
		{
			name: "25-A-Decided-no-grants", from: a, ev: seal(a, none), want: "working acceptEdits",
			effects: []string{
				"WritePlan", "SetMode acceptEdits", "Notify approved", "StopWatch r1",
				"Emit plan.approved", "Emit mode.restored", "ReportStatus", "SendReceipt r1 applied",
			},
		},
		{
			name: "25-A-Decided-option", from: chosen, ev: choose, want: "working acceptEdits", effects: approved,
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				if after.Approved.Option != "Decimal" || effects[3].(planmode.Notify).Data.Option != "Decimal" {
					t.Errorf("approved is %+v, want the chosen option", after.Approved)
				}
			},
		},
		{name: "25-A-Decided-requested-mode-not-named", from: proposed, ev: approve(proposed), want: "working acceptEdits", effects: approved},
		{
			name: "25-A-Decided-requested-mode-named", from: proposed, ev: wanted, want: "working auto",
			effects: append([]string{"WritePlan", "SetMode auto"}, approved[2:]...),
		},
		{
			name: "26-A-Decided-approved", from: leave, ev: approve(leave), want: "working acceptEdits",
			effects: []string{"SetMode acceptEdits", "Notify left", "StopWatch r1", "Emit plan.left", "Emit mode.restored", "ReportStatus", "SendReceipt r1 applied"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Approved != nil || after.Grants != nil {
					t.Errorf("approved is %+v with grants %v, want none", after.Approved, after.Grants)
				}
			},
		},
		{
			name: "27-A-Decided-rejected", from: a, want: "planning plan acceptEdits", effects: rejected,
			ev: decide(a, planmode.OutcomeRejected, func(d *planmode.Decided) { d.Decision.Feedback = "add a test" }),
			check: func(t *testing.T, _, after planmode.Session, effects []planmode.Effect) {
				if n := effects[1].(planmode.Notify); n.Data.Feedback != "add a test" || n.Data.Cause != "" || n.Data.By.Name != "alice" {
					t.Errorf("told is %+v", n)
				}
				wantSettled(t, after, "r1", planmode.SettledApplied)
			},
		},
		{
			name: "27-A-Decided-rejected-without-feedback", from: a, want: "planning plan acceptEdits", effects: rejected,
			ev: decide(a, planmode.OutcomeRejected, as(charter.Authority{Leader: true, NeedsPerson: true, WeakKey: true})),
			check: func(t *testing.T, _, _ planmode.Session, effects []planmode.Effect) {
				if n := effects[1].(planmode.Notify); !strings.Contains(n.Data.Cause, "ask your leader what to change") {
					t.Errorf("told is %+v", n)
				}
			},
		},
		{
			name: "27-A-Decided-expired", from: a, ev: decide(a, planmode.OutcomeExpired), want: "planning plan acceptEdits",
			effects: []string{"SetMode plan", "Notify expired", "StopWatch r1", "Emit plan.expired", "SendReceipt r1 applied"},
		},
		{
			name: "28-A-Decided-rejectedAndExit", from: a, ev: decide(a, planmode.OutcomeRejectedAndExit), want: "working acceptEdits",
			effects: []string{"SetMode acceptEdits", "Notify left", "StopWatch r1", "Emit plan.left", "SendReceipt r1 applied"},
		},
		{
			name: "28-A-Decided-rejectedAndExit-narrowest", from: lowered, ev: decide(lowered, planmode.OutcomeRejectedAndExit), want: "working default",
			effects: []string{"SetMode default", "Notify left", "StopWatch r1", "Emit plan.left", "SendReceipt r1 applied"},
		},
	}
}

func as(a charter.Authority) func(*planmode.Decided) {
	return func(d *planmode.Decided) { d.Authority = a }
}

func body(mod func(*planmode.Decision)) func(*planmode.Decided) {
	return func(d *planmode.Decided) { mod(&d.Decision) }
}

func grants(g ...permissions.GrantTerms) func(*planmode.Decided) {
	return func(d *planmode.Decided) { d.Decision.Grants = g }
}

func term(mod func(*permissions.GrantTerms)) permissions.GrantTerms {
	g := terms(tests)
	mod(&g)
	return g
}

// A refusal is a decision that must not be applied, and the rows it is of.
type refusal struct {
	name    string
	outcome planmode.Outcome
	mod     func(*planmode.Decided)
	err     error
}

const (
	yes  = planmode.OutcomeApproved
	no   = planmode.OutcomeRejected
	exit = planmode.OutcomeRejectedAndExit
)

var person = charter.Authority{Signers: []charter.Member{alice}, Leader: true, NeedsPerson: true, QuorumMet: true, Reason: "publishes"}

// weak is the authority of a leader whose key is not kept well enough for what is asked.
var weak = charter.Authority{Signers: []charter.Member{alice}, Leader: true, WeakKey: true, QuorumMet: true, Reason: "publishes"}

var refusals = []refusal{
	{"17-A-Decided-unsigned", yes, as(charter.Authority{QuorumMet: true}), planmode.ErrNotLeader},
	{"17-A-Decided-rejected-unsigned", no, as(charter.Authority{}), planmode.ErrNotLeader},
	{"17-A-Decided-team", yes, func(d *planmode.Decided) { d.Team = "ab12" }, planmode.ErrNotLeader},
	{"17-A-Decided-body-team", no, body(func(d *planmode.Decision) { d.TeamID = "ab12" }), planmode.ErrNotLeader},
	{"17-A-Decided-teammate", yes, func(d *planmode.Decided) { d.To = "web" }, planmode.ErrNotLeader},
	{"18-A-Decided-needs-person", yes, as(person), planmode.ErrNeedsPerson},
	{"18-A-Decided-exit-needs-person", exit, as(person), planmode.ErrNeedsPerson},
	{"18-A-Decided-weak-key", yes, as(weak), planmode.ErrWeakKey},
	{"18-A-Decided-exit-weak-key", exit, as(weak), planmode.ErrWeakKey},
	{"18-A-Decided-quorum", yes, as(charter.Authority{Leader: true}), planmode.ErrQuorum},
	{"18-A-Decided-exit-quorum", exit, as(charter.Authority{Leader: true}), planmode.ErrQuorum},
	{"18-A-Decided-approved-flag-needs-person", no, func(d *planmode.Decided) { d.Decision.Approved, d.Authority = true, person }, planmode.ErrNeedsPerson},
	{"19-A-Decided-digest", yes, body(func(d *planmode.Decision) { d.PlanDigest = "00" }), planmode.ErrDigestMismatch},
	{"19-A-Decided-rejected-digest", no, body(func(d *planmode.Decision) { d.PlanDigest = "" }), planmode.ErrDigestMismatch},
	{"19-A-Decided-revision", no, body(func(d *planmode.Decision) { d.Revision = 7 }), planmode.ErrDigestMismatch},
	{"19-A-Decided-epoch", yes, body(func(d *planmode.Decision) { d.Epoch = 2 }), planmode.ErrDigestMismatch},
	{"20-A-Decided-outcome", "Approved", nil, planmode.ErrUnknownOutcome},
	{"20-A-Decided-no-outcome", "", nil, planmode.ErrUnknownOutcome},
	{"20-A-Decided-version", yes, func(d *planmode.Decided) { d.V = 2 }, planmode.ErrUnknownOutcome},
	{"20-A-Decided-approved-says-no", yes, body(func(d *planmode.Decision) { d.Approved = false }), planmode.ErrUnknownOutcome},
	{"20-A-Decided-rejected-says-yes", no, body(func(d *planmode.Decision) { d.Approved = true }), planmode.ErrUnknownOutcome},
	{"20-A-Decided-exit-says-yes", exit, body(func(d *planmode.Decision) { d.Approved = true }), planmode.ErrUnknownOutcome},
	{"21-A-Decided-no-mode", yes, body(func(d *planmode.Decision) { d.Mode = "" }), planmode.ErrUnknownMode},
	{"21-A-Decided-unknown-mode", yes, body(func(d *planmode.Decision) { d.Mode = "yolo" }), planmode.ErrUnknownMode},
	{"21-A-Decided-mode-plan", yes, body(func(d *planmode.Decision) { d.Mode = permissions.ModePlan }), planmode.ErrTargetPlan},
	{"21-A-Decided-above-cap", yes, body(func(d *planmode.Decision) { d.Mode = permissions.ModeBypass }), planmode.ErrAboveCap},
	{"21-A-Decided-exit-no-mode", exit, body(func(d *planmode.Decision) { d.Mode = "" }), planmode.ErrUnknownMode},
	{"21-A-Decided-exit-mode-plan", exit, body(func(d *planmode.Decision) { d.Mode = permissions.ModePlan }), planmode.ErrTargetPlan},
	{"21-A-Decided-exit-above-cap", exit, body(func(d *planmode.Decision) { d.Mode = permissions.ModeBypass }), planmode.ErrAboveCap},
	{"22-A-Decided-option-of-none", yes, body(func(d *planmode.Decision) { d.Option = "Cents" }), planmode.ErrUnknownOption},
	{"23-A-Decided-grant-not-asked", yes, grants(term(func(g *permissions.GrantTerms) { g.Prompt = "deploy" })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-other-intent", yes, grants(term(func(g *permissions.GrantTerms) { g.Intent = "lint" })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-prompt-not-recognised", yes, grants(terms(murky)), planmode.ErrGrantNotAsked},
	{"23-A-Decided-prompt-given-an-intent", yes, grants(term(func(g *permissions.GrantTerms) { g.Prompt = murky.Prompt })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-granted-twice", yes, grants(terms(tests), terms(tests)), planmode.ErrGrantNotAsked},
	{"23-A-Decided-expired-grant", yes, grants(term(func(g *permissions.GrantTerms) { g.ExpiresAt = now })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-endless-grant", yes, grants(term(func(g *permissions.GrantTerms) { g.ExpiresAt = time.Time{} })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-long-grant", yes, grants(term(func(g *permissions.GrantTerms) { g.ExpiresAt = now.Add(24*time.Hour + 2*time.Minute) })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-grant-from-the-future", yes, func(d *planmode.Decided) {
		d.Decision.DecidedAt = now.Add(48 * time.Hour)
		d.Decision.Grants[0].ExpiresAt = now.Add(50 * time.Hour)
	}, planmode.ErrGrantNotAsked},
	{"23-A-Decided-grant-longer-since-decided", yes, func(d *planmode.Decided) {
		d.Decision.DecidedAt = now.Add(-20 * time.Hour)
		d.Decision.Grants[0].ExpiresAt = now.Add(5 * time.Hour)
	}, planmode.ErrGrantNotAsked},
	{"23-A-Decided-any-number-of-uses", yes, grants(term(func(g *permissions.GrantTerms) { g.MaxUses = 0 })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-more-uses", yes, grants(term(func(g *permissions.GrantTerms) { g.MaxUses = 11 })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-negative-uses", yes, grants(term(func(g *permissions.GrantTerms) { g.MaxUses = -1 })), planmode.ErrGrantNotAsked},
	{"23-A-Decided-rejected-with-grants", no, grants(terms(tests)), planmode.ErrGrantNotAsked},
	{"23-A-Decided-exit-with-grants", exit, grants(terms(tests)), planmode.ErrGrantNotAsked},
	{"23-A-Decided-expired-with-grants", planmode.OutcomeExpired, grants(terms(tests)), planmode.ErrGrantNotAsked},
	{"24-A-Decided-approvedDigest-missing", yes, body(func(d *planmode.Decision) { d.ApprovedDigest = "" }), planmode.ErrDigestMismatch},
	{"24-A-Decided-approvedDigest-of-all", yes, body(func(d *planmode.Decision) { d.ApprovedDigest = d.PlanDigest }), planmode.ErrDigestMismatch},
	{"24-A-Decided-fewer-grants-than-digest", yes, body(func(d *planmode.Decision) { d.Grants = d.Grants[:1] }), planmode.ErrDigestMismatch},
	{"24-A-Decided-edited-unsaid", yes, body(func(d *planmode.Decision) { d.EditedPlan = planB }), planmode.ErrDigestMismatch},
	{"24-A-Decided-said-edited", yes, body(func(d *planmode.Decision) { d.PlanWasEdited = true }), planmode.ErrDigestMismatch},
	{"24-A-Decided-edited-digest", yes, body(func(d *planmode.Decision) { d.EditedPlan, d.PlanWasEdited = planB, true }), planmode.ErrDigestMismatch},
	{"24-A-Decided-rejected-edited", no, body(func(d *planmode.Decision) { d.EditedPlan, d.PlanWasEdited = planB, true }), planmode.ErrDigestMismatch},
	{"24-A-Decided-rejected-approvedDigest", no, body(func(d *planmode.Decision) { d.ApprovedDigest = d.PlanDigest }), planmode.ErrDigestMismatch},
	{"24-A-Decided-stored-plan-changed", yes, func(d *planmode.Decided) { d.Content = planB }, planmode.ErrDigestMismatch},
	{"24-A-Decided-stored-plan-lost", yes, func(d *planmode.Decided) { d.Content = nil }, planmode.ErrDigestMismatch},
}

// badTrees leave the working tree, or may do so on some system.
var badTrees = []string{"", "..", "../x", "a/../..", "a/..", "./a", "a/", "/", "/etc", "~\x00", `a\..\..`, "C:", "c:/x", "a//b"}

func refusedRows(t *testing.T) []row {
	a, leave := awaiting(t), awaitingLeave(t)
	chosen := awaiting(t, options(ways...))
	whole := awaiting(t, prompts(tests, lint)) // all of it can be granted: no other digest is named
	var rows []row
	for _, r := range refusals {
		ev := decide(a, r.outcome)
		if r.outcome == yes {
			ev = approve(a)
		}
		if r.mod != nil {
			r.mod(&ev)
		}
		rows = append(rows, row{name: r.name, from: a, ev: ev, err: r.err})
	}
	edited := approve(a)
	for name, bad := range badPlans {
		if bad.content == nil {
			bad.content = []byte{}
		}
		edited.Decision.EditedPlan = bad.content
		rows = append(rows, row{name: "24-A-Decided-edited-" + name, from: a, ev: seal(a, edited), err: planmode.ErrDigestMismatch})
	}
	for _, tree := range badTrees {
		g := term(func(g *permissions.GrantTerms) { g.Tree = tree })
		rows = append(rows, row{name: "23-A-Decided-tree-" + tree, from: a, ev: approve(a, grants(g)), err: planmode.ErrGrantNotAsked})
	}
	return append(rows,
		row{name: "22-A-Decided-no-option", from: chosen, ev: approve(chosen), err: planmode.ErrUnknownOption},
		row{name: "22-A-Decided-unknown-option", from: chosen, ev: approve(chosen, body(func(d *planmode.Decision) { d.Option = "cents" })), err: planmode.ErrUnknownOption},
		row{name: "22-A-Decided-leave-with-option", from: leave, ev: approve(leave, body(func(d *planmode.Decision) { d.Option = "Cents" })), err: planmode.ErrUnknownOption},
		row{name: "23-A-Decided-leave-with-grants", from: leave, ev: approve(leave, grants(terms(tests))), err: planmode.ErrGrantNotAsked},
		row{name: "24-A-Decided-stored-plan-changed-all-granted", from: whole, ev: approve(whole, func(d *planmode.Decided) { d.Content = planB }), err: planmode.ErrDigestMismatch},
		row{name: "24-A-Decided-stored-plan-lost-all-granted", from: whole, ev: approve(whole, func(d *planmode.Decided) { d.Content = nil }), err: planmode.ErrDigestMismatch},
		row{name: "24-A-Decided-leave-edited", from: leave, ev: approve(leave, body(func(d *planmode.Decision) { d.EditedPlan, d.PlanWasEdited = planB, true })), err: planmode.ErrDigestMismatch},
	)
}

// What is refused on a request's own slot voids it; what is about another request does not.
func TestVoids(t *testing.T) {
	for _, r := range refusedRows(t) {
		if _, _, err := r.from.Apply(r.ev); !planmode.Voids(err) {
			t.Errorf("%s: Voids(%v) = false, want true", r.name, err)
		}
	}
	if err := fmt.Errorf("%w: it is empty", planmode.ErrOldLedger); !planmode.Voids(err) { // which the runner finds
		t.Errorf("Voids(%v) = false, want true", err)
	}
	a := awaiting(t)
	for _, ev := range []planmode.Event{
		approve(a, func(d *planmode.Decided) { d.Decision.RequestID = "r0" }), approve(a), submit("r2", nil), planmode.Completed{},
	} {
		if _, _, err := a.Apply(ev); planmode.Voids(err) {
			t.Errorf("Voids(%v) = true, want false", err)
		}
	}
}

// The leader's side asks the same before it publishes, and gets the same answer.
func TestCheckDecisionAgreesWithApply(t *testing.T) {
	for _, r := range append(refusedRows(t), decideRows(t)...) {
		ev := r.ev.(planmode.Decided)
		p := r.from.Pending
		if p == nil || ev.V != mailbox.Version || ev.To != mate || ev.Team != team || ev.Decision.RequestID != p.RequestID {
			continue // what the envelope and the subject say is not the decision's
		}
		request := planmode.NewRequest(planmode.PublishRequest{Pending: *p, Cycle: r.from.Cycle, Saved: r.from.Saved}, ev.Content)
		if request.ComputeDigest(team, mate) != p.Digest {
			continue // the leader was shown what was submitted, whatever became of the store
		}
		in := planmode.NewCheck(request, mate, p.Epoch, r.from.Charter)
		in.Decision, in.Authority, in.Now = ev.Decision, ev.Authority, ev.Now
		if err := planmode.CheckDecision(in); (err == nil) != (r.err == nil) {
			t.Errorf("%s: CheckDecision = %v, want %v", r.name, err, r.err)
		} else {
			wantErr(t, err, r.err)
		}
		in.Authority = charter.Authority{}
		wantErr(t, planmode.CheckDecision(in), planmode.ErrNotLeader)
	}
}

// A charter that names no known cap lets nobody restore anything, on the leader's side too.
func TestUnknownCapAllowsNoMode(t *testing.T) {
	a := awaiting(t)
	for _, m := range []permissions.Mode{"", "turbo", permissions.ModePlan} {
		in := checkInput(a, approve(a))
		in.Cap = m
		wantErr(t, planmode.CheckTerms(in), planmode.ErrAboveCap)
	}
}

// Clocks differ: a minute is nobody's fault.
func TestGrantsMayEndAMinuteLate(t *testing.T) {
	a := awaiting(t)
	for _, late := range []time.Duration{0, time.Minute} {
		ev := approve(a)
		ev.Decision.Grants[0].ExpiresAt = now.Add(24*time.Hour + late)
		must(t, a, ev)
	}
}

// A prompt that was asked for twice may be given twice, or once; a narrower grant needs no other digest.
func TestApprovedDigestIsNeededForFewerPromptsOnly(t *testing.T) {
	a := awaiting(t, prompts(tests, lint, tests))
	ev := approve(a)
	ev.Decision.Grants[0].Tree, ev.Decision.Grants[0].MaxUses = "backend", 1
	if s := must(t, a, ev); ev.Decision.ApprovedDigest != "" || s.Approved.Digest != a.Pending.Digest || len(s.Grants) != 3 || s.Grants[2].ID != "r1/3" {
		t.Errorf("approvedDigest %q and grants %+v, want none and three", ev.Decision.ApprovedDigest, s.Grants)
	}
	ev.Decision.ApprovedDigest = a.Pending.Digest // present, and right
	must(t, a, ev)
	ev.Decision.Grants = ev.Decision.Grants[:2]
	if _, _, err := a.Apply(ev); err == nil {
		t.Error("two of three prompts are granted under the digest of all")
	}
	ev = seal(a, ev)
	s := must(t, a, ev)
	ev.Decision.Grants = []permissions.GrantTerms{ev.Decision.Grants[1], ev.Decision.Grants[0]} // the order asked counts
	must(t, a, ev)
	if s.Approved.Digest == a.Pending.Digest || s.Grants[1].Digest != s.Approved.Digest {
		t.Errorf("approved is %+v with grants %+v, want bound to the new digest", s.Approved, s.Grants)
	}
}
