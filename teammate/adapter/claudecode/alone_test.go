package claudecode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/teammate/adapter/claudecode"
)

// Without a runner a client is its person's own, and still leaves plan mode for nobody; where the runner died, it only reads.
func TestAlone(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	plans := filepath.Join(home, ".claude", "plans")
	if err == nil {
		err = os.MkdirAll(plans, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	engine := permissions.New(permissions.Config{Resolver: permissions.Lexical()})
	for _, c := range []struct {
		event, mode, tool, input string
		quiet, orphan            bool // whether nothing is said: without a runner, and after one that died
	}{
		{"PreToolUse", "default", "Bash", `{"command": "touch x"}`, true, false},
		{"PreToolUse", "bypassPermissions", "Write", `{"file_path": "x", "content": "x"}`, true, false},
		{"PreToolUse", "default", "Read", `{"file_path": "go.mod"}`, true, true},
		{"PreToolUse", "default", "ExitPlanMode", `{}`, true, false},
		{"PermissionRequest", "default", "Bash", `{"command": "touch x"}`, true, false},
		{"PreToolUse", "plan", "Bash", `{"command": "touch x"}`, false, false},
		{"PreToolUse", "plan", "Bash", `{"command": "ls"}`, true, true},
		{"PreToolUse", "plan", "Read", `{"file_path": "go.mod"}`, true, true},
		{"PreToolUse", "plan", "Write", `{"file_path": "x.md", "content": "x"}`, false, false},
		{"PreToolUse", "plan", "Write", fmt.Sprintf(`{"file_path": %q, "content": "x"}`, filepath.Join(plans, "my.md")), true, true},
		{"PreToolUse", "plan", "Agent", `{"prompt": "write it"}`, false, false},
		{"PreToolUse", "plan", "mcp__x__y", `{}`, false, false},
		{"PreToolUse", "plan", "WebFetch", `{"url": "http://x"}`, false, false},
		{"PreToolUse", "plan", "AskUserQuestion", `{}`, true, true},
		{"PreToolUse", "plan", "ExitPlanMode", `{"plan": "x"}`, false, false},
		{"PermissionRequest", "plan", "ExitPlanMode", `{"plan": "x"}`, false, false},
		{"PostToolUse", "plan", "ExitPlanMode", `{"plan": "x"}`, false, false},
		{"PostToolUse", "acceptEdits", "ExitPlanMode", `{"plan": "x"}`, true, false}, // its person has left plan mode
		{"PostToolUse", "plan", "Bash", `{"command": "ls"}`, true, true},
		{"Stop", "plan", "", `{}`, true, true},
		{"UserPromptSubmit", "plan", "", `{}`, true, true},
	} {
		event := []byte(fmt.Sprintf(`{"hook_event_name": %q, "permission_mode": %q, "tool_name": %q, "tool_input": %s, "cwd": "/project"}`, c.event, c.mode, c.tool, c.input))
		for why, quiet := range map[string]bool{"": c.quiet, "the runner is gone": c.orphan} {
			got := mustMarshal(t, claudecode.Alone(event, engine, home, plans, why))
			if (got == "{}") != quiet || strings.Contains(got, "allow") || !quiet && why != "" && !strings.Contains(got, why) {
				t.Errorf("%s %s %s %s (why %q): %s, want it quiet: %v", c.event, c.mode, c.tool, c.input, why, got, quiet)
			}
		}
	}
	for _, junk := range []string{"", "x", "[]", `{"hook_event_name": 7}`, `{}`} {
		if got := mustMarshal(t, claudecode.Alone([]byte(junk), engine, home, plans, "")); !strings.Contains(got, `"deny"`) {
			t.Errorf("%q: %s, want deny", junk, got)
		}
	}
}

// Whatever a client tells a hook, the answer is quiet or a no.
func FuzzAlone(f *testing.F) {
	engine := permissions.New(permissions.Config{Resolver: permissions.Lexical()})
	f.Add([]byte(`{"hook_event_name": "PreToolUse", "permission_mode": "plan", "tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/project"}`))
	f.Add([]byte(`{"hook_event_name": "PermissionRequest", "permission_mode": "plan", "tool_name": "ExitPlanMode"}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		got := mustMarshal(t, claudecode.Alone(event, engine, "/home/u", "/home/u/.claude/plans", "gone"))
		if got != "{}" && !strings.Contains(got, `"deny"`) && !strings.Contains(got, `"block"`) {
			t.Errorf("%q: %s", event, got)
		}
	})
}

// A hook is ours when its line is exactly the one that the settings have.
func TestIsOwnHook(t *testing.T) {
	settings := claudecode.OwnSettings("/opt/a b/swarm", "/state/it's/attach.json")
	long := `'/opt/a b/swarm' hook claude --for 23h0m0s --attach '/state/it'\''s/attach.json' || exit 2`
	if !strings.Contains(settings, mustMarshal(t, long)) {
		t.Errorf("settings %s have not the line %s", settings, long)
	}
	for line, want := range map[string]bool{long: true, long + "; touch x": false, " " + long: false, strings.TrimSuffix(long, " || exit 2"): false, "": false} {
		if claudecode.IsOwnHook(line, "/opt/a b/swarm", "/state/it's/attach.json") != want {
			t.Errorf("%q is ours: %v", line, !want)
		}
	}
}
