package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate/gate"
)

func newPolicy(sh *shell) *cobra.Command {
	return group(sh, "policy", "files of permission rules (swarm help rules): try them, and ask what decides",
		"  swarm help rules\n  swarm policy test ~/.gemini/policies/mine.toml\n  swarm policy explain --policy .claude/settings.json -- git push",
		newPolicyTest(sh), newPolicyExplain(sh), newPolicyList(sh))
}

// policyTestDoc is what became of a file of rules and of its own examples.
type policyTestDoc struct {
	File      string               `json:"file"`
	Format    policyfile.Format    `json:"format"`
	Scope     policyfile.Scope     `json:"scope"`
	Rules     int                  `json:"rules"`          // in force; none while there is a mistake
	Proposals int                  `json:"proposals"`      // a project's allow rules
	Written   int                  `json:"written"`        // rules as they stand in the file
	Unread    int                  `json:"unread"`         // of those that are written: cannot be read
	Idle      int                  `json:"idle,omitempty"` // read, and do nothing: see the warnings
	Problems  []policyfile.Problem `json:"problems"`
	Tests     []policyExampleDoc   `json:"tests"` // not run while there is a mistake

	names []string // of the file's rules
}

// policyExampleDoc is one example of a file, and what was decided.
type policyExampleDoc struct {
	Line   int                 `json:"line"`
	Input  string              `json:"input"`
	Want   permissions.Verdict `json:"want"`
	By     string              `json:"by,omitempty"`
	Got    permissions.Verdict `json:"got"`
	Reason string              `json:"reason"`
	OK     bool                `json:"ok"`
}

const scopeHelp = "whose file it is: owner, user or project; a project's allow rules are proposals"

func newPolicyTest(sh *shell) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "test FILE", Short: "read a file of rules strictly, and run its examples", Args: cobra.ExactArgs(1),
		Long: "Read Claude's settings.json, Gemini's policy TOML or our YAML, say what cannot be read, and run the\n" +
			"examples that a YAML file has under tests. Nothing is executed and no disk is consulted: the tree\n" +
			"is " + placeTree + ". Of a swarm.yaml, run its policyTests against its policy, under the caps and person-only\n" +
			"classes that a run would have.\n" +
			"Exit: 0 all is well  2 something cannot be read  9 an example is decided otherwise",
		Example: "  swarm policy test policy.yaml\n  swarm policy test .claude/settings.json --scope project --json\n  swarm policy test swarm.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDocument(args[0]) {
				return testDocument(cmd, sh, args[0])
			}
			f, err := readPolicy(args[0], scope)
			if err != nil {
				return err
			}
			doc := testPolicy(f)
			if err := sh.print(doc, doc.text()); err != nil {
				return err
			}
			if err := policyErrors(f); err != nil {
				return err
			}
			return examplesHeld(f.Name, doc.Tests, func(t policyExampleDoc) bool { return t.OK })
		},
	}
	c.Flags().StringVar(&scope, "scope", string(policyfile.ScopeUser), scopeHelp)
	completeFlag(c, "scope", scopes)
	return c
}

// examplesHeld says how many of a file's examples are decided otherwise, if any are.
func examplesHeld[T any](file string, tests []T, ok func(T) bool) error {
	failed := len(slices.DeleteFunc(slices.Clone(tests), ok))
	if failed == 0 {
		return nil
	}
	return &leader.Error{
		Code: ExitPolicy, Name: "example_failed", Message: fmt.Sprintf("%s: %d of %d examples are decided otherwise", plans.VisibleLine(cutPath(file)), failed, len(tests)),
		Next: "correct the rules, or the examples",
	}
}

// readPolicy reads a file of rules.
func readPolicy(name, scope string) (policyfile.File, error) {
	if !slices.Contains(scopes(), scope) {
		return policyfile.File{}, usage("--scope %s is not known: use owner, user or project", shown(scope))
	}
	if policyfile.FormatOf(name) == "" {
		return policyfile.File{}, badInput(cutPath(name), "", "its name does not say how it is written", "name a settings.json, a .toml or a .yaml file")
	}
	data, err := config.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return policyfile.File{}, badInput(cutPath(name), "", "there is no such file", "name a settings.json, a .toml or a .yaml file")
	}
	if err != nil {
		return policyfile.File{}, badInput(cutPath(name), "", fmt.Sprintf("cannot be read (%v)", rootCause(err)), "name another file")
	}
	return policyfile.Read(name, data, policyfile.Config{Scope: policyfile.Scope(scope)}), nil
}

// policyErrors is one line for each rule that cannot be read.
func policyErrors(f policyfile.File) error {
	var lines []string
	for _, p := range f.Errors() {
		lines = append(lines, plans.VisibleLine(p.Error()))
	}
	if len(lines) == 0 {
		return nil
	}
	if n := len(lines) - maxPolicyErrors; n > 0 {
		lines = append(lines[:maxPolicyErrors], fmt.Sprintf("%d more cannot be read: correct these first", n))
	}
	return &leader.Error{Code: ExitUsage, Name: "bad_policy", Message: strings.Join(lines, "\n")}
}

const maxPolicyErrors = 20

func testPolicy(f policyfile.File) policyTestDoc {
	doc := policyTestDoc{
		File: f.Name, Format: f.Format, Scope: f.Scope, Rules: f.InForce(), Proposals: len(f.Proposals), Written: f.Written, Unread: f.Unread, Idle: f.Idle,
		Problems: append([]policyfile.Problem{}, f.Problems...), Tests: []policyExampleDoc{}, names: f.Names,
	}
	if len(f.Errors()) > 0 { // what it would decide now proves nothing
		doc.Rules, doc.Proposals, doc.Idle = 0, 0, 0
		return doc
	}
	if f.Scope == policyfile.ScopeProject {
		doc.Proposals -= f.Idle
	}
	j := newRowJudge()
	for _, t := range f.Tests {
		s := j.state
		s.Mode, s.Rules = t.Mode, f.Rules
		for _, g := range t.Grants {
			given, _ := asGranted(g, s.Tree, s.Now, nil)
			s.Grants = append(s.Grants, given)
		}
		t.Call.Cwd = s.Tree
		d := j.engine.Decide(t.Call, s)
		doc.Tests = append(doc.Tests, policyExampleDoc{
			Line: t.Line, Input: inputOf(t.Call), Want: t.Want, By: t.By, Got: d.Verdict, Reason: d.Reason,
			OK: d.Verdict == t.Want && (t.By == "" || strings.Contains(d.Reason, `"`+t.By+`"`)),
		})
	}
	return doc
}

func inputOf(c permissions.Call) string {
	if c.Command != "" {
		return c.Command
	}
	return strings.TrimSpace(c.Tool + " " + c.Path)
}

// unusable says why a file cannot be used, or nothing.
func (d policyTestDoc) unusable() string {
	n := len(slices.DeleteFunc(slices.Clone(d.Problems), func(p policyfile.Problem) bool { return p.Warning }))
	switch {
	case n == 0:
		return ""
	case d.Unread > 0:
		return fmt.Sprintf("%d of %s cannot be read", d.Unread, countOf(d.Written, "rule"))
	case d.Written == 0:
		return "it cannot be read"
	case n == 1:
		return "one mistake in it"
	}
	return countOf(n, "mistake") + " in it"
}

func (d policyTestDoc) text() string {
	var b strings.Builder
	if why := d.unusable(); why != "" {
		return fmt.Sprintf("%s: cannot be used: %s; until it is corrected nothing runs\n", plans.VisibleLine(d.File), why)
	}
	fmt.Fprintf(&b, "%s: %s, scope %s: %s in force", plans.VisibleLine(d.File), d.Format, d.Scope, countOf(d.Rules, "rule"))
	if d.Proposals > 0 {
		fmt.Fprintf(&b, ", %s", countOf(d.Proposals, "proposal"))
	}
	if d.Idle > 0 {
		fmt.Fprintf(&b, ", %d that %s nothing", d.Idle, map[bool]string{true: "does", false: "do"}[d.Idle == 1])
	}
	fmt.Fprintf(&b, ", %s\n", countOf(len(d.Tests), "example"))
	for _, p := range d.Problems {
		if p.Warning {
			fmt.Fprintf(&b, "warning: %s\n", plans.VisibleLine(p.Error()))
		}
	}
	for _, t := range d.Tests {
		switch {
		case t.OK:
			fmt.Fprintf(&b, "ok    %s: %s: %s\n", plans.VisibleLine(t.Input), t.Got, plans.VisibleLine(t.Reason))
		default:
			want := string(t.Want)
			if t.By != "" {
				want += fmt.Sprintf(" by %q", t.By)
				if !slices.Contains(d.names, t.By) {
					want += fmt.Sprintf(": by %q is no rule's name here: %s", t.By, cmp.Or(strings.Join(d.names, ", "), "no rule has one"))
				}
			}
			fmt.Fprintf(&b, "FAIL  line %d: %s: %s: %s; want %s\n", t.Line, plans.VisibleLine(t.Input), t.Got, plans.VisibleLine(t.Reason), plans.VisibleLine(want))
		}
	}
	return b.String()
}

// explainDoc is what was decided about a line, and by what about each of its commands.
type explainDoc struct {
	Decision permissions.Verdict   `json:"decision"`
	Reason   string                `json:"reason"`
	Commands []explainedCommandDoc `json:"commands"`
}

// explainedCommandDoc is one simple command of the line, with what decided about it.
type explainedCommandDoc struct {
	Command  string              `json:"command"`
	Decision permissions.Verdict `json:"decision"`
	By       string              `json:"by"` // table, yours (a table of the person's own), grant, rule, mode, or nothing: then nothing covers it
	Reason   string              `json:"reason"`
}

func newPolicyExplain(sh *shell) *cobra.Command {
	var alone standalone
	var files []string
	var scope string
	c := &cobra.Command{
		Use: "explain [flags] -- COMMAND", Short: "which rule, table or grant decides about each command of a line", Args: cobra.MinimumNArgs(1),
		Long: "Say of each simple command of a line what decides about it, for a teammate in this folder: a table, one of\n" +
			"yours, a grant, a rule or the mode. Your files of rules and tables, and those that swarm.yaml names, count\n" +
			"(swarm policy list). Nothing is executed or recorded. Exit: 0 allow  11 deny  12 ask  2 a file of rules cannot be read",
		Example: "  swarm policy explain -- 'cd sub && go test ./... | tail'\n  swarm policy explain --policy policy.yaml --grant \"run tests\" -- git push",
		RunE: func(cmd *cobra.Command, words []string) error {
			for _, name := range files {
				f, err := readPolicy(name, scope)
				if err == nil {
					err = policyErrors(f)
				}
				if err != nil {
					return err
				}
				alone.read = append(alone.read, f.Rules...)
				alone.proposed = append(alone.proposed, f.Proposals...)
			}
			d, err := alone.judge(cmd, permissions.Call{Tool: "Bash", Command: gate.Line(words)})
			if err != nil {
				return err
			}
			doc := explained(d)
			if err := sh.print(doc, doc.text()); err != nil {
				return err
			}
			return verdictStatus(d.Verdict)
		},
	}
	alone.judged(c)
	c.Flags().StringArrayVar(&files, "policy", nil, "with the rules of this file; repeatable")
	c.Flags().StringVar(&scope, "scope", string(policyfile.ScopeUser), scopeHelp)
	completeFlag(c, "scope", scopes)
	return c
}

func explained(d permissions.Decision) explainDoc {
	doc := explainDoc{Decision: d.Verdict, Reason: d.Reason, Commands: []explainedCommandDoc{}}
	for _, c := range d.Commands {
		doc.Commands = append(doc.Commands, explainedCommandDoc{Command: strings.Join(c.Argv, " "), Decision: c.Verdict, By: decidedBy(c), Reason: c.Reason})
	}
	return doc
}

// decidedBy says what kind of thing decided about a command.
func decidedBy(c permissions.CommandVerdict) string {
	switch {
	case c.GrantID != "":
		return "grant"
	case strings.HasPrefix(c.Reason, "your table "):
		return "yours"
	case strings.HasPrefix(c.Reason, "an allow rule names"), strings.HasPrefix(c.Reason, "a deny rule "), strings.HasPrefix(c.Reason, "an ask rule names"), strings.Contains(c.Reason, "; an ask rule names it"):
		return "rule"
	case c.Reason == string(permissions.ModeBypass), strings.Contains(c.Reason, "plan mode"):
		return "mode"
	case c.Verdict == permissions.Allow:
		return "table"
	}
	return "nothing"
}

func (d explainDoc) text() string {
	var b strings.Builder
	for _, c := range d.Commands {
		fmt.Fprintf(&b, "  %-5s %-8s %s: %s\n", c.Decision, c.By, plans.VisibleLine(c.Command), plans.VisibleLine(c.Reason))
	}
	fmt.Fprintf(&b, "%s: %s\n", d.Decision, plans.VisibleLine(d.Reason))
	return b.String()
}
