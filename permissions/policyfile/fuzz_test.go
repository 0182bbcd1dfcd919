package policyfile_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// check is what holds of every file, whatever stands in it.
func check(t *testing.T, name string, data []byte) {
	for _, cfg := range []policyfile.Config{user, project} {
		f := policyfile.Read(name, data, cfg)
		for _, p := range f.Problems {
			if p.Reason == "" || p.Next == "" || p.Line < 0 || p.Line > bytes.Count(data, []byte("\n"))+2 {
				t.Fatalf("a problem that helps nobody: %+v", p)
			}
		}
		for _, r := range f.Rules {
			if r.Verdict == permissions.Allow && cfg == project {
				t.Fatalf("a project's rule allows: %+v", r)
			}
			if r.Verdict != permissions.Allow && r.Tool == "" {
				t.Fatalf("a rule that narrows nothing: %+v", r)
			}
		}
		if !utf8.Valid(data) && decide(command("ls"), permissions.ModeBypass, f.Rules).Verdict != never {
			t.Fatalf("%q is no text, and does not deny", data)
		}
		for _, call := range []permissions.Call{
			command("zq-any a"), command("swarm approve x"), {Tool: "Write", Path: "CLAUDE.md"}, {Tool: "Read", Path: "/home/user/.config/swarm/x"}, {Tool: "zq"}, {Tool: "mcp__a__b__c"},
		} {
			if d := decide(call, permissions.ModePlan, f.Rules); d.Verdict == yes {
				t.Fatalf("in plan mode %+v is allowed: %s", call, d.Reason)
			}
		}
		// What only narrows never raises a verdict.
		narrow := policyfile.Read(name, data, project).Rules
		for _, call := range []permissions.Call{command("ls"), command("make a"), {Tool: "Read", Path: "a"}, {Tool: "Write", Path: "a"}} {
			if before, after := decide(call, permissions.ModeDefault, nil), decide(call, permissions.ModeDefault, narrow); rank[after.Verdict] > rank[before.Verdict] {
				t.Fatalf("%+v rises from %s to %s (%s)", call, before.Verdict, after.Verdict, after.Reason)
			}
		}
	}
}

var rank = map[permissions.Verdict]int{never: 0, maybe: 1, yes: 2}

func FuzzClaudeSettings(f *testing.F) {
	for _, seed := range []string{
		`{"permissions": {"allow": ["Bash(make:*)", "Read(a/**)"], "deny": ["Bash(git push:*)"], "ask": ["mcp__a"]}}`, `{"permisions": {"deny": []}}`, `{"permissions": {"deny": [[[{}]]]}}`, `{`, ``, `null`, "{\"a\": \"\xff\"}",
		`{"permissions": {"deny": ["Bash(* x)"]}, "permissions": 7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "settings.json", data) })
}

func FuzzPolicyTOML(f *testing.F) {
	for _, seed := range []string{
		string(toml(shell+`commandPrefix = ["a", "b"]`+allow(1), "toolName = \"*\""+deny(2))), string(toml(shell + "commandRegex = 'a|b'" + asks(1))), "[[rule]", "x = [", "[[rules]]", "rule = []",
		string(toml("mcpName = \"a\"\ntoolAnnotations = { a = true }" + allow(3))), "[[rule]]\ndecision = \"allow\"\n[[rule]]\ndecision", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "p.toml", data) })
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{ours, "version: 1", "version: 1\nrules: [{deny: &a [*a]}]", "version: 1\nrules:\n- deny: {tool: Bash, regex: '('}", "a: b: c", "\x00", "\xff", "version: 1\nrules: [{allow: {tool: '*', server: a}}]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "p.yaml", data) })
}

func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{"Bash(git push:*)", "deny:Bash(x)", "ask:Read(a/**)", "Bash(a 'b", "mcp__a__b", "((", "deny:deny:Bash", "WebFetch(domain:a.b)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := policyfile.ParseRule(text)
		if err != nil && !policyfile.IsWarning(err) {
			return
		}
		if strings.HasPrefix(text, "deny:") && r.Verdict != never || r.Tool == "" {
			t.Fatalf("ParseRule(%q) = %+v", text, r)
		}
		if d := decide(command("zq-any a"), permissions.ModeDefault, []permissions.Rule{r}); d.Verdict == yes && !strings.Contains(text, "zq-any") {
			t.Fatalf("ParseRule(%q) allows everything: %s", text, d.Reason)
		}
	})
}
