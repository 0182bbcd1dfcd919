package permissions_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// A command that an ask rule names says so, whatever else would have let it pass, or covers it not at all.
func TestAnAskRuleIsNamedByTheCommandThatItNames(t *testing.T) {
	rule := func(words ...string) permissions.Rule {
		return permissions.Rule{Verdict: permissions.Ask, Tool: "Bash", Argv: words, Prefix: true, Source: "s.json:4"}
	}
	for command, row := range map[string]struct {
		rule    permissions.Rule
		reason  string   // of the line
		reasons []string // of each command
	}{
		"docker ps":                 {rule("docker"), "an ask rule names docker ps (s.json:4)", []string{"an ask rule names it (s.json:4)"}},
		"git push":                  {rule("git", "push"), "an ask rule names git push (s.json:4)", []string{"an ask rule names it (s.json:4)"}},
		"frobnicate":                {rule("frobnicate"), "an ask rule names frobnicate (s.json:4)", []string{"an ask rule names it (s.json:4)"}},
		"go test ./...":             {rule("go", "test"), "an ask rule names go test ./... (s.json:4)", []string{"an ask rule names it (s.json:4)"}},
		"ls && docker ps":           {rule("docker"), "an ask rule names docker ps (s.json:4)", []string{"it only reads inside the working tree", "an ask rule names it (s.json:4)"}},
		"timeout 5 docker ps":       {rule("docker"), "an ask rule names docker ps (s.json:4)", []string{"an ask rule names docker ps (s.json:4)"}},
		"ls; timeout 5 ls -a":       {rule("ls", "-a"), "an ask rule names ls -a (s.json:4)", []string{"it only reads inside the working tree", "an ask rule names ls -a (s.json:4)"}},
		"git push >out":             {rule("git", "push"), "it writes out", []string{"it writes out; an ask rule names it (s.json:4)"}},
		"frobnicate; docker ps":     {rule("docker"), "", []string{"", "an ask rule names it (s.json:4)"}},
		"docker ps; docker version": {rule("docker"), "an ask rule names docker ps (s.json:4)", []string{"an ask rule names it (s.json:4)", "an ask rule names it (s.json:4)"}},
	} {
		s := state(permissions.ModeDefault)
		s.Rules = []permissions.Rule{row.rule}
		s.Grants = []permissions.Grant{grant("run tests")}
		d := decide(command, s)
		if d.Verdict != permissions.Ask || row.reason != "" && d.Reason != row.reason || len(d.Commands) != len(row.reasons) {
			t.Errorf("%s: %s (%s) of %d, want ask (%s) of %d", command, d.Verdict, d.Reason, len(d.Commands), row.reason, len(row.reasons))
			continue
		}
		if strings.HasPrefix(row.reason, "an ask rule names ") && d.Rule != "s.json:4" {
			t.Errorf("%s: the rule is %q", command, d.Rule)
		}
		asked := false
		for i, c := range d.Commands {
			asked = asked || c.Verdict == permissions.Ask && c.GrantID == ""
			if row.reasons[i] != "" && c.Reason != row.reasons[i] {
				t.Errorf("%s: command %d: %s (%s), want %s", command, i+1, c.Verdict, c.Reason, row.reasons[i])
			}
		}
		if !asked {
			t.Errorf("%s is asked, and each of its commands is allowed: %+v", command, d.Commands)
		}
		s.Answered = true
		if d := decide(command, s); command != "git push >out" && d.Rule != "" {
			t.Errorf("%s, answered: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// What lowers a line of one command lowers the command, too.
func TestTheOnlyCommandOfALineIsDecidedAsTheLineIs(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Rules = []permissions.Rule{{Verdict: permissions.Allow, Tool: "Bash", Argv: []string{"make"}, Prefix: true, Source: "s.json:1"}}
	d := decide("make .git/config", s)
	if d.Verdict != permissions.Ask || len(d.Commands) != 1 || d.Commands[0].Verdict != permissions.Ask || d.Commands[0].Reason != d.Reason {
		t.Errorf("%+v", d)
	}
}
