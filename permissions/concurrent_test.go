package permissions_test

import (
	"sync"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// The tables are read as commands name them, by whoever asks first: the race detector looks on. Run it alone to see the first
// reading (go test -race -run Concurrent).
func TestConcurrentUseOfTables(t *testing.T) {
	s := state(permissions.ModeDefault)
	for _, in := range intent.Names() {
		s.Grants = append(s.Grants, permissions.Grant{GrantTerms: permissions.GrantTerms{Intent: in, Tree: ".", ExpiresAt: now.Add(1 << 40)}, ID: in, Root: "/project"})
	}
	lines := []string{"go test ./...", "npm test", "npx jest", "uv run pytest -q", "make build", "cargo clippy", "git push", "terraform plan", "poetry run mypy src", "frobnicate", "pnpm exec eslint ."}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range lines {
				engine := permissions.New(lexical)
				engine.Decide(permissions.Call{Tool: "Bash", Command: lines[(i+j)%len(lines)], Cwd: "/project"}, s)
				switch (i + j) % 4 {
				case 0:
					intent.All()
				case 1:
					var none *permissions.Tables
					none.RunnerNames("run tests")
				case 2:
					permissions.ResolvePrompt("Bash", "run the unit tests")
				default:
					permissions.Kinds("Bash", lines[j])
				}
			}
		})
	}
	wg.Wait()
}
