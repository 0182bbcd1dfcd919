package claudecode

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Only flags that are known to narrow, or to change nothing about who decides, reach the client.
func TestOnlyKnownFlagsArePassedOn(t *testing.T) {
	for _, args := range [][]string{
		{"--dangerously-skip-permissions"},
		{"--settings={}"},
		{"--settings", "{}"},
		{"--allowedTools", "Bash"},
		{"--setting-sources=user"},
		{"-p"},
		{"--permission-mode=auto"},
		{"--model", "m", "--add-dir", "/"},
		{"--agents", "{}"},
		{"--plugin-dir", "x"},
		{"--resume"},
		{"--model", "--settings"},
		{"--safe-mode"},
		{"--a-flag-of-tomorrow"},
		{"--MODEL", "m"},
		{"--mode", "m"},
		{"a word"},
		{"--model", "m", "more"},
		{"--disable-slash-commands=x"},
		{"--model"},
		{""},
		{"-"},
		{"--"},
	} {
		if err := CheckArgs(args); !errors.Is(err, ErrFlag) {
			t.Errorf("%q: %v", args, err)
		}
	}
	err := CheckArgs([]string{"--settings", "{}"})
	if err == nil || !strings.Contains(err.Error(), "--settings") || !strings.Contains(err.Error(), "--model") {
		t.Errorf("%v does not say what may be passed", err)
	}
	rest, _, err := split([]string{"--model", "m", "--betas", "a", "b", "--append-system-prompt=--settings", "--disable-slash-commands", "--tools=Read"})
	want := []string{"--model=m", "--betas=a", "--betas=b", "--append-system-prompt=--settings", "--disable-slash-commands", "--tools=Read"}
	if err != nil || !slices.Equal(rest, want) {
		t.Errorf("passed on: %q %v", rest, err)
	}
}

// A person's MCP servers are read once, and none of them is taken for ours.
func TestServersAreHandedOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"notes": {"command": "notes"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Client: "/c", Tree: "/t", Socket: "/s", PlanFile: "/p", Task: "x", Executable: "/swarm", Tools: []string{"mail_send"}, Args: []string{"--mcp-config", file, `{"mcpServers": {"git-hub": {"url": "x"}}}`}}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Servers map[string]struct {
			Command, URL string
			Env          map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(c.mcpServers()), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Servers) != 3 || doc.Servers["notes"].Command != "notes" || doc.Servers["git-hub"].URL != "x" || doc.Servers["swarm"].Command != "/swarm" || doc.Servers["swarm"].Env["SWARM_SOCKET"] != "/s" {
		t.Errorf("%+v", doc)
	}
	for tool, want := range map[string]bool{"mcp__swarm__mail_send": true, "mcp__swarm__approve": false, "mcp__notes__mail_send": false, "mail_send": false} {
		if c.ownTool(tool) != want {
			t.Errorf("%s counts as ours: %v", tool, !want)
		}
	}
	for _, v := range []string{
		"/nowhere.json", t.TempDir(), "{", "{}", `{"mcpServers": {"swarm": {}}}`, `{"mcpServers": {"a__b": {}}}`, `{"mcpServers": {"_a": {}}}`, `{"mcpServers": {"": {}}}`, `{"mcpServers": {"swarm ": {}}}`, `{"mcpServers": []}`,
	} {
		if err := CheckArgs([]string{"--mcp-config", v}); !errors.Is(err, ErrFlag) {
			t.Errorf("%q: %v", v, err)
		}
	}
	if err := CheckArgs([]string{"--mcp-config", file, "--mcp-config", file}); !errors.Is(err, ErrFlag) {
		t.Errorf("a name used twice: %v", err)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("--model\x00m\x00--betas\x00a\x00b")
	f.Add("--append-system-prompt=--settings\x00--mcp-config\x00{\"mcpServers\":{\"a\":1}}")
	f.Add("--settings={}")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, mcpConfig) && !strings.Contains(line, "{") {
			return // no files here
		}
		rest, servers, err := split(strings.Split(line, "\x00"))
		if err != nil && !errors.Is(err, ErrFlag) {
			t.Fatal(err)
		}
		for _, arg := range rest {
			name, _, attached := strings.Cut(arg, "=")
			if n, known := passed[name]; !known || attached != (n != 0) || name == mcpConfig {
				t.Errorf("%q passes %q on", line, arg)
			}
		}
		if _, ours := servers[ownServer]; ours {
			t.Errorf("%q takes our name", line)
		}
	})
}
