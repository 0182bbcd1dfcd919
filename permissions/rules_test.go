package permissions_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

func bashRule(verdict permissions.Verdict, words string) permissions.Rule {
	words, prefix := strings.CutSuffix(words, ":*")
	return permissions.Rule{Verdict: verdict, Tool: "Bash", Argv: strings.Fields(words), Prefix: prefix, Source: "settings.json"}
}

func TestRulesOfCommands(t *testing.T) {
	for _, row := range []struct {
		verdict permissions.Verdict
		rule    string
		command string
		want    permissions.Verdict
	}{
		{permissions.Allow, "make lint", "make lint", yes},
		{permissions.Allow, "make lint", "make lint 2>&1 | tail -3", yes},
		{permissions.Allow, "make lint", "cd a && CI=1 timeout 60 make lint", yes},
		{permissions.Allow, "make lint", "make lint x", maybe},
		{permissions.Allow, "make lint", "make linty", maybe},
		{permissions.Allow, "make lint", "make 'lint x'", maybe},
		{permissions.Allow, "make lint:*", "make lint x", yes},
		{permissions.Allow, "make lint:*", "make linty", maybe},
		{permissions.Allow, "make lint:*", "make lint $x", maybe},
		{permissions.Allow, "make lint:*", "make lint *", maybe},
		{permissions.Allow, "make lint:*", "make lint > x", maybe},
		{permissions.Allow, "make lint:*", "make lint && rm x", maybe},
		{permissions.Allow, "make lint:*", "make lint $(rm x)", maybe},
		{permissions.Allow, "make lint:*", "./make lint", maybe},
		{permissions.Allow, "make lint:*", "/usr/bin/make lint", maybe},
		{permissions.Allow, "make lint:*", "MAKEFLAGS=x make lint", maybe},
		{permissions.Allow, "make lint:*", "cd /tmp && make lint", maybe},
		{permissions.Allow, "make lint:*", "make lint -f CLAUDE.md", maybe},
		{permissions.Allow, "", "make", maybe},
		{permissions.Deny, "git push:*", "git push", never},
		{permissions.Deny, "git push:*", "cd a && git push origin main", never},
		{permissions.Deny, "git push:*", "git -C a -c b=c --no-pager push", never},
		{permissions.Deny, "git push:*", "git --git-dir=x push", never},
		{permissions.Deny, "git push:*", "/usr/bin/git push", never},
		{permissions.Deny, "git push:*", "env A=1 timeout 5 git push", never},
		{permissions.Deny, "git push:*", "sh -c 'cd a; git push'", never},
		{permissions.Deny, "git push:*", "eval git push", never},
		{permissions.Deny, "git push:*", "echo $(git push)", never},
		{permissions.Deny, "git push:*", "if ls; then git push; fi", never},
		{permissions.Deny, "git push:*", "xargs git push", never},
		{permissions.Deny, "git push:*", "git $x", maybe},
		{permissions.Deny, "git push:*", "$x push", maybe},
		{permissions.Deny, "git push:*", "git pushy", maybe},
		{permissions.Deny, "git push:*", "git log", yes},
		{permissions.Deny, "git log:*", "git log -3", never},
		{permissions.Deny, "git log", "git log", never},
		{permissions.Deny, "git log", "git log -3", never}, // without its flags it is what the rule names
		{permissions.Deny, "ls:*", "ls", never},
		{permissions.Deny, "ls:*", "cat x", yes},
		{permissions.Deny, "", "ls", never},
		{permissions.Ask, "git log:*", "git log", maybe},
		{permissions.Ask, "git log:*", "ls && git log -3", maybe},
		{permissions.Ask, "go test:*", "go test ./...", maybe},
		{permissions.Ask, "go vet:*", "go test ./...", yes},
	} {
		s := state(permissions.ModeDefault)
		s.Grants = []permissions.Grant{grant("run tests")}
		s.Rules = []permissions.Rule{bashRule(row.verdict, row.rule)}
		if d := decide(row.command, s); d.Verdict != row.want {
			t.Errorf("%s %q: Decide(%q) = %s (%s), want %s", row.verdict, row.rule, row.command, d.Verdict, d.Reason, row.want)
		}
		if row.verdict == permissions.Allow {
			continue
		}
		for _, mode := range permissions.Modes() { // what narrows holds in every mode, and beats what widens
			s.Mode = mode
			s.Rules = append([]permissions.Rule{{Verdict: permissions.Allow, Tool: "Bash", Argv: strings.Fields(row.command)[:1], Prefix: true}}, s.Rules...)
			d := decide(row.command, s)
			if row.want == never && d.Verdict != never || row.want == maybe && row.rule != "git push:*" && d.Verdict == yes {
				t.Errorf("%s: %s %q: Decide(%q) = %s (%s), want %s", mode, row.verdict, row.rule, row.command, d.Verdict, d.Reason, row.want)
			}
		}
	}
}

func TestRulesOfOtherTools(t *testing.T) {
	for name, row := range map[string]struct {
		rule permissions.Rule
		call permissions.Call
		mode permissions.Mode
		want permissions.Verdict
	}{
		"deny a tool":             {permissions.Rule{Verdict: never, Tool: "WebFetch"}, permissions.Call{Tool: "WebFetch"}, permissions.ModeBypass, never},
		"deny it by another name": {permissions.Rule{Verdict: never, Tool: "WebFetch"}, permissions.Call{Tool: "web_fetch"}, permissions.ModeBypass, never},
		"deny an unknown tool":    {permissions.Rule{Verdict: never, Tool: "mcp__a"}, permissions.Call{Tool: "mcp__a"}, permissions.ModeBypass, never},
		"deny another":            {permissions.Rule{Verdict: never, Tool: "mcp__a"}, permissions.Call{Tool: "mcp__b"}, permissions.ModeBypass, yes},
		"deny a file":             {permissions.Rule{Verdict: never, Tool: "Read", Argv: []string{"secret.txt"}}, permissions.Call{Tool: "Read", Path: "./secret.txt"}, permissions.ModeBypass, never},
		"deny a folder":           {permissions.Rule{Verdict: never, Tool: "Read", Argv: []string{"/project/private"}, Prefix: true}, permissions.Call{Tool: "Grep", Path: "private/a"}, permissions.ModeBypass, never},
		"not that folder":         {permissions.Rule{Verdict: never, Tool: "Read", Argv: []string{"private"}, Prefix: true}, permissions.Call{Tool: "Read", Path: "privates"}, permissions.ModePlan, yes},
		"deny edits":              {permissions.Rule{Verdict: never, Tool: "Edit"}, permissions.Call{Tool: "Write", Path: "a"}, permissions.ModeBypass, never},
		"deny edits, read":        {permissions.Rule{Verdict: never, Tool: "Edit"}, permissions.Call{Tool: "Read", Path: "a"}, permissions.ModePlan, yes},
		"ask for a read":          {permissions.Rule{Verdict: maybe, Tool: "Read", Argv: []string{"a"}}, permissions.Call{Tool: "Read", Path: "a"}, permissions.ModeBypass, maybe},
		"ask for a sub-agent":     {permissions.Rule{Verdict: maybe, Tool: "Task"}, permissions.Call{Tool: "Task"}, permissions.ModeBypass, maybe},
		"allow a file":            {permissions.Rule{Verdict: yes, Tool: "Edit", Argv: []string{"docs"}, Prefix: true}, permissions.Call{Tool: "Edit", Path: "docs/a.md"}, permissions.ModeDefault, yes},
		"allow another file":      {permissions.Rule{Verdict: yes, Tool: "Edit", Argv: []string{"docs"}, Prefix: true}, permissions.Call{Tool: "Edit", Path: "docs/../a.md"}, permissions.ModeDefault, maybe},
		"allow, planning":         {permissions.Rule{Verdict: yes, Tool: "Edit"}, permissions.Call{Tool: "Edit", Path: "a.md"}, permissions.ModePlan, never},
		"allow, protected":        {permissions.Rule{Verdict: yes, Tool: "Edit"}, permissions.Call{Tool: "Edit", Path: "CLAUDE.md"}, permissions.ModeDefault, maybe},
		"allow outside":           {permissions.Rule{Verdict: yes, Tool: "Edit"}, permissions.Call{Tool: "Edit", Path: "/etc/x"}, permissions.ModeDefault, maybe},
		"allow a read outside":    {permissions.Rule{Verdict: yes, Tool: "Read", Argv: []string{"/usr/include"}, Prefix: true}, permissions.Call{Tool: "Read", Path: "/usr/include/a.h"}, permissions.ModeDefault, yes},
		"allow credentials":       {permissions.Rule{Verdict: yes, Tool: "Read"}, permissions.Call{Tool: "Read", Path: "~/.ssh/id_rsa"}, permissions.ModeDefault, maybe},
		"allow swarm's state":     {permissions.Rule{Verdict: yes, Tool: "Read"}, permissions.Call{Tool: "Read", Path: "~/.config/swarm/x"}, permissions.ModeDefault, never},
		"allow the network":       {permissions.Rule{Verdict: yes, Tool: "WebFetch"}, permissions.Call{Tool: "WebFetch"}, permissions.ModeDefault, yes},
		"allow an unknown tool":   {permissions.Rule{Verdict: yes, Tool: "mcp__a"}, permissions.Call{Tool: "mcp__a"}, permissions.ModeDefault, yes},
		"allow it, planning":      {permissions.Rule{Verdict: yes, Tool: "mcp__a"}, permissions.Call{Tool: "mcp__a"}, permissions.ModePlan, maybe},
		"allow leaving plan mode": {permissions.Rule{Verdict: yes, Tool: "ExitPlanMode"}, permissions.Call{Tool: "ExitPlanMode"}, permissions.ModePlan, maybe},
		"a rule for all unknown":  {permissions.Rule{Verdict: yes, Tool: ""}, permissions.Call{Tool: "mcp__a"}, permissions.ModeDefault, maybe},
		"deny, path not known":    {permissions.Rule{Verdict: never, Tool: "Read", Argv: []string{"a"}}, permissions.Call{Tool: "Read", Path: "b", Cwd: "-"}, permissions.ModePlan, never},
		"allow, path not known":   {permissions.Rule{Verdict: yes, Tool: "Read", Argv: []string{"a"}}, permissions.Call{Tool: "Read", Path: "a", Cwd: "-"}, permissions.ModeDefault, maybe},
		"bash rule, other tool":   {permissions.Rule{Verdict: never, Tool: "Bash"}, permissions.Call{Tool: "Read", Path: "a"}, permissions.ModePlan, yes},
		"tool rule, command":      {permissions.Rule{Verdict: never, Tool: "Read"}, permissions.Call{Tool: "Bash", Command: "ls"}, permissions.ModePlan, yes},
		"bash by a client's name": {permissions.Rule{Verdict: never, Tool: "run_shell_command", Argv: []string{"ls"}, Prefix: true}, permissions.Call{Tool: "Bash", Command: "ls -a"}, permissions.ModePlan, never},
	} {
		if row.call.Cwd == "" {
			row.call.Cwd = "/project"
		}
		s := state(row.mode)
		s.Rules = []permissions.Rule{row.rule}
		if d := permissions.New(lexical).Decide(row.call, s); d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
	}
}

// In somebody else's shell only what holds there passes: no grant, no rule, no mode, nothing that a shell's start files,
// its environment, its directory or git's configuration could change.
func TestForeignExecutors(t *testing.T) {
	engine := permissions.New(lexical)
	for command, want := range map[string]permissions.Verdict{
		"ls -la": yes, "cat a.go | head -5": yes, "grep -rn x . 2>/dev/null || echo none": yes, "pwd": yes,
		"cd a && ls": maybe, "git status": maybe, "go version": maybe, "go test ./...": maybe, "make lint": maybe, "CI=1 ls": maybe, "timeout 5 ls": maybe, "env A=1 ls": maybe, "rm x": maybe,
		"swarm approve r": never, "cat ~/.config/swarm/x": never,
	} {
		for _, mode := range []permissions.Mode{permissions.ModeDefault, permissions.ModeBypass} {
			s := state(mode)
			s.Grants = []permissions.Grant{grant("run tests")}
			s.Rules = []permissions.Rule{bashRule(permissions.Allow, "make:*")}
			d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project", Foreign: true}, s)
			if d.Verdict != want || d.Contract != nil {
				t.Errorf("%s: Decide(%q) = %s (%s) with contract %v, want %s without", mode, command, d.Verdict, d.Reason, d.Contract, want)
			}
		}
		if d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Foreign: true}, state(permissions.ModeDefault)); d.Verdict == permissions.Allow {
			t.Errorf("Decide(%q) without a directory = allow", command)
		}
	}
}
