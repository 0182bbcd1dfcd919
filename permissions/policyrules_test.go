package permissions_test

import (
	"regexp"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// A pattern that only matches a part of a command, or of the line, allows nothing.
func TestPatternsAllowOnlyWhatTheyMatchWhole(t *testing.T) {
	for command, want := range map[string]permissions.Verdict{"make a": yes, "make a b": maybe, "x make a": maybe, "make a; rm x": maybe, "make 'a'": yes, "make 'a\nb'": maybe, "make $x": maybe, "./make a": maybe} {
		s := state(permissions.ModeDefault)
		s.Rules = []permissions.Rule{{Verdict: yes, Tool: "Bash", Pattern: regexp.MustCompile("make a")}}
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
		s.Rules = []permissions.Rule{{Verdict: yes, Tool: "Bash", Args: regexp.MustCompile("{\x00\"command\":\"make a\"\x00}")}}
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("by arguments, Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// What a server says of its tools is a claim.
func TestHintsCountOnlyFromTrustedServers(t *testing.T) {
	reads := map[string]bool{"readOnlyHint": true}
	for name, row := range map[string]struct {
		call    permissions.Call
		trusted []string
		want    permissions.Verdict
	}{
		"trusted":             {permissions.Call{Tool: "mcp__db__query", Hints: reads}, []string{"db"}, yes},
		"trusted by its name": {permissions.Call{Tool: "query", Server: "db", Hints: reads}, []string{"db"}, yes},
		"not trusted":         {permissions.Call{Tool: "mcp__db__query", Hints: reads}, []string{"web"}, maybe},
		"nobody is":           {permissions.Call{Tool: "mcp__db__query", Hints: reads}, nil, maybe},
		"no hint":             {permissions.Call{Tool: "mcp__db__query"}, []string{"db"}, maybe},
		"it writes":           {permissions.Call{Tool: "mcp__db__query", Hints: map[string]bool{"readOnlyHint": false}}, []string{"db"}, maybe},
		"contradiction":       {permissions.Call{Tool: "mcp__db__query", Hints: map[string]bool{"readOnlyHint": true, "destructiveHint": true}}, []string{"db"}, maybe},
		"a longer name":       {permissions.Call{Tool: "mcp__db__x__query", Hints: reads}, []string{"db"}, maybe},
		"another server":      {permissions.Call{Tool: "mcp__db__query", Server: "evil", Hints: reads}, []string{"db"}, maybe},
		"not a server's":      {permissions.Call{Tool: "query", Hints: reads}, []string{"", "db"}, maybe},
		"swarm's own state":   {permissions.Call{Tool: "mcp__db__query", Path: "/home/user/.config/swarm/x", Hints: reads}, []string{"db"}, never},
		"credentials":         {permissions.Call{Tool: "mcp__db__query", Path: "/home/user/.ssh/id_rsa", Hints: reads}, []string{"db"}, maybe},
		"a known tool":        {permissions.Call{Tool: "Write", Path: "/project/a", Server: "db", Hints: reads}, []string{"db"}, never},
	} {
		s := state(permissions.ModePlan)
		s.Trusted, row.call.Cwd = row.trusted, "/project"
		if d := permissions.New(lexical).Decide(row.call, s); d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
		s.Rules = []permissions.Rule{{Verdict: never, Tool: "mcp_*"}}
		if d := permissions.New(lexical).Decide(row.call, s); row.want == yes && d.Verdict != never {
			t.Errorf("%s, with a deny rule: %s (%s), want deny", name, d.Verdict, d.Reason)
		}
	}
}

// An answer to one call of a server's tool is no answer to another one.
func TestTheHashCoversArguments(t *testing.T) {
	hash := func(c permissions.Call) string {
		return permissions.New(lexical).Decide(c, state(permissions.ModeDefault)).Hash
	}
	seen := map[string]string{}
	for name, c := range map[string]permissions.Call{
		"none": {Tool: "mcp__db__query"}, "one": {Tool: "mcp__db__query", Args: `{"a":1}`}, "two": {Tool: "mcp__db__query", Args: `{"a":2}`}, "server": {Tool: "mcp__db__query", Server: "db"},
	} {
		if other, there := seen[hash(c)]; there {
			t.Errorf("the calls %s and %s have one hash", name, other)
		}
		seen[hash(c)] = name
	}
}
