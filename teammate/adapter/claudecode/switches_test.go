package claudecode_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/teammate/adapter/claudecode"
)

// Settings that keep our hooks from running are refused, with the file and the word; others are let be.
func TestHooksThatAreSwitchedOff(t *testing.T) {
	ours := func(command string) bool { return strings.HasPrefix(command, "'/opt/swarm' hook claude") }
	for name, c := range map[string]struct {
		settings string
		managed  bool // refused as the administrator's
		own      bool // refused as the person's or the project's
	}{
		"nothing":                 {`{}`, false, false},
		"hooks are on":            {`{"disableAllHooks": false, "allowManagedHooksOnly": false, "strictPluginOnlyCustomization": false}`, false, false},
		"all hooks off":           {`{"disableAllHooks": true}`, true, true},
		"managed hooks only":      {`{"allowManagedHooksOnly": true}`, true, false},
		"plugins only":            {`{"strictPluginOnlyCustomization": true}`, true, false},
		"plugins' hooks only":     {`{"strictPluginOnlyCustomization": ["skills", "hooks"]}`, true, false},
		"plugins' skills only":    {`{"strictPluginOnlyCustomization": ["skills"]}`, false, false},
		"unknown form":            {`{"strictPluginOnlyCustomization": {"hooks": 1}}`, true, false},
		"our hook":                {`{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "'/opt/swarm' hook claude || exit 2"}]}]}}`, false, false},
		"a hook that answers":     {`{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "./yes.sh"}]}]}}`, false, true},
		"one beside ours":         {`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "'/opt/swarm' hook claude || exit 2"}, {"type": "prompt", "prompt": "be kind"}]}]}}`, false, true},
		"one that only looks":     {`{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "beep"}]}]}}`, false, false},
		"a switch in its env":     {`{"env": {"CLAUDE_CODE_SIMPLE": "1"}}`, false, true},
		"a program around hooks":  {`{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/bin/true"}}`, false, true},
		"other settings":          {`{"env": {"CLAUDE_CONFIG_DIR": ".evil"}}`, false, true},
		"plugins of its own":      {`{"env": {"CLAUDE_CODE_PLUGIN_SEED_DIR": "plugins"}}`, false, true},
		"another gate":            {`{"env": {"Swarm_Socket": "/tmp/x"}}`, false, true},
		"a loader":                {`{"env": {"LD_PRELOAD": "./x.so"}}`, false, true},
		"an env of its own":       {`{"env": {"FOO": 1, "PATHS": "x"}}`, false, false},
		"not JSON":                {`disableAllHooks = true`, true, true},
		"another type":            {`{"disableAllHooks": "yes"}`, true, true},
		"the word in other words": {`{"DisableAllHooks": true}`, true, true}, // read as the client might, and refused
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "managed-settings.json")
			if err := os.WriteFile(file, []byte(c.settings), 0o600); err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string]error{"managed": claudecode.CheckManaged(dir), "own": claudecode.CheckSettings([]string{file}, ours)} {
				want := c.managed
				if what == "own" {
					want = c.own
				}
				if errors.Is(got, claudecode.ErrHooksOff) != want || want && !strings.Contains(got.Error(), file) {
					t.Errorf("%s: %v, want refused %v", what, got, want)
				}
			}
		})
	}
	if err := claudecode.CheckManaged(t.TempDir()); err != nil {
		t.Errorf("no file: %v", err)
	}
	if err := claudecode.CheckSettings([]string{t.TempDir()}, ours); !errors.Is(err, claudecode.ErrHooksOff) {
		t.Errorf("a folder in its place: %v", err)
	}
}

// More files of the administrator count as well.
func TestManagedSettingsInPieces(t *testing.T) {
	dir := t.TempDir()
	pieces := filepath.Join(dir, "managed-settings.d")
	err := os.Mkdir(pieces, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(pieces, "10-off.json"), []byte(`{"disableAllHooks": true}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := claudecode.CheckManaged(dir); !errors.Is(err, claudecode.ErrHooksOff) {
		t.Errorf("got %v", err)
	}
}

// Whatever a settings file holds, it is read or refused.
func FuzzSettings(f *testing.F) {
	f.Add(`{"disableAllHooks": true}`)
	f.Add(`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}`)
	f.Add(`{"hooks": null, "strictPluginOnlyCustomization": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "managed-settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := claudecode.CheckManaged(dir); err != nil && !errors.Is(err, claudecode.ErrHooksOff) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// What a hook answers where nobody can be asked lets nothing through, in the form of each event.
func TestRefuse(t *testing.T) {
	for event, want := range map[string]string{
		"PreToolUse":        `"permissionDecision":"deny"`,
		"PermissionRequest": `"behavior":"deny"`,
		"PostToolUse":       `"decision":"block"`,
		"Stop":              `{}`,
		"SessionStart":      `{}`,
		"":                  `"permissionDecision":"deny"`,
	} {
		if got := mustMarshal(t, claudecode.Refuse(event, "no gate")); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", event, got, want)
		}
	}
	if got := claudecode.EventOf([]byte(`{"hook_event_name":"Stop"`)); got != "" {
		t.Errorf("half an event is %q", got)
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
