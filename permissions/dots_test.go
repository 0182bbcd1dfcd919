package permissions_test

import (
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// A pattern whose dots lead out after its wildcard is cleaned by go before it looks: it reaches what it seems not to name.
func TestPackagePatternsDoNotClimbBehindTheirWildcard(t *testing.T) {
	engine := permissions.New(permissions.Config{Resolver: permissions.Lexical()})
	grant := permissions.Grant{
		GrantTerms: permissions.GrantTerms{Prompt: "run tests", Intent: "run tests", Tree: "web", ExpiresAt: time.Now().Add(time.Hour)},
		ID:         "g/1", Root: "/project",
	}
	for _, line := range []string{
		"cd web && go test ./.../../../other", "cd web && go test ./x.../../../other", "cd web && go test ./....../../other", "cd web && go test -v ./a/.../../../../other",
		"cd web && go vet ./.../../../other", "go list ./.../../../outside", "cd web && go test -coverpkg ./.../../../other ./...",
	} {
		for _, mode := range []permissions.Mode{permissions.ModeDefault, permissions.ModePlan} {
			s := state(mode)
			s.Grants, s.Now = []permissions.Grant{grant}, time.Now()
			if d := engine.Decide(permissions.Call{Tool: "Bash", Command: line, Cwd: "/project"}, s); d.Verdict == permissions.Allow {
				t.Errorf("Decide(%s) in %s = allow (%s), want ask or deny", line, mode, d.Reason)
			}
		}
	}
	s := state(permissions.ModeDefault)
	s.Grants, s.Now = []permissions.Grant{grant}, time.Now()
	if d := engine.Decide(permissions.Call{Tool: "Bash", Command: "cd web && go test ./... ./a/...", Cwd: "/project"}, s); d.Verdict != permissions.Allow {
		t.Errorf("Decide(go test ./... in web) = %s (%s), want allow", d.Verdict, d.Reason)
	}
}
