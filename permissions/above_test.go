package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// Where a name that climbs leads is seen from the folder that the command runs in: cd build && cmake .. names the project,
// and not what lies above it, where swarm's own state may be.
func TestFoldersAboveAreSeenFromWhereACommandRuns(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("build the project")}
	s.Rules = []permissions.Rule{}
	for _, text := range []string{"Bash(pushd:*)", "Bash(ls:*)", "Bash(du:*)", "Bash(sync:*)", "Bash(eval:*)"} {
		r, ok := rule(t, text)
		if !ok {
			t.Fatal(text)
		}
		s.Rules = append(s.Rules, r)
	}
	for command, want := range map[string]permissions.Verdict{
		"cd build && cmake ..":                               yes,
		"mkdir -p build && cd build && cmake .. && make -j4": yes,
		"cmake ..":                             maybe,
		"pushd /home && sync user":             maybe,
		"cd build && pushd /home && sync user": maybe,
		"cd /home && sync user":                maybe,
		"cd build && sync -C /home user":       maybe,
		"cd build && sync --chdir=/home user":  maybe,
		"cd build && cmake ../..":              maybe,
		"cd build; cmake ..":                   maybe, // the cd may have failed
	} {
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}
