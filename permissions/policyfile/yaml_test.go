package policyfile_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

const ours = `# What everybody here may do.
version: 1
rules:
  - name: no pushes
    deny: Bash(git push:*)
    message: a leader pushes
  - allow: [Bash(make lint:*), "Edit(docs/**)"]
  - ask: {tool: run_shell_command, regex: "git (log|show)"}
  - deny: {tool: [Read, Edit], path: "secrets/**"}
  - deny: {tool: "*", server: web}
  - allow: {tool: query, server: db}
  - allow: {tool: Bash, command: "make 'a b'"}
  - allow: {tool: WebFetch, domain: example.com}
  - deny: Bash(make b:*)
    priority: 100
  - allow: Bash(make b c)
    priority: 200
  - deny: Bash(ls:*)
    modes: [plan]
  - deny: Bash(pwd)
    attended: false
tests:
  - {command: git push origin, want: deny, by: no pushes}
  - {tool: Edit, path: docs/a.md, want: allow}
  - {command: go test ./..., grants: [run tests], mode: plan, want: deny}
`

func TestOurYAML(t *testing.T) {
	f := policyfile.Read("policy.yaml", []byte(ours), user)
	if len(f.Problems) > 0 {
		t.Fatal(f.Problems)
	}
	for _, row := range []struct {
		call permissions.Call
		mode permissions.Mode
		want permissions.Verdict
	}{
		{command("git -C a push"), permissions.ModeBypass, never},
		{command("make lint x"), permissions.ModeDefault, yes},
		{permissions.Call{Tool: "Write", Path: "docs/a"}, permissions.ModeDefault, yes},
		{command("git log -3"), permissions.ModeDefault, maybe},
		{command("git status"), permissions.ModeDefault, yes},
		{permissions.Call{Tool: "Read", Path: "secrets/a"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "Write", Path: "secrets/a"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "mcp__web__get"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "mcp__db__query"}, permissions.ModeDefault, yes},
		{command("make 'a b'"), permissions.ModeDefault, yes},
		{command("make a b"), permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "web_fetch", Path: "https://example.com/x"}, permissions.ModeDefault, yes},
		{command("make b"), permissions.ModeBypass, never},
		{command("make b c"), permissions.ModeDefault, yes},
		{command("ls"), permissions.ModePlan, never},
		{command("ls"), permissions.ModeDefault, yes},
		{command("pwd"), permissions.ModeDefault, yes},
	} {
		if d := decide(row.call, row.mode, f.Rules); d.Verdict != row.want {
			t.Errorf("Decide(%+v) in %s = %s (%s), want %s", row.call, row.mode, d.Verdict, d.Reason, row.want)
		}
	}
	if d := decide(command("git push"), permissions.ModeDefault, f.Rules); d.Reason != `a deny rule names git push (policy.yaml:4 "no pushes"): a leader pushes` {
		t.Errorf("the reason is %q", d.Reason)
	}
	if d := decide(command("pwd"), permissions.ModeDefault, f.Rules, func(s *permissions.State) { s.Unattended = true }); d.Verdict != never {
		t.Errorf("unattended, pwd = %s, want deny", d.Verdict)
	}
	if len(f.Tests) != 3 || f.Tests[0].By != "no pushes" || f.Tests[1].Call.Tool != "Edit" || f.Tests[2].Mode != permissions.ModePlan || f.Tests[2].Line != 25 {
		t.Errorf("tests %+v", f.Tests)
	}
	if p := policyfile.Read("policy.yaml", []byte(ours), project); len(p.Proposals) != 6 || len(p.Rules)+6 != len(f.Rules) {
		t.Errorf("a project's file has %d rules and %d proposals, a user's %d", len(p.Rules), len(p.Proposals), len(f.Rules))
	}
}

func TestBadYAMLRules(t *testing.T) {
	for rule, row := range map[string]struct {
		want   string
		denied permissions.Call
	}{
		"deny: Bsh(rm:*)":                                     {`did you mean "Bash"?`, command("rm x")},
		"deny: [Bash(ls), Bash(rm]":                           {"has no )", command("rm x")},
		"deny: 7":                                             {"no text", command("rm x")},
		"deny: []":                                            {"no text", command("rm x")},
		"deny: {tool: Bash, prefx: rm}":                       {`did you mean "prefix"?`, command("rm x")},
		"deny: {prefix: rm}":                                  {"toolName is missing", command("rm x")},
		"deny: {tool: Bash, regex: \"rm (?=x)\"}":             {"without lookaround", command("rm x")},
		"deny: {tool: Read, command: rm}":                     {"says nothing about Read", permissions.Call{Tool: "Read", Path: "a"}},
		"deny: {tool: Bash, command: a, prefix: b}":           {"only one of", command("rm x")},
		"deny: {tool: Bash, command: \"a; b\"}":               {"not one plain command", command("rm x")},
		"deny: {tool: [Bash, 7]}":                             {"tool is no text", command("rm x")},
		"denny: Bash(rm:*)":                                   {`did you mean "deny"?`, command("rm x")},
		"{deny: Bash(rm:*), deny: Bash(ls)}":                  {"twice|already defined", command("rm x")},
		"{deny: Bash(rm:*), allow: Bash(ls)}":                 {"only one of", command("rm x")},
		"{deny: Bash(rm:*), modes: [plann]}":                  {`did you mean "plan"?`, command("rm x")},
		"{deny: Bash(rm:*), modes: plan x}":                   {"is not known", command("rm x")},
		"{deny: Bash(rm:*), attended: sometimes}":             {"neither true nor false", command("rm x")},
		"{deny: Bash(rm:*), priority: high}":                  {"cannot be used", command("rm x")},
		"{deny: Bash(rm:*), name: []}":                        {"no text", command("rm x")},
		"{deny: &x Bash(rm:*)}":                               {"anchors", command("rm x")},
		"name: x":                                             {"none of allow, ask and deny", command("rm x")},
		"Bash(rm:*)":                                          {"no mapping", command("rm x")},
		"{deny: {tool: Bash, tool: Read}}":                    {"twice|already defined", command("rm x")},
		"{deny: {tool: \"mcp_*\", hints: {readOnlyHint: 1}}}": {"true or false", permissions.Call{Tool: "mcp__a__b"}},
	} {
		f := policyfile.Read("p.yaml", []byte("version: 1\nrules:\n  - allow: Bash(make good)\n  - "+rule+"\n"), user)
		errs := f.Errors()
		if len(errs) != 1 || errs[0].Line != 4 || !containsAny(errs[0].Error(), row.want) || errs[0].Next == "" {
			t.Errorf("%s: %v, want one error on line 4 with %q", rule, errs, row.want)
		}
		if d := decide(row.denied, permissions.ModeBypass, f.Rules); d.Verdict != never {
			t.Errorf("%s: Decide(%+v) = %s (%s), want deny", rule, row.denied, d.Verdict, d.Reason)
		}
		if strings.Contains(rule, "allow") {
			continue
		}
		a := policyfile.Read("p.yaml", []byte("version: 1\nrules:\n  - allow: Bash(make good)\n  - "+strings.ReplaceAll(strings.ReplaceAll(rule, "denny", "alow"), "deny", "allow")+"\n"), user)
		for _, r := range a.Rules {
			if r.Verdict == yes && (len(r.Argv) != 2 || r.Argv[1] != "good") {
				t.Errorf("%s, as allow: allows %+v", rule, r)
			}
		}
	}
	for text, want := range map[string]string{
		"tests: 7": "no list", "tests: [{command: ls}]": "what it wants", "tests: [{command: ls, want: alow}]": `did you mean "allow"?`, "tests: [{want: ask}]": "names no call",
		"tests: [{command: ls, want: ask, mode: x}]": "is not known", "tests: [{comand: ls, want: ask}]": `did you mean "command"?`, "tests: [{command: ls, want: ask, grants: 7}]": "no list",
	} {
		f := policyfile.Read("p.yaml", []byte("version: 1\n"+text), user)
		if len(f.Errors()) != 1 || !strings.Contains(f.Errors()[0].Error(), want) {
			t.Errorf("%s: %v, want %q", text, f.Problems, want)
		}
	}
}

// A project's file that has the name of a person's own lifts nothing of it.
func TestFilesOfOneNameInTwoScopes(t *testing.T) {
	mine := policyfile.Read("a.yaml", []byte("version: 1\nrules:\n  - deny: Bash(ls:*)\n    priority: 1\n"), user)
	theirs := policyfile.Read("a.yaml", []byte("version: 1\nrules:\n  - ask: Bash(ls:*)\n    priority: 900\n"), policyfile.Config{})
	if d := decide(command("ls"), permissions.ModeDefault, append(mine.Rules, theirs.Rules...)); d.Verdict != never {
		t.Errorf("ls = %s (%s), want deny", d.Verdict, d.Reason)
	}
}
