package permissions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// manyWords are more than one text is searched for paths.
var manyWords = func() string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}()

// What a call's arguments say, however they spell it, is what is judged.
func TestArgumentsAreReadAsTheirToolReadsThem(t *testing.T) {
	fetch, write := "WebFetch(domain:good.com)", "mcp__fs__write"
	for name, row := range map[string]struct {
		rule string
		mode permissions.Mode
		call permissions.Call
		want permissions.Verdict
	}{
		"state, escaped":         {"", permissions.ModeBypass, permissions.Call{Tool: "mcp__fs__read", Args: `{"p":"\u002fhome/user/.config/sw\u0061rm/x"}`}, never},
		"state, slashes escaped": {"", permissions.ModeBypass, permissions.Call{Tool: "mcp__fs__read", Args: `{"p":"\/home\/user\/.config\/swarm\/x"}`}, never},
		"state, behind much":     {write, permissions.ModeDefault, permissions.Call{Tool: write, Args: `{"a":"` + manyWords + `","p":"/home/user/.config/swarm/x"}`}, never},
		"a verb, escaped":        {"", permissions.ModeBypass, permissions.Call{Tool: "mcp__sh__run", Args: `{"c":"sw\u0061rm \u0061pprove x"}`}, never},
		"a verb in a list":       {"", permissions.ModeBypass, permissions.Call{Tool: "mcp__sh__run", Args: `{"c":["sw\u0061rm","approve","x"]}`}, never},
		"credentials, escaped":   {write, permissions.ModeDefault, permissions.Call{Tool: write, Args: `{"p":"/home/user/.s\u0073h/config"}`}, maybe},
		"protected":              {write, permissions.ModeDefault, permissions.Call{Tool: write, Args: `{"p":".git/hooks/pre-commit"}`}, maybe},
		"protected, escaped":     {write, permissions.ModeDefault, permissions.Call{Tool: write, Args: `{"p":"\u002egit/config"}`}, maybe},
		"a file of the tree":     {write, permissions.ModeDefault, permissions.Call{Tool: write, Args: `{"p":"docs/a \"b\".md"}`}, yes},

		"another file":           {"", permissions.ModeAcceptEdits, permissions.Call{Tool: "Edit", Path: "a.go", Args: `{"file_path":"/etc/passwd"}`}, maybe},
		"another file to read":   {"", permissions.ModeDefault, permissions.Call{Tool: "Read", Path: "a.go", Args: `{"file_path":"/etc/shadow"}`}, maybe},
		"the same file":          {"", permissions.ModeAcceptEdits, permissions.Call{Tool: "Edit", Path: "a.go", Args: `{"file_path":"a.go","old_string":"x"}`}, yes},
		"the same, from /":       {"", permissions.ModeAcceptEdits, permissions.Call{Tool: "Edit", Path: "/project/a.go", Args: `{"file_path":"a.go"}`}, yes},
		"a pattern upwards":      {"", permissions.ModeDefault, permissions.Call{Tool: "Glob", Path: "src", Args: `{"pattern":"../../**"}`}, maybe},
		"a pattern below":        {"", permissions.ModeDefault, permissions.Call{Tool: "Glob", Path: "src", Args: `{"pattern":"*.go"}`}, yes},
		"a list besides a path":  {"", permissions.ModeDefault, permissions.Call{Tool: "read_many_files", Args: `{"path":"src","paths":["/etc/shadow"]}`}, maybe},
		"another command":        {"", permissions.ModeDefault, permissions.Call{Tool: "Bash", Command: "ls", Args: `{"command":"rm -rf src"}`}, maybe},
		"another command, words": {"", permissions.ModeDefault, permissions.Call{Tool: "shell", Command: "ls", Args: `{"command":["rm","-rf","src"]}`}, maybe},
		"another folder":         {"", permissions.ModeDefault, permissions.Call{Tool: "shell", Command: "cat a", Args: `{"command":["cat","a"],"workdir":"/etc"}`}, maybe},
		"the same command":       {"", permissions.ModeDefault, permissions.Call{Tool: "Bash", Command: "ls", Args: `{"command":"ls","description":"list"}`}, yes},

		"fetch":                  {fetch, permissions.ModeDefault, permissions.Call{Tool: "WebFetch", Args: `{"url":"https://good.com/a","prompt":"sum it up"}`}, yes},
		"fetch, its path":        {fetch, permissions.ModeDefault, permissions.Call{Tool: "WebFetch", Path: "https://good.com/a"}, yes},
		"fetch, another key":     {fetch, permissions.ModeDefault, permissions.Call{Tool: "WebFetch", Args: `{"url":"https://evil.com/","URL":"https://good.com/"}`}, maybe},
		"fetch, twice":           {fetch, permissions.ModeDefault, permissions.Call{Tool: "WebFetch", Args: `{"url":"https://evil.com/","url":"https://good.com/"}`}, maybe},
		"fetch, in its prompt":   {fetch, permissions.ModeDefault, permissions.Call{Tool: "web_fetch", Args: `{"prompt":"read https://evil.com/","url":"https://good.com/"}`}, maybe},
		"fetch, both in a text":  {fetch, permissions.ModeDefault, permissions.Call{Tool: "web_fetch", Args: `{"prompt":"read https://good.com/ and https://evil.com"}`}, maybe},
		"fetch, one in a text":   {fetch, permissions.ModeDefault, permissions.Call{Tool: "web_fetch", Args: `{"prompt":"read https://good.com/a"}`}, maybe},
		"fetch, in a list":       {fetch, permissions.ModeDefault, permissions.Call{Tool: "web_fetch", Args: `{"url":"https://good.com/","urls":["https://evil.com"]}`}, maybe},
		"fetch a file":           {fetch, permissions.ModeDefault, permissions.Call{Tool: "WebFetch", Args: `{"url":"file://good.com/etc/passwd"}`}, maybe},
		"denied, another key":    {"deny:WebFetch(domain:evil.com)", permissions.ModeBypass, permissions.Call{Tool: "WebFetch", Args: `{"url":"https://evil.com/","URL":"https://good.com/"}`}, never},
		"denied, in its prompt":  {"deny:WebFetch(domain:evil.com)", permissions.ModeBypass, permissions.Call{Tool: "web_fetch", Args: `{"prompt":"read https://evil.com/","url":"https://good.com/"}`}, never},
		"denied, its path first": {"deny:WebFetch(domain:evil.com)", permissions.ModeBypass, permissions.Call{Tool: "WebFetch", Path: "https://evil.com", Args: `{"url":"https://good.com"}`}, never},
		"denied, none is told":   {"deny:WebFetch(domain:evil.com)", permissions.ModeBypass, permissions.Call{Tool: "web_fetch", Args: `{"prompt":"read evil.com"}`}, never},
		"denied, another":        {"deny:WebFetch(domain:evil.com)", permissions.ModeBypass, permissions.Call{Tool: "WebFetch", Args: `{"url":"https://good.com/"}`}, yes},
	} {
		s := state(row.mode)
		if row.rule != "" {
			rule, err := policyfile.ParseRule(row.rule)
			if err != nil {
				t.Fatal(err)
			}
			s.Rules = append(s.Rules, rule)
		}
		row.call.Cwd = "/project"
		if d := permissions.New(lexical).Decide(row.call, s); d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
	}
}

// A patch is judged only when it is the one that is applied, from where it is applied.
func TestPatchesThatAreGivenTwice(t *testing.T) {
	inside, outside := "*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch", "*** Begin Patch\n*** Add File: /etc/x\n+x\n*** End Patch"
	words := []string{"apply_patch", inside}
	for name, row := range map[string]struct {
		tool, command string
		args          map[string]any
		want          permissions.Verdict
	}{
		"one":            {"apply_patch", "", map[string]any{"input": inside}, yes},
		"the same twice": {"apply_patch", inside, map[string]any{"input": inside}, yes},
		"two arguments":  {"apply_patch", "", map[string]any{"input": inside, "patch": outside}, maybe},
		"another beside": {"apply_patch", outside, map[string]any{"input": inside}, maybe},
		"a key's case":   {"apply_patch", "", map[string]any{"input": inside, "Input": outside}, maybe},
		"a folder":       {"apply_patch", "", map[string]any{"input": inside, "workdir": "/etc"}, maybe},
		"swarm's state":  {"apply_patch", "", map[string]any{"input": inside, "patch": strings.ReplaceAll(outside, "/etc", "/home/user/.config/swarm")}, never},
		"words":          {"shell", "", map[string]any{"command": words}, yes},
		"no sandbox":     {"shell", "", map[string]any{"command": words, "with_escalated_permissions": true}, maybe},
		"an environment": {"shell", "", map[string]any{"command": words, "env": map[string]string{"A": "b"}}, maybe},
	} {
		c := permissions.Call{Tool: row.tool, Command: row.command, Args: argsJSON(t, row.args), Cwd: "/project"}
		if d := permissions.New(lexical).Decide(c, state(permissions.ModeAcceptEdits)); d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
		if d := permissions.New(lexical).Decide(c, state(permissions.ModePlan)); d.Verdict != never {
			t.Errorf("%s while planning: %s (%s), want deny", name, d.Verdict, d.Reason)
		}
	}
}
