package policy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(mailboxtest.Settled(m), goleak.Cleanup(os.Exit)) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// quickstart are the rules of CONFIG.md 2.
func quickstart() []policy.Rule {
	return []policy.Rule{
		{Name: "docs-only", Match: policy.Match{Paths: []string{"*.md", "docs/**"}, Intents: []string{}}, Then: "approve"},
		{Name: "need-tests", Match: policy.Match{Lacks: []string{"run tests"}}, Then: "reject", Feedback: `Say how you will test it, and ask for "run tests".`},
		{Name: "tests-ok", Match: policy.Match{Intents: []string{"run tests"}}, Then: "approve", With: policy.With{TTL: 2 * time.Hour, Uses: 10}},
		{Name: "rest", Then: "ask"},
	}
}

func newPolicy(t testing.TB, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	p, err := policy.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shop(caps charter.Caps) charter.Charter {
	kp, err := nkeys.CreateAccount()
	if err != nil {
		panic(err)
	}
	pub, err := kp.PublicKey()
	if err != nil {
		panic(err)
	}
	return charter.New("shop", pub, nil, caps, "")
}

// plan is what a teammate asks.
type plan struct {
	from    string
	text    string
	prompts []string
	agent   string
	change  func(*planmode.ApprovalRequest)
}

const (
	docs = "# Describe discounts\n\n- `docs/discounts.md`: new, then check the links\n- `README.md`\n"
	code = "# Fix the discount bug\n\n- `discount.go`: round once, then run the tests\n"
)

func (p plan) request(t testing.TB, c charter.Charter) leader.Request {
	t.Helper()
	id := natsbox.NewRequestID()
	q := planmode.ApprovalRequest{
		RequestID: id, PlanID: "p1", Revision: 1, Kind: planmode.AskPlan, SavedMode: permissions.ModeDefault,
		Plan: plans.New("plan.md", "", []byte(p.text)), AllowedPrompts: []permissions.Prompt{},
	}
	for _, text := range p.prompts {
		q.AllowedPrompts = append(q.AllowedPrompts, permissions.ResolvePrompt("Bash", text))
	}
	if p.change != nil {
		p.change(&q)
	}
	if p.from == "" {
		p.from = "fixer"
	}
	q.Digest = q.ComputeDigest(c.TeamID, p.from)
	row, err := leader.NewRow(
		natsbox.Row{Request: &q, From: p.from, EnvelopeID: id, Epoch: 1, StoredAt: noon, KnownMode: permissions.ModeDefault},
		leader.RowConfig{Charter: c, Now: noon, Presence: natsbox.Presence{Name: p.from, Live: true, Agent: p.agent}})
	if err != nil {
		t.Fatal(err)
	}
	return leader.Request{Row: row, Charter: c, Now: noon}
}

func TestQuickstartRules(t *testing.T) {
	var many string // what comes after the last one that is listed is not known
	for i := range facts.MaxFiles + 1 {
		many += fmt.Sprintf("- `docs/%d.md`\n", i)
	}
	c := shop(charter.Caps{})
	p := newPolicy(t, quickstart()...)
	for _, x := range []struct {
		name string
		plan plan
		rule string
		want string // outcome, or "ask"
		why  string
	}{
		{"documents that ask for nothing", plan{text: docs}, "docs-only", "approved", "it asks for nothing; it names only *.md, docs/**"},
		{"documents that ask for something", plan{text: docs, prompts: []string{"frobnicate"}}, "need-tests", "rejected", "it does not ask for run tests"},
		{"code without tests", plan{text: code}, "need-tests", "rejected", "it does not ask for run tests"},
		{"code with tests", plan{text: code, prompts: []string{"run the tests"}}, "tests-ok", "approved", "it asks for run tests"},
		{"tests and something else", plan{text: code, prompts: []string{"run tests", "frobnicate"}}, "rest", "ask", "it is about everything"},
		{"more documents than are listed", plan{text: "# D\n\n" + many}, "need-tests", "rejected", "it does not ask for run tests"},
		{"no file named", plan{text: "# Think\n\nabout it\n"}, "need-tests", "rejected", "it does not ask for run tests"},
		{"documents and code", plan{text: docs + code}, "need-tests", "rejected", "it does not ask for run tests"},
		{"a way out of docs", plan{text: "# D\n\n- `docs/../main.go`: check\n"}, "need-tests", "rejected", "it does not ask for run tests"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := x.plan.request(t, c)
			advice := p.Explain(r)
			if advice.Rule != x.rule || advice.Why != x.why {
				t.Errorf("Explain = %+v, want rule %s because %s", advice, x.rule, x.why)
			}
			d, err := p.Decide(context.Background(), r)
			if x.want == "ask" {
				if !errors.Is(err, leader.ErrAbstain) {
					t.Errorf("Decide = %+v, %v; want ErrAbstain", d, err)
				}
				return
			}
			if err != nil || string(d.Outcome) != x.want || d.PolicyDigest != p.Digest() || d.DecidedBy.Via != "policy:"+x.rule {
				t.Errorf("Decide = %+v, %v; want %s", d, err, x.want)
			}
		})
	}
}

func TestTermsOfAnApproval(t *testing.T) {
	for _, x := range []struct {
		name string
		caps charter.GrantCaps
		with policy.With
		uses int
		ttl  time.Duration
		mode permissions.Mode
	}{
		{"the rule's", charter.GrantCaps{}, policy.With{TTL: 2 * time.Hour, Uses: 10}, 10, 2 * time.Hour, "default"},
		{"the charter's", charter.GrantCaps{TTLSeconds: 60, Uses: 3}, policy.With{}, 3, time.Minute, "default"},
		{"never above the charter's", charter.GrantCaps{TTLSeconds: 60, Uses: 3}, policy.With{TTL: time.Hour, Uses: 10}, 3, time.Minute, "default"},
		{"another mode", charter.GrantCaps{}, policy.With{Mode: "autoEdit"}, 0, 24 * time.Hour, "acceptEdits"},
		{"never above the cap", charter.GrantCaps{}, policy.With{Mode: "yolo"}, 0, 24 * time.Hour, "acceptEdits"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := shop(charter.Caps{Mode: permissions.ModeAcceptEdits, Grants: x.caps})
			p := newPolicy(t, policy.Rule{Name: "all", Then: "approve", With: x.with})
			d, err := p.Decide(context.Background(), plan{text: code, prompts: []string{"run tests"}}.request(t, c))
			if err != nil || len(d.Grants) != 1 || d.Mode != x.mode {
				t.Fatalf("Decide = %+v, %v", d, err)
			}
			if g := d.Grants[0]; g.MaxUses != x.uses || !g.ExpiresAt.Equal(noon.Add(x.ttl)) {
				t.Errorf("grant = %+v, want %d uses for %v", g, x.uses, x.ttl)
			}
		})
	}
	p := newPolicy(t, policy.Rule{Name: "bare", Then: "approve", With: policy.With{Grants: "none"}, Feedback: "no commands"})
	d, err := p.Decide(context.Background(), plan{text: code, prompts: []string{"run tests"}}.request(t, shop(charter.Caps{})))
	if err != nil || len(d.Grants) != 0 || d.Feedback != "no commands" || d.ApprovedDigest == "" {
		t.Errorf("grants none: %+v, %v", d, err)
	}
}

func TestMatchKeys(t *testing.T) {
	c := shop(charter.Caps{})
	lying := plan{text: docs, change: func(q *planmode.ApprovalRequest) {
		q.AllowedPrompts = []permissions.Prompt{{Tool: "Bash", Prompt: "wipe the disk", Intent: "run tests"}}
	}}
	hidden := plan{text: docs, change: func(q *planmode.ApprovalRequest) {
		q.Facts = []plans.Fact{{Rule: "files-named", Value: "secret.go"}}
	}}
	many := plan{text: "# Docs\n\n" + manyFiles(900)}
	for _, x := range []struct {
		name  string
		match policy.Match
		plan  plan
		want  bool
	}{
		{"teammate", policy.Match{Teammate: "fixer"}, plan{text: code}, true},
		{"another teammate", policy.Match{Teammate: "writer"}, plan{text: code}, false},
		{"teammates", policy.Match{Teammates: []string{"a", "fixer"}}, plan{text: code}, true},
		{"agent with a version", policy.Match{Agents: []string{"claude"}}, plan{text: code, agent: "claude 2.1.197"}, true},
		{"another agent", policy.Match{Agents: []string{"claude"}}, plan{text: code, agent: "claudette"}, false},
		{"no agent", policy.Match{Agents: []string{"claude"}}, plan{text: code}, false},
		{"revision", policy.Match{Revision: 1}, plan{text: code}, true},
		{"another revision", policy.Match{Revision: 2}, plan{text: code}, false},
		{"all keys hold", policy.Match{Teammate: "fixer", Revision: 1, Paths: []string{"**"}}, plan{text: code}, true},
		{"one does not", policy.Match{Teammate: "fixer", Revision: 2, Paths: []string{"**"}}, plan{text: code}, false},
		{"unknown prompts are no intent", policy.Match{Intents: []string{"run tests"}}, plan{text: code, prompts: []string{"frobnicate"}}, false},
		{"a false name is no intent", policy.Match{Intents: []string{"run tests"}}, lying, false},
		{"lacks, and it is not asked", policy.Match{Lacks: []string{"run tests"}}, plan{text: code, prompts: []string{"frobnicate"}}, true},
		{"lacks, and it is asked", policy.Match{Lacks: []string{"run tests"}}, plan{text: code, prompts: []string{"run tests"}}, false},
		{"a file that only the teammate names", policy.Match{Paths: []string{"*.md", "docs/**"}}, hidden, false},
		{"more files than are listed", policy.Match{Paths: []string{"docs/**"}}, many, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newPolicy(t, policy.Rule{Name: "it", Match: x.match, Then: "reject", Feedback: "no"})
			if got := p.Explain(x.plan.request(t, c)).Rule == "it"; got != x.want {
				t.Errorf("it matches: %v, want %v", got, x.want)
			}
		})
	}
}

func manyFiles(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("- `docs/" + strings.Repeat("x", i%30+1) + string(rune('a'+i%26)) + strings.Repeat("y", i/30) + ".md`\n")
	}
	return b.String()
}

func TestOnlyPlansAreDecided(t *testing.T) {
	c := shop(charter.Caps{})
	p := newPolicy(t, policy.Rule{Name: "all", Then: "approve"})
	leave := plan{change: func(q *planmode.ApprovalRequest) {
		q.Kind, q.Plan = planmode.AskLeave, plans.Plan{Content: []byte{}}
	}}.request(t, c)
	if d, err := p.Decide(context.Background(), leave); !errors.Is(err, leader.ErrAbstain) {
		t.Errorf("a leave request: %+v, %v", d, err)
	}
	options := plan{text: code, change: func(q *planmode.ApprovalRequest) {
		q.Options = []plans.Option{{Label: "A", Recommended: true}, {Label: "B"}}
	}}.request(t, c)
	if d, err := p.Decide(context.Background(), options); !errors.Is(err, leader.ErrAbstain) || !strings.Contains(err.Error(), "approaches") {
		t.Errorf("a plan with open approaches: %+v, %v", d, err)
	}
	if _, err := newPolicy(t).Decide(context.Background(), plan{text: code}.request(t, c)); !errors.Is(err, leader.ErrAbstain) || !strings.Contains(err.Error(), "no rule matches") {
		t.Errorf("no rules: %v", err)
	}
}

// A rule on permission is about single calls, and only about those that it names word for word.
func TestRulesOnPermission(t *testing.T) {
	c := shop(charter.Caps{})
	p := newPolicy(t,
		policy.Rule{Name: "plans", Then: "approve"},
		policy.Rule{Name: "fetch", On: "permission", Match: policy.Match{Commands: []string{"git fetch origin"}}, Then: "approve"},
		policy.Rule{Name: "go-edits", On: "permission", Match: policy.Match{Paths: []string{"*.go", "docs/**"}}, Then: "approve"},
		policy.Rule{Name: "no-writer", On: "permission", Match: policy.Match{Teammate: "writer"}, Then: "reject", Feedback: "you only write"},
	)
	call := func(from, tool, input string) leader.Request {
		id := natsbox.NewRequestID()
		row, err := leader.NewRow(natsbox.Row{
			From: from, EnvelopeID: id, StoredAt: noon,
			Permission: &permissions.PermissionRequest{RequestID: id, Tool: tool, Input: input, CallHash: "h", Cwd: "."},
		}, leader.RowConfig{Charter: c, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		return leader.Request{Row: row, Charter: c, Now: noon}
	}
	a, err := p.Answer(context.Background(), call("fixer", "Bash", "git  fetch origin"))
	if err != nil || a.Behavior != permissions.BehaviorAllow || a.Scope != permissions.ScopeOnce || a.DecidedBy.Via != "policy:fetch" {
		t.Errorf("Answer = %+v, %v; want it allowed once", a, err)
	}
	a, err = p.Answer(context.Background(), call("writer", "Bash", "ls"))
	if err != nil || a.Behavior != permissions.BehaviorDeny || a.Message != "you only write" {
		t.Errorf("Answer = %+v, %v; want it denied", a, err)
	}
	for _, input := range []string{
		"git fetch origin main", "git fetch", "git fetch origin; touch x", "git fetch origin\ntouch x", "git fetch 'origin'", "git fetch $x", "PATH=. git fetch origin",
		"git fetch origin > x", "git fetch origin &", "git\tfetch origin", "./git fetch origin",
	} {
		if a, err := p.Answer(context.Background(), call("fixer", "Bash", input)); !errors.Is(err, leader.ErrAbstain) {
			t.Errorf("Answer(%q) = %+v, %v; want ErrAbstain", input, a, err)
		}
	}
	for _, file := range []string{"discount.go", "docs/a/b.md", "./discount.go", "docs/../discount.go"} {
		if a, err := p.Answer(context.Background(), call("fixer", "Edit", file)); err != nil || a.Behavior != permissions.BehaviorAllow || a.DecidedBy.Via != "policy:go-edits" {
			t.Errorf("Answer(edit %s) = %+v, %v; want it allowed once", file, a, err)
		}
	}
	for _, file := range []string{"deploy/x.go", "../discount.go", "/etc/discount.go", "docs/../../x.go", "docs/../go.mod", ""} {
		if a, err := p.Answer(context.Background(), call("fixer", "Edit", file)); !errors.Is(err, leader.ErrAbstain) {
			t.Errorf("Answer(edit %s) = %+v, %v; want ErrAbstain", file, a, err)
		}
	}
	elsewhere := call("fixer", "Bash", "git fetch origin")
	elsewhere.Row.Permission.Cwd = "sub"
	if a, err := p.Answer(context.Background(), elsewhere); !errors.Is(err, leader.ErrAbstain) {
		t.Errorf("in another folder: %+v, %v; want ErrAbstain", a, err)
	}
	everywhere := newPolicy(t, policy.Rule{Name: "all", On: "permission", Match: policy.Match{Paths: []string{"**"}}, Then: "approve"})
	for _, file := range []string{"../x.go", "/etc/passwd", "a/../../x"} {
		if a, err := everywhere.Answer(context.Background(), call("fixer", "Edit", file)); !errors.Is(err, leader.ErrAbstain) {
			t.Errorf("Answer(edit %s) = %+v, %v; want ErrAbstain: it is outside the tree", file, a, err)
		}
	}
	for _, tool := range []string{"Bash", "Delete"} {
		if a, err := p.Answer(context.Background(), call("fixer", tool, "discount.go")); !errors.Is(err, leader.ErrAbstain) {
			t.Errorf("Answer(%s discount.go) = %+v, %v; want ErrAbstain", tool, a, err)
		}
	}
	if a, err := p.Answer(context.Background(), call("fixer", "Write", "git fetch origin")); !errors.Is(err, leader.ErrAbstain) {
		t.Errorf("another tool: %+v, %v", a, err)
	}
	if d, err := p.Decide(context.Background(), call("fixer", "Bash", "git fetch origin")); !errors.Is(err, leader.ErrAbstain) {
		t.Errorf("a call decided as a plan: %+v, %v", d, err)
	}
	if got := p.Explain(plan{text: code}.request(t, c)).Rule; got != "plans" {
		t.Errorf("rule %q about a plan, want plans", got)
	}
}

// No rule approves what names a file whose content takes effect later: the next rule that does not approve decides, or a
// person.
func TestRulesLeaveProtectedFilesToPeople(t *testing.T) {
	c := shop(charter.Caps{})
	markdown := policy.Rule{Name: "markdown", Match: policy.Match{Paths: []string{"**"}}, Then: "approve"}
	single := policy.Rule{Name: "single", On: "permission", Match: policy.Match{Paths: []string{"**"}}, Then: "approve"}
	everything := policy.Rule{Name: "everything", Then: "approve"}
	no := policy.Rule{Name: "no", Then: "reject", Feedback: "leave those"}
	asks := policy.Rule{Name: "rest", Then: "ask"}
	copies := policy.Rule{Name: "copies", On: "permission", Match: policy.Match{Commands: []string{"cp a CLAUDE.md"}}, Then: "approve"}
	edit := func(tool, input string) leader.Request {
		id := natsbox.NewRequestID()
		row, err := leader.NewRow(natsbox.Row{
			From: "fixer", EnvelopeID: id, StoredAt: noon,
			Permission: &permissions.PermissionRequest{RequestID: id, Tool: tool, Input: input, CallHash: "h", Cwd: "."},
		}, leader.RowConfig{Charter: c, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		return leader.Request{Row: row, Charter: c, Now: noon}
	}
	const would = `rule "markdown" would approve, but CLAUDE.md is protected, and no rule approves that`
	names := plan{text: "# Tell the agent\n\n- `CLAUDE.md`: how to test, then read it again\n- `docs/a.md`\n"}.request(t, c)
	claims := plan{text: docs, change: func(q *planmode.ApprovalRequest) {
		q.Facts = []plans.Fact{{Rule: facts.RuleProtectedFile, Value: "CLAUDE.md"}}
	}}.request(t, c)
	for name, r := range map[string]leader.Request{"plan": names, "its own facts": claims} {
		if d, err := newPolicy(t, markdown, everything).Decide(context.Background(), r); !errors.Is(err, leader.ErrAbstain) || !strings.Contains(err.Error(), would) {
			t.Errorf("%s: %+v, %v; want it left to a person", name, d.Outcome, err)
		}
		if a := newPolicy(t, markdown).Explain(r); a.Rule != "" || a.Outcome != "ask" || a.Why != would {
			t.Errorf("%s: advice %+v", name, a)
		}
		if d, err := newPolicy(t, markdown, no).Decide(context.Background(), r); err != nil || d.Outcome != planmode.OutcomeRejected || d.DecidedBy.Via != "policy:no" {
			t.Errorf("%s: %+v, %v; want the next rule to reject it", name, d, err)
		}
		if a := newPolicy(t, markdown, asks).Explain(r); a.Rule != "rest" || a.Outcome != "ask" || !strings.HasSuffix(a.Why, "; "+would) {
			t.Errorf("%s: advice %+v, want the rule that asks, and why no other approved", name, a)
		}
	}
	if d, err := newPolicy(t, markdown).Decide(context.Background(), plan{text: docs}.request(t, c)); err != nil || d.Outcome != planmode.OutcomeApproved {
		t.Errorf("other documents: %+v, %v", d, err)
	}
	for _, file := range []string{"CLAUDE.md", "claude.MD", "docs/../AGENTS.md", "web/.github/x.yml", ".git/config", "x.policy.yaml", ".claude/settings.json"} {
		for _, tool := range []string{"Edit", "Write", "MultiEdit"} {
			if a, err := newPolicy(t, single).Answer(context.Background(), edit(tool, file)); !errors.Is(err, leader.ErrAbstain) || !strings.Contains(err.Error(), "is protected") {
				t.Errorf("%s %s: %+v, %v; want it left to a person", tool, file, a.Behavior, err)
			}
		}
	}
	if a, err := newPolicy(t, single).Answer(context.Background(), edit("Edit", "docs/claude.txt")); err != nil || a.Behavior != permissions.BehaviorAllow {
		t.Errorf("another file: %+v, %v", a, err)
	}
	if a, err := newPolicy(t, copies).Answer(context.Background(), edit("Bash", "cp a CLAUDE.md")); err != nil || a.Behavior != permissions.BehaviorAllow {
		t.Errorf("a command that a rule names word for word: %+v, %v", a, err)
	}
}

func TestCheckNamesRuleAndField(t *testing.T) {
	for _, x := range []struct {
		rule  policy.Rule
		field string
		text  string
	}{
		{policy.Rule{Then: "ask"}, "name", "no name"},
		{policy.Rule{Name: "x"}, "then", "does not say"},
		{policy.Rule{Name: "x", Then: "aprove"}, "then", `did you mean "approve"?`},
		{policy.Rule{Name: "x", Then: "reject"}, "feedback", "needs feedback"},
		{policy.Rule{Name: "x", Then: "ask", Feedback: "hm"}, "feedback", "sends no feedback"},
		{policy.Rule{Name: "x", Then: "ask", With: policy.With{Uses: 1}}, "with", "only an approval"},
		{policy.Rule{Name: "x", Then: "approve", With: policy.With{TTL: -1}}, "with.ttl", "cannot live"},
		{policy.Rule{Name: "x", Then: "approve", With: policy.With{Uses: -1}}, "with.uses", "-1"},
		{policy.Rule{Name: "x", Then: "approve", With: policy.With{Grants: "askd"}}, "with.grants", `did you mean "asked"?`},
		{policy.Rule{Name: "x", Then: "approve", With: policy.With{Mode: "god"}}, "with.mode", "unknown mode"},
		{policy.Rule{Name: "x", Then: "approve", With: policy.With{Mode: "plan"}}, "with.mode", "cannot restore"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Intents: []string{"run tests", "run the unit tests"}}}, "match.intents[1]", `did you mean "run tests"?`},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Lacks: []string{"fly"}}}, "match.lacks[0]", "unknown intent"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Lacks: []string{}}}, "match.lacks", "says nothing"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Paths: []string{"docs/**", "a/../b"}}}, "match.paths[1]", "bad pattern"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Paths: []string{}}}, "match.paths", "says nothing"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Teammate: "Fixer!"}}, "match.teammate", "cannot be"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Teammates: []string{"lead"}}}, "match.teammates[0]", "cannot be"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Teammate: "a", Teammates: []string{"b"}}}, "match.teammate", "both"},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Revision: -1}}, "match.revision", "-1"},
		{policy.Rule{Name: "x", Then: "ask", On: "permision"}, "on", `did you mean "permission"?`},
		{policy.Rule{Name: "x", Then: "ask", Match: policy.Match{Commands: []string{"ls"}}}, "match.commands", "no commands"},
		{policy.Rule{Name: "x", Then: "ask", On: "permission", Match: policy.Match{Intents: []string{}}}, "match", "no intents"},
		{policy.Rule{Name: "x", Then: "ask", On: "permission", Match: policy.Match{Commands: []string{}}}, "match.commands", "says nothing"},
		{policy.Rule{Name: "x", Then: "ask", On: "permission", Match: policy.Match{Commands: []string{"ls", "a; b"}}}, "match.commands[1]", "not one simple command"},
		{policy.Rule{Name: "x", Then: "ask", On: "permission", With: policy.With{Uses: 1}}, "with", "allowed once"},
		{policy.Rule{Name: "x", Then: "approve", On: "permission", Match: policy.Match{Teammate: "a"}}, "match", "must name them"},
		{policy.Rule{Name: "x", Then: "ask", On: "permission", Match: policy.Match{Commands: []string{"ls"}, Paths: []string{"*"}}}, "match", "never both"},
	} {
		found := policy.Check([]policy.Rule{{Name: "first", Then: "ask"}, x.rule})
		if len(found) != 1 || found[0].Rule != 1 || found[0].Field != x.field || !strings.Contains(found[0].Error(), x.text) {
			t.Errorf("Check(%+v) = %+v, want one problem of %s with %q", x.rule, found, x.field, x.text)
		}
	}
	twice := policy.Check([]policy.Rule{{Name: "x", Then: "ask"}, {Name: "x", Then: "ask"}})
	if len(twice) != 1 || twice[0].Field != "name" {
		t.Errorf("a name that comes twice: %+v", twice)
	}
	if found := policy.Check(quickstart()); found != nil {
		t.Errorf("the rules of CONFIG.md: %+v", found)
	}
	if _, err := policy.New([]policy.Rule{{}, {}}); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("New reports %v, want every problem", err)
	}
}

// The digest is of what the rules say: equal rules have one, any change makes another, and a caller cannot change rules later.
func TestDigest(t *testing.T) {
	base := newPolicy(t, quickstart()...).Digest()
	if again := newPolicy(t, quickstart()...).Digest(); again != base {
		t.Errorf("digests %s and %s of equal rules", base, again)
	}
	for i, change := range []func([]policy.Rule){
		func(r []policy.Rule) { r[0].Then = "ask" },
		func(r []policy.Rule) { r[0].Match.Intents = nil },
		func(r []policy.Rule) { r[2].With.Uses = 11 },
		func(r []policy.Rule) { r[1].Feedback += "!" },
		func(r []policy.Rule) { r[0], r[1] = r[1], r[0] },
	} {
		rules := quickstart()
		change(rules)
		if newPolicy(t, rules...).Digest() == base {
			t.Errorf("change %d leaves the digest as it was", i)
		}
	}
	rules := quickstart()
	p := newPolicy(t, rules...)
	rules[1].Match.Lacks[0], rules[0].Then, rules[2].Match.Intents[0] = "x", "approve", "y"
	if got := p.Explain(plan{text: code, prompts: []string{"run tests"}}.request(t, shop(charter.Caps{}))); got.Rule != "tests-ok" {
		t.Errorf("rules changed by the caller decide: %+v", got)
	}
}

// anyRules draws rules that are valid.
func anyRules() *rapid.Generator[[]policy.Rule] {
	return rapid.Custom(func(t *rapid.T) []policy.Rule {
		var rules []policy.Rule
		for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
			r := policy.Rule{Name: "r" + string(rune('a'+i)), Then: rapid.SampledFrom([]string{"approve", "reject", "ask"}).Draw(t, "then")}
			if r.Then == "reject" {
				r.Feedback = "no"
			}
			if rapid.Bool().Draw(t, "paths?") {
				r.Match.Paths = rapid.SliceOfN(rapid.SampledFrom([]string{"*.md", "docs/**", "**", "*.go"}), 1, 2).Draw(t, "paths")
			}
			r.Match.Intents = rapid.SampledFrom([][]string{nil, {}, {"run tests"}}).Draw(t, "intents")
			r.Match.Lacks = rapid.SampledFrom([][]string{nil, nil, {"run tests"}}).Draw(t, "lacks")
			r.Match.Teammate = rapid.SampledFrom([]string{"", "", "fixer", "writer"}).Draw(t, "teammate")
			rules = append(rules, r)
		}
		return rules
	})
}

// The same request and rules give the same decision; what comes after the deciding rule changes nothing; and no approval
// exceeds the caps or grants what was not understood.
func TestDecisionsAreDetermined(t *testing.T) {
	c := shop(charter.Caps{Mode: permissions.ModeAcceptEdits, Grants: charter.GrantCaps{TTLSeconds: 600, Uses: 5}})
	rapid.Check(t, func(rt *rapid.T) {
		rules := anyRules().Draw(rt, "rules")
		r := plan{
			from: rapid.SampledFrom([]string{"fixer", "writer"}).Draw(rt, "from"), text: rapid.SampledFrom([]string{docs, code, docs + code, "# x\n"}).Draw(rt, "text"),
			prompts: rapid.SliceOfN(rapid.SampledFrom([]string{"run tests", "运行测试", "frobnicate", "push"}), 0, 3).Draw(rt, "prompts"),
		}.request(t, c)
		p := newPolicy(t, rules...)
		d1, err1 := p.Decide(context.Background(), r)
		d2, err2 := newPolicy(t, slices.Clone(rules)...).Decide(context.Background(), r)
		if (err1 == nil) != (err2 == nil) || d1.Outcome != d2.Outcome || d1.DecidedBy != d2.DecidedBy || len(d1.Grants) != len(d2.Grants) || d1.ApprovedDigest != d2.ApprovedDigest {
			rt.Fatalf("%+v, %v and %+v, %v", d1, err1, d2, err2)
		}
		advice := p.Explain(r)
		if i := slices.IndexFunc(rules, func(x policy.Rule) bool { return x.Name == advice.Rule }); i >= 0 {
			if short := newPolicy(t, rules[:i+1]...).Explain(r); short != advice {
				rt.Fatalf("%+v with later rules, %+v without", advice, short)
			}
		}
		if err1 != nil {
			if !errors.Is(err1, leader.ErrAbstain) {
				rt.Fatalf("Decide = %v, want ErrAbstain", err1)
			}
			return
		}
		d1.TeamID, d1.Epoch = c.TeamID, 1
		in := planmode.NewCheck(*r.Row.Request, r.Row.From, 1, c)
		in.Decision, in.Now = d1, noon
		if err := planmode.CheckTerms(in); err != nil {
			rt.Fatalf("the teammate would refuse it: %v", err)
		}
	})
}

// The whole way: a desk with rules, on a real broker. The policy's key signs; what no rule decides waits, or is rejected.
func TestPolicyAtTheDesk(t *testing.T) {
	team := mailboxtest.Server(t)
	team.AddLeader("rules", charter.KindPolicy)
	team.AddTeammate("fixer")
	fixer, box := team.Connect("fixer"), team.Connect("rules")
	m, _ := team.Charter().Member("rules")
	p := newPolicy(t, quickstart()...)
	events := make(chan leader.Event, 100)
	desk := leader.NewDesk(box, team.Charter, leader.Signer{Key: team.Key("rules"), Member: m}, leader.Config{
		Seats: []leader.Seat{{Decider: p}}, Unattended: true, OnEvent: func(e leader.Event) { events <- e },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- desk.Run(ctx) }()
	defer func() { cancel(); <-done }()

	for _, x := range []struct {
		plan    plan
		rule    string
		outcome planmode.Outcome
		text    string
	}{
		{plan{text: code}, "need-tests", planmode.OutcomeRejected, `Say how you will test it, and ask for "run tests".`},
		{plan{text: code, prompts: []string{"run tests"}}, "tests-ok", planmode.OutcomeApproved, ""},
		{plan{text: docs}, "docs-only", planmode.OutcomeApproved, ""},
		{plan{text: code, prompts: []string{"run tests", "frobnicate"}}, "", planmode.OutcomeRejected, "nobody to ask: rule \"rest\" asks a person: it is about everything"},
	} {
		q := x.plan.request(t, team.Charter()).Row.Request
		env, err := mailbox.New(q.RequestID, mailbox.KindPlanApprovalRequest, team.Name, "fixer", mailbox.Lead, 1, time.Now(), q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fixer.Send(ctx, env); err != nil {
			t.Fatal(err)
		}
		for e := range events {
			if e.Kind != leader.EventDecided {
				continue
			}
			if e.RequestID != q.RequestID || e.Rule() != x.rule || e.Decision.Outcome != x.outcome || e.Decision.Feedback != x.text || e.Decision.DecidedBy.Kind != "policy" {
				t.Errorf("decided %+v, want %s by %q", e.Decision, x.outcome, x.rule)
			}
			break
		}
	}
}
