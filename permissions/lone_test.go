package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// A redirection or an assignment may stand alone, beside a command that a grant or a rule lets pass.
func TestLinesWithPartsThatRunNothing(t *testing.T) {
	engine := permissions.New(lexical)
	for line, want := range map[string]permissions.Verdict{
		"go test ./...; >/dev/null":      permissions.Allow,
		"make lint && < a.go":            permissions.Allow,
		"make lint | { >/dev/null; }":    permissions.Allow,
		"make lint; > out":               permissions.Ask,
		"GOFLAGS=-exec=x; go test ./...": permissions.Ask,
	} {
		s := state(permissions.ModeDefault)
		s.Grants = []permissions.Grant{grant("run tests")}
		s.Rules = []permissions.Rule{bashRule(permissions.Allow, "make lint:*")}
		if d := engine.Decide(permissions.Call{Tool: "Bash", Command: line, Cwd: "/project"}, s); d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", line, d.Verdict, d.Reason, want)
		}
	}
}
