package policyfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// The name of a program where the name of a tool belongs denies nothing: it is told, with what to write.
func TestAProgramIsNoTool(t *testing.T) {
	for name, row := range map[string]struct {
		file, text string
		next       string // empty: it is read as it stands
		warning    bool
	}{
		"yaml deny":         {"p.yaml", "version: 1\nrules:\n  - deny: rm\n", "write Bash(rm:*)", false},
		"yaml ask":          {"p.yaml", "version: 1\nrules:\n  - ask: [docker]\n", "write Bash(docker:*)", false},
		"yaml allow":        {"p.yaml", "version: 1\nrules:\n  - allow: frob\n", "write Bash(frob:*)", true},
		"yaml mapping":      {"p.yaml", "version: 1\nrules:\n  - deny: {tool: rm}\n", "write Bash(rm:*)", false},
		"with words":        {"p.yaml", "version: 1\nrules:\n  - deny: rm(-rf:*)\n", "write Bash(rm:*)", false},
		"claude deny":       {"s.json", `{"permissions": {"deny": ["rm"]}}`, "write Bash(rm:*)", false},
		"claude ask":        {"s.json", `{"permissions": {"ask": ["git-lfs"]}}`, "write Bash(git-lfs:*)", false},
		"claude allow":      {"s.json", `{"permissions": {"allow": ["my-lint"]}}`, "write Bash(my-lint:*)", true},
		"gemini deny":       {"p.toml", "[[rule]]\ntoolName = \"rm\"\ndecision = \"deny\"\npriority = 1\n", `toolName = "run_shell_command"`, false},
		"gemini's own tool": {"p.toml", "[[rule]]\ntoolName = \"fetch_ticket\"\ndecision = \"deny\"\npriority = 1\n", "", false},
		"a server's":        {"s.json", `{"permissions": {"deny": ["mcp__db__query"], "ask": ["mcp__web"]}}`, "", false},
		"gemini's server":   {"s.json", `{"permissions": {"deny": ["mcp_db_query"]}}`, "", false},
		"capitalised":       {"s.json", `{"permissions": {"deny": ["Telescope"]}}`, "", false},
		"known elsewhere":   {"s.json", `{"permissions": {"deny": ["save_memory", "run_shell_command", "shell"]}}`, "", false},
		"a command":         {"s.json", `{"permissions": {"deny": ["Bash(rm:*)"]}}`, "", false},
	} {
		f := policyfile.Read(row.file, []byte(row.text), user)
		if row.next == "" {
			if len(f.Problems) > 0 {
				t.Errorf("%s: %v", name, f.Problems)
			}
			continue
		}
		if len(f.Problems) != 1 || f.Problems[0].Warning != row.warning || !strings.Contains(f.Problems[0].Next, row.next) {
			t.Errorf("%s: %+v, want one with %q", name, f.Problems, row.next)
		}
		if !row.warning && decide(command("rm -rf x"), permissions.ModeBypass, f.Rules).Verdict == permissions.Allow {
			t.Errorf("%s: what it could have meant passes", name)
		}
	}
	if _, err := policyfile.ParseRule("deny:rm"); err == nil || policyfile.IsWarning(err) {
		t.Errorf("deny:rm: %v", err)
	}
}

// A file says how many rules stand in it, how many of them cannot be read, and how many do nothing.
func TestRulesAreCountedAsTheyAreWritten(t *testing.T) {
	for name, row := range map[string]struct {
		file, text            string
		written, unread, idle int
	}{
		"yaml":      {"p.yaml", "version: 1\nrules:\n  - deny: [Bash(a), Bash(b)]\n  - allow: Bash\n  - deny: Bsh(x)\n  - ask: Bash(c)\n", 4, 1, 1},
		"claude":    {"s.json", `{"permissions": {"deny": ["Bash(a)", "Bsh(x)", 3], "allow": ["Bash", "frob"]}}`, 5, 2, 2},
		"gemini":    {"p.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 1\n[[rule]]\ntoolName = \"x\"\n", 2, 1, 1},
		"no TOML":   {"p.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 1\n[[rule]]\ntoolName = \n", 2, 1, 0},
		"no YAML":   {"p.yaml", "rules: [", 0, 0, 0},
		"other key": {"p.yaml", "version: 1\nruls: []\n", 0, 0, 0},
	} {
		f := policyfile.Read(row.file, []byte(row.text), user)
		if f.Written != row.written || f.Unread != row.unread || f.Idle != row.idle {
			t.Errorf("%s: %d written, %d unread, %d idle, want %d, %d, %d: %v", name, f.Written, f.Unread, f.Idle, row.written, row.unread, row.idle, f.Problems)
		}
	}
}

// What is wrong is said in words, not in those of Go.
func TestProblemsAreSaidInWords(t *testing.T) {
	for name, row := range map[string]struct{ file, text, want string }{
		"no decision":  {"p.toml", "[[rule]]\ntoolName = \"*\"\npriority = 1\n", "it has no decision: use allow, ask_user or deny"},
		"no priority":  {"p.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\n", "it has no priority: give it a whole number from 0 to 999"},
		"no tool":      {"p.toml", "[[rule]]\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 1\n", "toolName is missing"},
		"several":      {"p.toml", "[[rule]]\ntoolName = [\"read_file\", \"glob\"]\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 1\n", "toolName is read_file, glob"},
		"modes":        {"p.yaml", "version: 1\nrules:\n  - {deny: Bash(rm), modes: [night]}\n", `the mode "night" is not known: use default, acceptEdits, plan, auto, dontAsk or bypassPermissions (Gemini's autoEdit and yolo are acceptEdits and bypassPermissions)`},
		"near a mode":  {"p.yaml", "version: 1\nrules:\n  - {deny: Bash(rm), modes: [dontask]}\n", `did you mean "dontAsk"?`},
		"mode of test": {"p.yaml", "version: 1\ntests:\n  - {command: ls, want: ask, mode: night}\n", `the mode "night" is not known: use default, acceptEdits, plan, auto, dontAsk or bypassPermissions (`},
		"no want":      {"p.yaml", "version: 1\ntests:\n  - {command: ls}\n", "it does not say what it wants: write want: allow, ask or deny"},
		"a mode":       {"s.json", `{"permissions": {"defaultMode": "plan"}}`, "defaultMode: it changes nothing here"},
		"bypass":       {"s.json", `{"permissions": {"disableBypassPermissionsMode": "disable"}}`, "disableBypassPermissionsMode: it changes nothing here"},
	} {
		f := policyfile.Read(row.file, []byte(row.text), user)
		if !slices.ContainsFunc(f.Problems, func(p policyfile.Problem) bool { return strings.Contains(p.Error(), row.want) }) {
			t.Errorf("%s: %v, want %s", name, f.Problems, row.want)
		}
		for _, p := range f.Problems {
			if strings.Contains(p.Error(), "nil") || strings.Contains(p.Error(), "[") && name == "several" {
				t.Errorf("%s: %s", name, p.Error())
			}
		}
	}
	f := policyfile.Read("p.toml", []byte("[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 100\n"), user)
	if want := "p.toml:1 rule 1, priority 100 of a user"; len(f.Rules) != 1 || f.Rules[0].Source != want {
		t.Errorf("%+v, want %s", f.Rules, want)
	}
}

// The names of rules are kept, for examples that name one.
func TestNamesOfRules(t *testing.T) {
	f := policyfile.Read("p.yaml", []byte("version: 1\nrules:\n  - {name: lint, allow: Bash(make lint)}\n  - {deny: Bash(x)}\n  - {name: nopush, deny: [Bash(a), Bash(b)]}\n"), user)
	if !slices.Equal(f.Names, []string{"lint", "nopush"}) {
		t.Errorf("%v", f.Names)
	}
}
