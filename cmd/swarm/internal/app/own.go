package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/plans"
)

// ownFiles are the files of rules and tables of a run, as they were when it began: each runner judges by these bytes.
type ownFiles struct {
	Policies []config.Bytes `json:"policies,omitempty"`
	Tables   []config.Bytes `json:"tables,omitempty"`
	Trusted  []string       `json:"trusted,omitempty"` // MCP servers whose annotations are believed
}

// Own reads the person's files of rules and tables, and the files of rules that the document names. One that cannot be
// read is an error: what it would have denied must not pass meanwhile.
func (e Env) Own(docs ...*config.Document) (config.Own, error) {
	own, problems := config.ReadOwn(e.Settings.Config, append([]*config.Document{e.Document}, docs...)...)
	if problems != nil {
		return config.Own{}, ConfigError(problems)
	}
	return own, nil
}

func filesOf(o config.Own) ownFiles {
	f := ownFiles{Tables: o.Files}
	for _, p := range o.Policies {
		f.Policies = append(f.Policies, p.Bytes)
	}
	return f
}

// judged reads the files again from their bytes.
func (f ownFiles) judged() (config.Own, error) {
	own, problems := config.Judge(f.Policies, f.Tables)
	if problems != nil {
		return config.Own{}, ConfigError(problems)
	}
	return own, nil
}

// runnerOwn is what a runner that nobody supervises judges by: the document of the folder it was started in, and that of
// the working tree.
func (e Env) runnerOwn(o ScriptOptions) (config.Own, []string, error) {
	var tree *config.Document
	if path := filepath.Join(o.Tree, config.FileName); e.Document == nil || !sameFile(e.Document.Path, path) {
		if _, err := os.Stat(path); err == nil {
			var problems []config.Problem
			if tree, problems = config.Load(path); problems != nil {
				return config.Own{}, nil, ConfigError(problems)
			}
		}
	}
	own, err := e.Own(tree)
	if err != nil {
		return own, nil, err
	}
	for _, line := range append(ownLines(own), proposedHooks(e.Document, tree)...) {
		fmt.Fprintf(e.Err, "%s: %s\n", o.Name, line)
	}
	trusted, err := e.trustedServers(o.Name)
	return own, trusted, err
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(x, y)
}

// trustedServers are the MCP servers whose annotations a teammate's gate believes: those of the document, when the person
// has trusted it.
func (e Env) trustedServers(name string) ([]string, error) {
	if e.Document == nil {
		return nil, nil
	}
	i := slices.IndexFunc(e.Document.Teammates, func(t config.Teammate) bool { return t.Name == name })
	if i < 0 || len(e.Document.Teammates[i].TrustMCP) == 0 {
		return nil, nil
	}
	t, err := TrustOf(e)
	if err != nil {
		return nil, err
	}
	if !t.Trusted {
		fmt.Fprintf(e.Err, "%s: trustMcp of %s is not trusted, and no MCP server is believed: swarm trust %s\n", name, filepath.Base(t.Path), filepath.Dir(t.Path))
		return nil, nil
	}
	return e.Document.Teammates[i].TrustMCP, nil
}

// ownLines tell what the files of rules say, what is only proposed, and what does less than it seems.
func ownLines(o config.Own) []string {
	var out []string
	for _, p := range o.Policies {
		line := fmt.Sprintf("%s (%s): %s in force", p.Bytes.Name, p.Bytes.Scope, countOf(p.InForce(), "rule"))
		if n := len(p.Proposals); n > 0 {
			line += fmt.Sprintf("; proposed, and not in force: %s", plans.Cut(strings.Join(proposals(p), ", "), 300))
		}
		out = append(out, plans.VisibleLine(line))
	}
	for _, w := range o.Warnings() {
		out = append(out, plans.VisibleLine("warning: "+w))
	}
	if n, m := len(o.Tables.Programs()), len(o.Tables.Intents()); n+m > 0 {
		out = append(out, fmt.Sprintf("your tables: %s, %s", countOf(n, "program"), countOf(m, "intent")))
	}
	return out
}

// proposedHooks tell which hooks for events documents propose. None of them is told anything.
func proposedHooks(docs ...*config.Document) (out []string) {
	for _, doc := range docs {
		for _, line := range doc.Proposed() {
			out = append(out, plans.VisibleLine(line))
		}
	}
	return out
}

func proposals(p config.Policy) []string {
	out := make([]string, len(p.Proposals))
	for i, r := range p.Proposals {
		out[i] = policyfile.Text(r)
	}
	return out
}

// policyDocs are the files of rules as a report names them.
func policyDocs(o config.Own) []report.PolicyFile {
	var out []report.PolicyFile
	for _, p := range o.Policies {
		out = append(out, report.PolicyFile{File: p.Bytes.Name, Scope: string(p.Bytes.Scope), Digest: p.Digest(), Rules: p.InForce(), Proposals: len(p.Proposals)})
	}
	return out
}

// intentNames are the names of the person's own intents.
func intentNames(t *permissions.Tables) []string {
	var out []string
	for _, in := range t.Intents() {
		out = append(out, in.Name)
	}
	return out
}
