package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// What stands behind a granted command that is wrapped is judged as behind the command itself: a pattern of grep that
// happens to match .git is no path.
func TestWrappedCommandsAreReadAsTheyStand(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("run tests")}
	s.Rules = []permissions.Rule{bashRule(never, "go test -race:*"), bashRule(never, "rm:*")}
	for command, want := range map[string]permissions.Verdict{
		"go test ./... 2>&1 | grep -E 'ok .* pkg'":                    yes,
		"timeout 60 go test ./... 2>&1 | grep -E 'ok .* pkg'":         yes,
		"timeout 60 npm test 2>&1 | grep -v ' .*'":                    yes,
		"timeout -k 5 60 nice -n 5 go test ./... && rg 'from .*'":     yes,
		"env CI=1 timeout 60 go test ./... | sed 's/ .* / /'":         yes,
		"timeout 60 go test ./... && cat .git/config":                 yes,
		"timeout 60 go test ./... > .github/x":                        maybe,
		"timeout 60 go test -race ./...":                              never,
		"env CI=1 timeout 60 go test -race ./...":                     never,
		"timeout 60 rm x | grep '.*'":                                 never,
		"timeout 60 frobnicate rm x":                                  never,
		"timeout 60 sh -c 'rm x'":                                     never,
		"timeout 60 go test ./... && timeout 5 swarm approve r1":      never,
		"env LD_PRELOAD=x timeout 60 go test ./... | grep -v '.*'":    maybe,
		"timeout 60 go test -exec ./x ./... | grep -E 'a .* b'":       maybe,
		"timeout 60 bash -c 'go test ./...' | grep -E 'a .* b'":       maybe,
		"timeout 60 go test ./... | xargs rm":                         never,
		"timeout 60 go test ./... && cat /home/user/.config/swarm/x":  never,
		"timeout 60 go test /home/user/.config/swarm/... | grep '.*'": never,
	} {
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}
