package claudecode_test

import (
	"slices"
	"testing"

	"github.com/planswarm/swarm/teammate/adapter/claudecode"
)

// What the person's environment says to another client, or would have another program run in our hook's place, does not
// reach this one.
func TestEnvironmentOfTheClient(t *testing.T) {
	t.Parallel()
	env := claudecode.Environment(claudecode.Config{
		Env: []string{"HOME=/home/u", "CLAUDE_CODE_SHELL_PREFIX=/bin/true", "CLAUDE_CODE_SIMPLE=1", "SWARM_SOCKET=/tmp/other"}, Socket: "/run/own.sock",
	})
	for _, gone := range []string{"CLAUDE_CODE_SHELL_PREFIX=/bin/true", "CLAUDE_CODE_SIMPLE=1", "SWARM_SOCKET=/tmp/other"} {
		if slices.Contains(env, gone) {
			t.Errorf("the client gets %s", gone)
		}
	}
	for _, there := range []string{"HOME=/home/u", "SWARM_SOCKET=/run/own.sock"} {
		if !slices.Contains(env, there) {
			t.Errorf("the client does not get %s: %q", there, env)
		}
	}
}
