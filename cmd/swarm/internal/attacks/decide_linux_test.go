package attacks_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// decision is an approval with one thing wrong. Without any it is what bob, a leader, would sign.
type decision struct {
	name, by string
	want     string // in what the leaders read when the plan is asked again
	change   func(*rig, *planmode.Decision)
	bytes    func([]byte) []byte // of the envelope, before it is signed
	signed   func(*rig, string, []byte) []string
	kind     mailbox.Kind
}

func signedBy(names ...string) func(*rig, string, []byte) []string {
	return func(r *rig, subject string, payload []byte) (sigs []string) {
		for _, name := range names {
			sigs = append(sigs, sign(r.t, r.keys[name], subject, payload))
		}
		return sigs
	}
}

func edited(old, now string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(now), 1) }
}

func instead(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }

func terms(change func(*permissions.GrantTerms)) func(*rig, *planmode.Decision) {
	return func(_ *rig, d *planmode.Decision) { change(&d.Grants[0]) }
}

var decisions = []decision{
	{name: "an approval that nobody signed", by: operator, want: "not signed", signed: signedBy()},
	{name: "an approval with a teammate's signature", by: operator, want: "mate is teammate, not a leader", signed: signedBy("mate")},
	{name: "an approval with the asking teammate's own signature", by: operator, want: "api is teammate, not a leader", signed: signedBy("api")},
	{name: "an approval with an observer's signature", by: operator, want: "wall is observer, not a leader", signed: signedBy("wall")},
	{name: "an approval with a stranger's signature", by: operator, want: "is no member's", signed: signedBy("stranger")},
	{name: "an approval with a removed leader's signature", by: "removed member", want: "eva is retired", signed: signedBy("eva")},
	{name: "an approval signed for another request", by: operator, want: "is not over this order", signed: func(r *rig, _ string, p []byte) []string {
		return []string{sign(r.t, r.keys["bob"], mailbox.DecisionSubject("shop", "api", natsbox.NewRequestID()), p)}
	}},
	{name: "an approval signed for another teammate", by: operator, want: "is not over this order", signed: func(r *rig, s string, p []byte) []string {
		return []string{sign(r.t, r.keys["bob"], strings.Replace(s, ".api.", ".mate.", 1), p)}
	}},
	{name: "a note that was altered after it was signed", by: operator, want: "is not over this order", signed: func(r *rig, s string, p []byte) []string {
		return []string{sign(r.t, r.keys["bob"], s, append([]byte(" "), p...))}
	}},
	{name: "a signature of another context", by: operator, want: "is not over this order", signed: func(r *rig, s string, p []byte) []string {
		raw, _ := r.keys["bob"].Sign(p)
		return []string{public(r.t, r.keys["bob"]) + "." + base64url(raw)}
	}},
	{name: "signatures that are none", by: operator, want: "cannot be read", signed: func(*rig, string, []byte) []string {
		return []string{"x", "", strings.Repeat("U", 56) + ".", "\x00.\xff"}
	}},
	{name: "junk in a decision's slot", by: "leader", want: "cannot be used", bytes: instead("{ this is no decision")},
	{name: "nothing in a decision's slot", by: "leader", want: "cannot be used", bytes: instead("")},
	{name: "five megabytes in a decision's slot", by: "leader", want: "too large", bytes: instead(strings.Repeat("x", 5<<20))},
	{name: "a message in a decision's slot", by: "leader", want: "is no order", kind: mailbox.KindMessage},
	{name: "an order of a mode in a decision's slot", by: "leader", want: "is no order", kind: mailbox.KindModeSetRequest},
	{name: "a permission in a plan's slot", by: "leader", want: "cannot be used", kind: mailbox.KindPermissionResponse},
	{name: "a decision of a later version", by: "leader", want: "version", bytes: edited(`"v":1`, `"v":2`)},
	{name: "an outcome that comes twice", by: "leader", want: "outcome", bytes: edited(`"outcome":"approved"`, `"outcome":"rejected","outcome":"approved"`)},
	{name: "an outcome in capitals beside it", by: "leader", want: "Outcome", bytes: edited(`"outcome":"approved"`, `"outcome":"rejected","Outcome":"approved"`)},
	{name: "an outcome with a look-alike letter", by: "leader", want: "grant", bytes: edited(`"grants":`, `"grantſ":`)},
	{name: "a field that nobody knows", by: "leader", want: "bypass", bytes: edited(`"approved":true`, `"approved":true,"bypass":true`)},
	{name: "an envelope's body that comes twice", by: "leader", want: "body", bytes: edited(`"body":`, `"body":{},"body":`)},
	{name: "words behind a decision", by: "leader", want: "cannot be used", bytes: func(b []byte) []byte { return append(b, " {}"...) }},
	{name: "a decision that is nested too deep", by: "leader", want: "deep", bytes: edited(`"outcome":`, `"comments":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`,"outcome":`)},
	{name: "a decision that is not UTF-8", by: "leader", want: "UTF-8", bytes: edited(`"planDigest":"`, "\"planDigest\":\"\xff\xfe")},
	{name: "a lone surrogate in a note", by: "leader", want: "surrogate", bytes: edited(`"outcome":`, `"feedback":"\ud800","outcome":`)},
	{name: "null for what cannot be absent", by: "leader", want: "null", bytes: edited(`"approved":true`, `"approved":null`)},
	{name: "a decision of another team", by: "leader", want: "another team", change: func(_ *rig, d *planmode.Decision) { d.TeamID = strings.Repeat("a", 64) }},
	{name: "a decision on another request", by: "leader", want: "in the slot of", change: func(_ *rig, d *planmode.Decision) { d.RequestID = natsbox.NewRequestID() }},
	{name: "a decision over other bytes than asked", by: "leader", want: "it names", change: func(_ *rig, d *planmode.Decision) { d.PlanDigest = strings.Repeat("0", 64) }},
	{name: "a decision on another revision", by: "leader", want: "revision", change: func(_ *rig, d *planmode.Decision) { d.Revision++ }},
	{name: "a decision of another epoch", by: "leader", want: "epoch", change: func(_ *rig, d *planmode.Decision) { d.Epoch++ }},
	{name: "a decision in another leader's name", by: "leader", want: "did not sign it", change: func(r *rig, d *planmode.Decision) { d.DecidedBy = r.head("anna").DecidedBy }},
	{name: "an agent that says it is a person", by: "lead agent", want: "the charter", signed: signedBy("bot"), change: func(r *rig, d *planmode.Decision) {
		d.DecidedBy = r.head("bot").DecidedBy
		d.DecidedBy.Kind = "person"
	}},
	{name: "a key that says it is kept better", by: "leader", want: "the charter", change: func(_ *rig, d *planmode.Decision) { d.DecidedBy.Assurance = "confirm" }},
	{name: "an outcome that nobody knows", by: "leader", want: "outcome", change: func(_ *rig, d *planmode.Decision) { d.Outcome = "maybe" }},
	{name: "a rejection that says approved", by: "leader", want: "outcome", change: func(_ *rig, d *planmode.Decision) { d.Outcome = planmode.OutcomeRejected }},
	{name: "a mode above the cap", by: "leader", want: "cap", change: func(_ *rig, d *planmode.Decision) { d.Mode = permissions.ModeBypass }},
	{name: "a mode that nobody knows", by: "leader", want: "mode", change: func(_ *rig, d *planmode.Decision) { d.Mode = "root" }},
	{name: "an approval into plan mode", by: "leader", want: "plan", change: func(_ *rig, d *planmode.Decision) { d.Mode = permissions.ModePlan }},
	{name: "an approval without a mode", by: "leader", want: "mode", change: func(_ *rig, d *planmode.Decision) { d.Mode = "" }},
	{name: "a grant that was not asked for", by: "leader", want: "push", change: func(_ *rig, d *planmode.Decision) {
		d.Grants = append(d.Grants, permissions.GrantTerms{Prompt: "push", Intent: "push", Tree: ".", ExpiresAt: time.Now().Add(time.Hour).UTC(), MaxUses: 1})
	}},
	{name: "a grant of more than its prompt means", by: "leader", want: "as \"push\"", change: terms(func(g *permissions.GrantTerms) { g.Intent = "push" })},
	{name: "a grant that is given twice", by: "leader", want: "each once", change: func(_ *rig, d *planmode.Decision) { d.Grants = append(d.Grants, d.Grants[0]) }},
	{name: "a grant for another tree", by: "leader", want: "tree", change: terms(func(g *permissions.GrantTerms) { g.Tree = "../elsewhere" })},
	{name: "a grant for the whole disk", by: "leader", want: "tree", change: terms(func(g *permissions.GrantTerms) { g.Tree = "/" })},
	{name: "a grant that never expires", by: "leader", want: "it ends", change: terms(func(g *permissions.GrantTerms) { g.ExpiresAt = time.Now().AddDate(100, 0, 0).UTC() })},
	{name: "a grant without an end", by: "leader", want: "it ends", change: terms(func(g *permissions.GrantTerms) { g.ExpiresAt = time.Time{} })},
	{name: "a grant that lives longer by its date", by: "leader", want: "it ends", change: func(_ *rig, d *planmode.Decision) {
		d.DecidedAt = time.Now().AddDate(1, 0, 0).UTC()
		d.Grants[0].ExpiresAt = d.DecidedAt.Add(time.Hour)
	}},
	{name: "a grant of any number of uses", by: "leader", want: "uses", change: terms(func(g *permissions.GrantTerms) { g.MaxUses = 0 })},
	{name: "a grant of a negative number of uses", by: "leader", want: "uses", change: terms(func(g *permissions.GrantTerms) { g.MaxUses = -1 })},
	{name: "an edited plan that is not said to be", by: "leader", want: "planWasEdited", change: func(_ *rig, d *planmode.Decision) { d.EditedPlan = []byte("# Something else\n") }},
	{name: "an edited plan under the asked plan's digest", by: "leader", want: "approvedDigest", change: func(_ *rig, d *planmode.Decision) {
		d.EditedPlan, d.PlanWasEdited, d.ApprovedDigest = []byte("# Something else\n"), true, d.PlanDigest
	}},
	{name: "an edited plan without a digest", by: "leader", want: "approvedDigest", change: func(_ *rig, d *planmode.Decision) {
		d.EditedPlan, d.PlanWasEdited = []byte("# Something else\n"), true
	}},
	{name: "an edited plan of nothing", by: "leader", want: "planWasEdited", change: func(_ *rig, d *planmode.Decision) { d.EditedPlan, d.PlanWasEdited = []byte{}, true }},
	{name: "fewer grants under the asked digest", by: "leader", want: "approvedDigest", change: func(_ *rig, d *planmode.Decision) { d.Grants = nil }},
	{name: "an approach that was not offered", by: "leader", want: "approaches", change: func(_ *rig, d *planmode.Decision) { d.Option = "the quick one" }},
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Each decision that is wrong in one thing voids its slot, whoever stored it: the teammate is still in plan mode without a grant,
// the same plan is asked again under a new id, and the leaders read why. The same decision without the mistake counts.
func TestAttackDecisions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	for _, d := range decisions {
		t.Run(d.name, func(t *testing.T) {
			r.voided(t, m, d, "run tests")
		})
	}
	r.counts(t, m, r.plans(m, "run tests"), "bob")
}

// voided asks with prompts, stores one decision and waits until its plan is asked again.
func (r *rig) voided(t *testing.T, m *runner, d decision, prompts ...string) {
	t.Helper()
	row := r.plans(m, prompts...)
	body := r.approval(row, "bob")
	if d.change != nil {
		d.change(r, &body)
	}
	kind := d.kind
	if kind == "" {
		kind = mailbox.KindPlanApprovalResponse
	}
	from := body.DecidedBy.Name
	payload := r.wire(t, from, "api", kind, body.Epoch, body)
	if d.bytes != nil {
		before := payload
		if payload = d.bytes(payload); bytes.Equal(payload, before) {
			t.Fatalf("nothing was changed in %s", payload)
		}
	}
	subject := mailbox.DecisionSubject(r.team.Name, "api", row.EnvelopeID)
	signed := d.signed
	if signed == nil {
		signed = signedBy("bob")
	}
	r.store(t, subject, payload, signed(r, subject, payload)...)
	next := r.pending(m, row.EnvelopeID)
	m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
	if !strings.Contains(next.Request.Reason, d.want) {
		t.Errorf("it is asked again because %q, want %q", next.Request.Reason, d.want)
	}
	mailboxtest.Refused(t, d.name, d.by, mailboxtest.ByTeammate, next.Request.Reason)
}

// counts has a leader approve what is asked, and wants it applied.
func (r *rig) counts(t *testing.T, m *runner, row natsbox.Row, leaders ...string) {
	t.Helper()
	d := r.approval(row, leaders[0])
	payload := r.wire(t, leaders[0], "api", mailbox.KindPlanApprovalResponse, d.Epoch, d)
	subject := mailbox.DecisionSubject(r.team.Name, "api", row.EnvelopeID)
	r.store(t, subject, payload, signedBy(leaders...)(r, subject, payload)...)
	if rec := r.receipt(t, row.EnvelopeID); rec.State != mailbox.Applied {
		t.Errorf("the same without a mistake: %+v", rec)
	}
	m.is(t, planmode.Working, d.Mode, len(d.Grants))
}
