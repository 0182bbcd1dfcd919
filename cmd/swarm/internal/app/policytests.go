package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// PolicyOutcome is what the document's policy decides about one of its examples.
type PolicyOutcome struct {
	Line  int    `json:"line"`
	Given string `json:"given"`
	Want  string `json:"want"`
	By    string `json:"by,omitempty"` // the rule that must decide
	Got   string `json:"got"`          // approve, reject or ask
	Rule  string `json:"rule"`         // that matched; empty: none
	Why   string `json:"why"`
	OK    bool   `json:"ok"`
}

// TestPolicy has the document's policy decide its own examples, under the caps and person-only classes that a run would
// have: what a rule would approve and only a person may is asked.
func TestPolicy(e Env) ([]PolicyOutcome, error) {
	own, err := e.Own()
	if err != nil {
		return nil, err
	}
	doc := e.Document
	p, err := policy.New(doc.Policy, intentNames(own.Tables)...)
	if err != nil {
		return nil, fail(exitUsage, "bad_policy", plainText(err), "correct the rules")
	}
	j, err := newPolicyJudge(e, p, own.Tables)
	if err != nil {
		return nil, err
	}
	out := []PolicyOutcome{}
	for _, t := range doc.PolicyTests {
		o, err := j.decide(t)
		if err != nil {
			return nil, err
		}
		o.OK = o.Got == o.Want && (o.By == "" || o.By == o.Rule)
		out = append(out, o)
	}
	return out, nil
}

// policyJudge is a team of one policy, in memory.
type policyJudge struct {
	policy  *policy.Policy
	tables  *permissions.Tables
	charter charter.Charter
	order   charter.Order // signed by the policy, for the charter's judgement
	now     time.Time
}

func newPolicyJudge(e Env, p *policy.Policy, tables *permissions.Tables) (*policyJudge, error) {
	owner, _, err := newKey()
	if err != nil {
		return nil, err
	}
	key, _, err := newKey()
	if err != nil {
		return nil, err
	}
	member := charter.Member{Name: policyName, Role: charter.RoleLeader, Kind: charter.KindPolicy, Key: publicKey(key), Assurance: charter.Memory}
	j := &policyJudge{policy: p, tables: tables, now: time.Now()}
	j.charter = charter.New(e.Document.Team, publicKey(owner), []charter.Member{member}, capsOf(e.Settings.Caps, e.Document), "")
	termsOf(e.Settings, e.Document).into(&j.charter)
	j.order = charter.Order{Subject: "policy.test", Payload: []byte("{}")}
	sig, err := charter.SignOrder(key, j.order.Subject, j.order.Payload)
	j.order.Sigs = []string{sig}
	return j, err
}

func (j *policyJudge) decide(t config.PolicyTest) (PolicyOutcome, error) {
	o := PolicyOutcome{Line: t.Line, Given: givenText(t.Given), Want: t.Want, By: t.By}
	r, err := j.request(t.Given)
	if err != nil {
		return o, fail(exitUsage, "bad_example", fmt.Sprintf("line %d: %s", t.Line, plainText(err)), "correct what is given")
	}
	a := j.policy.Explain(r)
	o.Got, o.Rule, o.Why = a.Outcome, a.Rule, a.Why
	if o.Got == policy.ThenAsk {
		return o, nil
	}
	if r.Row.IsPlan() {
		_, err = j.policy.Decide(context.Background(), r)
	} else {
		_, err = j.policy.Answer(context.Background(), r)
	}
	if err != nil { // such as a mode above the cap: what cannot be signed is asked
		o.Got, o.Why = policy.ThenAsk, plainText(err)
		return o, nil
	}
	if who := charter.Judge(j.charter, j.order, j.asked(t.Given, r), o.Got == policy.ThenApprove, j.now); !who.Leader || who.NeedsPerson || who.WeakKey || !who.QuorumMet {
		o.Got, o.Why = policy.ThenAsk, "rule "+fmt.Sprintf("%q", o.Rule)+" would "+a.Outcome+", but "+who.Reason
	}
	return o, nil
}

func (j *policyJudge) asked(g config.PolicyGiven, r leader.Request) charter.Asked {
	if p := r.Row.Permission; p != nil {
		return planmode.AskedOfCall(p.Tool, p.Input, p.Cwd, nil)
	}
	named, _ := r.Row.FilesNamed()
	return planmode.AskedOf(r.Row.Prompts, named, r.Row.ModeBack)
}

// request is the example as it would come to the desk.
func (j *policyJudge) request(g config.PolicyGiven) (leader.Request, error) {
	mode := permissions.ModeDefault
	if g.Mode != "" {
		mode, _ = permissions.ParseMode(g.Mode) // checked when the document was read
	}
	id := natsbox.NewRequestID()
	row := natsbox.Row{From: g.Teammate, EnvelopeID: id, Epoch: 1, StoredAt: j.now, KnownMode: mode}
	switch {
	case g.Command != "":
		row.Permission = &permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: g.Command, Cwd: "."}
	case g.Edit != "":
		row.Permission = &permissions.PermissionRequest{RequestID: id, Tool: "Edit", Input: g.Edit, Cwd: "."}
	default:
		row.Request = j.plan(id, g, mode)
	}
	if p := row.Permission; p != nil {
		p.CallHash = fmt.Sprintf("%064x", 0)
	}
	r, err := leader.NewRow(row, leader.RowConfig{
		Charter: j.charter, Now: j.now, Presence: natsbox.Presence{Name: g.Teammate, Live: true, Agent: g.Agent}, Tables: j.tables,
	})
	if err != nil {
		return leader.Request{}, err
	}
	named, _ := r.FilesNamed()
	for _, p := range g.Paths {
		if !slices.Contains(named, p) {
			return leader.Request{}, fmt.Errorf("app: %q cannot be told to be a file when a plan names it", p)
		}
	}
	return leader.Request{Row: r, Charter: j.charter, Now: j.now}, nil
}

func (j *policyJudge) plan(id string, g config.PolicyGiven, mode permissions.Mode) *planmode.ApprovalRequest {
	var text strings.Builder
	text.WriteString("# An example\n\nRun it to verify.\n")
	for _, p := range g.Paths {
		text.WriteString("- `" + p + "`\n")
	}
	q := &planmode.ApprovalRequest{
		RequestID: id, PlanID: "example", Revision: max(g.Revision, 1), Kind: planmode.AskPlan, SavedMode: mode,
		Plan: plans.New("plan.md", "", []byte(text.String())), AllowedPrompts: []permissions.Prompt{},
	}
	for _, name := range g.Intents {
		in, _, _ := j.tables.Intent(name) // checked when the document was read
		q.AllowedPrompts = append(q.AllowedPrompts, j.tables.ResolvePrompt("Bash", saying(in.Name, j.tables)))
	}
	for _, text := range g.Prompts {
		q.AllowedPrompts = append(q.AllowedPrompts, j.tables.ResolvePrompt("Bash", text))
	}
	q.Digest = q.ComputeDigest(j.charter.TeamID, g.Teammate)
	return q
}

// saying is a prompt that means an intent: its name, or its first phrase.
func saying(name string, tables *permissions.Tables) string {
	in, _, _ := tables.Intent(name)
	if tables.ResolvePrompt("Bash", name).Intent == name {
		return name
	}
	for _, p := range in.Phrases {
		for _, verb := range p.Verbs {
			for _, object := range p.Objects {
				if text := verb + " " + object; tables.ResolvePrompt("Bash", text).Intent == name {
					return text
				}
			}
			if p.Alone && tables.ResolvePrompt("Bash", verb).Intent == name {
				return verb
			}
		}
	}
	return name
}

func givenText(g config.PolicyGiven) string {
	switch {
	case g.Command != "":
		return g.Teammate + " wants to run " + g.Command
	case g.Edit != "":
		return g.Teammate + " wants to edit " + g.Edit
	}
	parts := []string{g.Teammate + " plans"}
	add := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+" "+strings.Join(list, ", "))
		}
	}
	add("asking for", slices.Concat(g.Intents, g.Prompts))
	add("naming", g.Paths)
	if g.Revision > 1 {
		parts = append(parts, fmt.Sprintf("revision %d", g.Revision))
	}
	if g.Mode != "" {
		parts = append(parts, "mode "+g.Mode)
	}
	return strings.Join(parts, ", ")
}
