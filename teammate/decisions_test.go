//go:build linux

package teammate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// forgery is something that lies in a request's slot and is no decision about it.
type forgery func(r *rig, d planmode.Decision) (payload []byte, sigs []string)

// signedAs is an altered decision, signed with a key.
func signedAs(key func(*rig) nkeys.KeyPair, from string, change func(*planmode.Decision)) forgery {
	return func(r *rig, d planmode.Decision) ([]byte, []string) {
		id := d.RequestID
		change(&d)
		payload, sig := r.sign(key(r), from, mailbox.DecisionSubject(r.team.Name, "api", id), mailbox.KindPlanApprovalResponse, d.Epoch, d)
		return payload, []string{sig}
	}
}

func annas(change func(*planmode.Decision)) forgery {
	return signedAs(func(r *rig) nkeys.KeyPair { return r.team.Key("anna") }, "anna", change)
}

func nothing(*planmode.Decision) {}

var forgeries = map[string]struct {
	forge forgery
	why   string
}{
	"junk":     {func(*rig, planmode.Decision) ([]byte, []string) { return []byte("junk"), nil }, "not signed"},
	"empty":    {func(*rig, planmode.Decision) ([]byte, []string) { return nil, nil }, "not signed"},
	"unsigned": {func(r *rig, d planmode.Decision) ([]byte, []string) { p, _ := annas(nothing)(r, d); return p, nil }, "not signed"},
	"signature over other bytes": {func(r *rig, d planmode.Decision) ([]byte, []string) {
		_, sigs := annas(func(d *planmode.Decision) { d.Feedback = "x" })(r, d)
		payload, _ := annas(nothing)(r, d)
		return payload, sigs
	}, "signature of anna"},
	"signed for another slot": {func(r *rig, d planmode.Decision) ([]byte, []string) {
		payload, sig := r.sign(r.team.Key("anna"), "anna", mailbox.DecisionSubject(r.team.Name, "api", "0190"), mailbox.KindPlanApprovalResponse, d.Epoch, d)
		return payload, []string{sig}
	}, "signature of anna"},
	"a teammate's key": {signedAs(func(r *rig) nkeys.KeyPair { return r.team.AddTeammate("mallory") }, "mallory", func(d *planmode.Decision) {
		d.DecidedBy.Name, d.DecidedBy.Kind = "mallory", "agent"
	}), "mallory is teammate, not a leader"},
	"its own key": {signedAs(func(r *rig) nkeys.KeyPair { return r.team.Key("api") }, "api", nothing), "api is teammate, not a leader"},
	"nobody's key": {signedAs(func(r *rig) nkeys.KeyPair {
		kp, _ := nkeys.CreateUser()
		return kp
	}, "anna", nothing), "no member's"},
	"a retired leader": {signedAs(func(r *rig) nkeys.KeyPair {
		kp := r.team.AddLeader("old", charter.KindPerson)
		r.team.Retire("old")
		return kp
	}, "old", func(d *planmode.Decision) { d.DecidedBy.Name = "old" }), "old is retired"},
	"an agent where a person must": {signedAs(func(r *rig) nkeys.KeyPair {
		kp := r.team.AddLeader("bot", charter.KindAgent)
		r.team.Amend(func(c *charter.Charter) { c.PersonOnly = append(c.PersonOnly, charter.Match{Paths: []string{"a.go"}}) })
		return kp
	}, "bot", func(d *planmode.Decision) { d.DecidedBy.Name, d.DecidedBy.Kind = "bot", "agent" }), "only a person"},
	"an agent's edit that names what is a person's": {signedAs(func(r *rig) nkeys.KeyPair {
		kp := r.team.AddLeader("bot", charter.KindAgent)
		r.team.Amend(func(c *charter.Charter) {
			c.PersonOnly = append(c.PersonOnly, charter.Match{Paths: []string{"deploy/**"}})
		})
		return kp
	}, "bot", func(d *planmode.Decision) {
		d.DecidedBy.Name, d.DecidedBy.Kind = "bot", "agent"
		d.EditedPlan, d.PlanWasEdited = []byte("# Fix it\n\n- [ ] change `deploy/prod.yaml`\n"), true
	}), "only a person"},
	"too few of a quorum": {annas(nothing), "2 of"},
	"another request": {annas(func(d *planmode.Decision) {
		d.RequestID = "0190aaaa-0000-7000-8000-000000000000-00000000000000000000000000"
	}), "slot of"},
	"another team":       {annas(func(d *planmode.Decision) { d.TeamID = strings.Repeat("0", 64) }), "another team"},
	"another digest":     {annas(func(d *planmode.Decision) { d.PlanDigest = strings.Repeat("0", 64) }), "other bytes"},
	"another revision":   {annas(func(d *planmode.Decision) { d.Revision++ }), "other bytes"},
	"another epoch":      {annas(func(d *planmode.Decision) { d.Epoch++ }), "other bytes"},
	"no mode":            {annas(func(d *planmode.Decision) { d.Mode = "" }), "unknown permission mode"},
	"unknown mode":       {annas(func(d *planmode.Decision) { d.Mode = "godMode" }), "unknown permission mode"},
	"mode plan":          {annas(func(d *planmode.Decision) { d.Mode = permissions.ModePlan }), "plan mode cannot be"},
	"mode above the cap": {annas(func(d *planmode.Decision) { d.Mode = permissions.ModeBypass }), "above the team's cap"},
	"grant not asked": {annas(func(d *planmode.Decision) {
		d.Grants[0].Prompt, d.Grants[0].Intent = "push", "push"
	}), "not asked for"},
	"grant too long":     {annas(func(d *planmode.Decision) { d.Grants[0].ExpiresAt = time.Now().Add(1000 * time.Hour) }), "not asked for"},
	"grant out of tree":  {annas(func(d *planmode.Decision) { d.Grants[0].Tree = "../.." }), "not asked for"},
	"unknown outcome":    {annas(func(d *planmode.Decision) { d.Outcome, d.Approved = "yes", false }), "unknown outcome"},
	"rejected, approved": {annas(func(d *planmode.Decision) { d.Outcome = planmode.OutcomeRejected }), "unknown outcome"},
	"edited to nothing": {annas(func(d *planmode.Decision) {
		d.EditedPlan, d.PlanWasEdited = []byte(" \n"), true
	}), "other bytes"},
	"unknown field": {func(r *rig, d planmode.Decision) ([]byte, []string) {
		raw, _ := json.Marshal(d)
		var fields map[string]any
		_ = json.Unmarshal(raw, &fields)
		fields["sudo"] = true
		payload, sig := r.sign(r.team.Key("anna"), "anna", mailbox.DecisionSubject(r.team.Name, "api", d.RequestID), mailbox.KindPlanApprovalResponse, d.Epoch, fields)
		return payload, []string{sig}
	}, "sudo"},
	"a permission response": {func(r *rig, d planmode.Decision) ([]byte, []string) {
		a := planmode.PermissionAnswer{OrderHead: d.OrderHead, RequestID: d.RequestID}
		a.Behavior, a.Scope = permissions.BehaviorAllow, permissions.ScopeOnce
		payload, sig := r.sign(r.team.Key("anna"), "anna", mailbox.DecisionSubject(r.team.Name, "api", d.RequestID), mailbox.KindPermissionResponse, d.Epoch, a)
		return payload, []string{sig}
	}, "order cannot be used"},
}

// Whatever lies in the slot and is no decision about the request: the teammate still plans, says why, asks the same again
// under a new id, and takes the true decision then (rows 17-24 and 29, THREATS 34).
func TestForgedDecisionIsRefusedAndAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range forgeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeAuto, PlanRequired: true}))
			m := r.start()
			first := m.plans()
			row := r.open()
			if strings.Contains(name, "quorum") {
				r.team.AddLeader("bob", charter.KindPerson)
				r.team.Amend(func(c *charter.Charter) {
					c.Quorum = append(c.Quorum, charter.Quorum{Match: charter.Match{Intents: []string{row.Request.AllowedPrompts[0].Intent}}, Need: 2})
				})
				r.refresh(m)
			}
			payload, sigs := tc.forge(r, r.approval(row))
			r.refresh(m)
			r.put(first.RequestID, payload, sigs...)
			rec := r.receipt(first.RequestID)
			if rec.State != mailbox.Refused || !strings.Contains(rec.Reason, tc.why) {
				t.Fatalf("receipt = %+v, want refused because %q", rec, tc.why)
			}
			m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
			if s := m.status(); len(s.Grants) > 0 || s.Pending.RequestID == first.RequestID || s.Pending.Attempt != 2 || s.Pending.Digest != first.Digest {
				t.Fatalf("after the forgery: %+v, want the same bytes asked again, and no grant", s.Pending)
			}
			if strings.Contains(name, "quorum") {
				return
			}
			again := r.request(m.status().Pending.RequestID)
			if again.Request.Supersedes != first.RequestID || again.Request.Reason == "" {
				t.Fatalf("the request that is asked again: %+v, want that it says what it replaces, and why", again.Request)
			}
			r.decide(r.approval(again))
			if a := m.wait(); a.Outcome != planmode.OutcomeApproved {
				t.Fatalf("WaitDecision = %+v, want approved", a)
			}
			m.wantState(planmode.Working, permissions.ModeDefault)
		})
	}
}

// refresh waits until the teammate has the charter of now.
func (r *rig) refresh(m *mate) {
	r.t.Helper()
	until(r.t, "the charter of now", func() bool {
		v, _ := m.View()
		if v.Charter.Serial == r.team.Charter().Serial {
			return true
		}
		m.RefreshCharter(r.t.Context())
		return false
	})
}

func TestReissueHasALimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.plans()
	seen := map[string]bool{}
	for range planmode.MaxAttempts {
		p := m.status().Pending
		until(t, "published", func() bool { p = m.status().Pending; return p != nil && p.Published && !seen[p.RequestID] })
		seen[p.RequestID] = true
		r.put(p.RequestID, []byte("junk"))
		r.receipt(p.RequestID)
	}
	if a := m.wait(); a.Outcome != teammate.OutcomeUndecidable {
		t.Fatalf("WaitDecision = %+v, want undecidable", a)
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	p := m.submit("# Fix it\n\nanother way\n")
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// A decision that answers nothing that is open is answered, and changes nothing.
func TestStaleDecisionIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	first := m.plans()
	row := r.open()
	second := m.submit("# Fix it\n\nbetter\n", "run tests")
	if second.RequestID == first.RequestID || second.Revision != 2 {
		t.Fatalf("the second submit is %+v, want revision 2 under another id", second)
	}
	r.decide(r.approval(row)) // of revision 1
	if rec := r.receipt(first.RequestID); rec.State != mailbox.Refused || rec.Reason != "superseded" {
		t.Fatalf("receipt = %+v, want refused as superseded", rec)
	}
	m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
	unknown := r.approval(row)
	unknown.RequestID = "01900000-0000-7000-8000-000000000000-00000000000000000000000000"
	r.decide(unknown)
	if rec := r.receipt(unknown.RequestID); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "stale") {
		t.Fatalf("receipt = %+v, want refused as stale", rec)
	}
	if a, err := m.WaitDecision(t.Context(), 1); err != nil || a.Outcome != teammate.OutcomeSuperseded {
		t.Fatalf("WaitDecision of revision 1 = %+v, %v, want superseded", a, err)
	}
	r.decide(r.approval(r.request(second.RequestID)))
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// A leader that the teammate has not heard of yet decides: it fetches the charter, and believes it only for the owner's
// signature.
func TestNewLeaderDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	row := r.open()
	kp := r.team.AddLeader("bob", charter.KindPerson)
	d := r.approval(row)
	d.DecidedBy.Name = "bob"
	payload, sig := r.sign(kp, "bob", mailbox.DecisionSubject(r.team.Name, "api", p.RequestID), mailbox.KindPlanApprovalResponse, d.Epoch, d)
	r.put(p.RequestID, payload, sig)
	if a := m.wait(); a.Outcome != planmode.OutcomeApproved || a.By.Name != "bob" {
		t.Fatalf("WaitDecision = %+v, want approved by bob", a)
	}
}

// A leader's edit is what the plan file holds afterwards, and what the grants are bound to.
func TestEditedPlanIsWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	row := r.open()
	d := r.approval(row)
	d.EditedPlan, d.PlanWasEdited, d.Grants = []byte("# Fix it\n\nas anna wants it\n"), true, nil
	c := r.team.Charter()
	in := planmode.NewCheck(*row.Request, "api", row.Epoch, c)
	in.Decision = d
	d.ApprovedDigest, _ = in.ApprovedDigest()
	r.decide(d)
	if a := m.wait(); a.Outcome != planmode.OutcomeApproved || !a.Edited {
		t.Fatalf("WaitDecision = %+v, want approved and edited", a)
	}
	if got := read(t, m.store.WorkFile()); got != string(d.EditedPlan) {
		t.Errorf("the plan file holds %q, want the edit", got)
	}
	if s := m.status(); s.Approved.Digest != d.ApprovedDigest {
		t.Errorf("approved digest %s, want that of the edit %s", s.Approved.Digest, d.ApprovedDigest)
	}
	if rec := r.receipt(p.RequestID); rec.Digest != d.ApprovedDigest {
		t.Errorf("receipt names digest %s, want %s", rec.Digest, d.ApprovedDigest)
	}
}
