package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/plans"
)

// policyListDoc is what binds the calls of a teammate that is started in a folder, besides its mode and grants.
type policyListDoc struct {
	Files  []policyListFileDoc `json:"files"`
	Tables []tableFileDoc      `json:"tables"`
}

// policyListFileDoc is one file of rules.
type policyListFileDoc struct {
	File      string            `json:"file"`
	Scope     policyfile.Scope  `json:"scope"`
	Format    policyfile.Format `json:"format"`
	Digest    string            `json:"digest"` // hex SHA-256 of its bytes
	Rules     []string          `json:"rules"`  // in force
	Proposals []string          `json:"proposals"`
}

// tableFileDoc is one file of the person's own tables.
type tableFileDoc struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
}

func newPolicyList(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "list [DIR|FILE]", Short: "the files of rules that bind teammates in a folder, and what is only proposed", Args: cobra.MaximumNArgs(1),
		Long: "List the files of rules that bind the calls of a teammate in a folder: yours in\n" +
			"~/.config/swarm/policies (*.json of Claude, *.toml of Gemini, *.yaml of ours: swarm help rules), and those\n" +
			"that policies: of its swarm.yaml names. What a project's file denies or asks holds at once. What it allows is a\n" +
			"proposal: to take it over, write the rule into a file of your own.\n" +
			"Exit: 0, or 2 when a rule cannot be read; then no teammate starts",
		Example: "  swarm policy list\n  swarm policy list ~/shop --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := projectEnv(cmd, sh)
			if len(args) > 0 {
				e, err = documentEnv(cmd, sh, args[0])
			}
			if err != nil {
				return err
			}
			own, err := e.Own()
			if err != nil {
				return err
			}
			doc := listOf(own)
			return sh.print(doc, doc.text(own.Warnings()))
		},
	}
}

func listOf(o config.Own) policyListDoc {
	doc := policyListDoc{Files: []policyListFileDoc{}, Tables: []tableFileDoc{}}
	for _, p := range o.Policies {
		f := policyListFileDoc{File: p.Bytes.Name, Scope: p.Bytes.Scope, Format: p.Format, Digest: p.Digest(), Rules: []string{}, Proposals: []string{}}
		for _, r := range p.Rules {
			f.Rules = append(f.Rules, ruleText(r))
		}
		for _, r := range p.Proposals {
			f.Proposals = append(f.Proposals, policyfile.Text(r))
		}
		doc.Files = append(doc.Files, f)
	}
	for _, t := range o.Files {
		doc.Tables = append(doc.Tables, tableFileDoc{t.Name, t.Digest()})
	}
	return doc
}

// ruleText is a rule with what it does before it, also when it allows.
func ruleText(r permissions.Rule) string {
	if r.Verdict == permissions.Allow {
		return string(permissions.Allow) + ":" + policyfile.Text(r)
	}
	return policyfile.Text(r)
}

func (d policyListDoc) text(warnings []string) string {
	var b strings.Builder
	for _, f := range d.Files {
		fmt.Fprintf(&b, "%s (%s, %s) %s\n", plans.VisibleLine(f.File), f.Scope, f.Format, f.Digest[:12])
		for _, r := range f.Rules {
			fmt.Fprintf(&b, "  holds     %s\n", plans.VisibleLine(r))
		}
		for _, r := range f.Proposals {
			fmt.Fprintf(&b, "  proposed  %s\n", plans.VisibleLine(r))
		}
	}
	for _, t := range d.Tables {
		fmt.Fprintf(&b, "%s (your table) %s\n", plans.VisibleLine(t.File), t.Digest[:12])
	}
	for _, w := range warnings {
		fmt.Fprintf(&b, "warning: %s\n", plans.VisibleLine(w))
	}
	if b.Len() == 0 {
		return "no files of rules: see swarm policy list --help\n"
	}
	return b.String()
}

// documentTestDoc is what became of a team document's policyTests.
type documentTestDoc struct {
	File  string              `json:"file"`
	Rules int                 `json:"rules"`
	Tests []app.PolicyOutcome `json:"tests"`
}

// isDocument reports whether a file is a team document, and no file of rules: both are YAML.
func isDocument(file string) bool {
	if !isYAML(file) {
		return false
	}
	if base := filepath.Base(file); base == config.FileName || base == "swarm.yml" {
		return true
	}
	v, err := config.Values(file)
	m, _ := v.(map[string]any)
	return err == nil && m["team"] != nil
}

// testDocument runs the policyTests of a team document.
func testDocument(cmd *cobra.Command, sh *shell, file string) error {
	e, err := documentEnv(cmd, sh, file)
	if err != nil {
		return err
	}
	outcomes, err := app.TestPolicy(e)
	if err != nil {
		return err
	}
	doc := documentTestDoc{File: file, Rules: len(e.Document.Policy), Tests: outcomes}
	if err := sh.print(doc, doc.text()); err != nil {
		return err
	}
	return examplesHeld(file, outcomes, func(o app.PolicyOutcome) bool { return o.OK })
}

func (d documentTestDoc) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", plans.VisibleLine(d.File), countOf(d.Rules, "rule"), countOf(len(d.Tests), "example"))
	for _, t := range d.Tests {
		by := "no rule"
		if t.Rule != "" {
			by = "rule " + shown(t.Rule)
		}
		if t.OK {
			fmt.Fprintf(&b, "ok    %s: %s by %s: %s\n", plans.VisibleLine(t.Given), t.Got, by, plans.VisibleLine(t.Why))
			continue
		}
		want := t.Want
		if t.By != "" {
			want += " by " + shown(t.By)
		}
		fmt.Fprintf(&b, "FAIL  line %d: %s: %s by %s: %s; want %s\n", t.Line, plans.VisibleLine(t.Given), t.Got, by, plans.VisibleLine(t.Why), want)
	}
	return b.String()
}
