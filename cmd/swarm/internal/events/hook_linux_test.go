package events_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/events"
)

// A program that leaves something running in a session of its own, which holds its output, is over when it has ended.
func TestHookThatLeavesSomethingRunning(t *testing.T) {
	out := filepath.Join(t.TempDir(), "pids")
	pids := func() []string { data, _ := os.ReadFile(out); return strings.Fields(string(data)) }
	t.Cleanup(func() {
		for _, text := range pids() {
			if pid, err := strconv.Atoi(text); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	r := start(t, events.Hook{On: []string{"*"}, Command: shell(`setsid sleep 40 & echo $! >>"$1"`, out)})
	r.Send(submitted())
	r.Send(submitted())
	until(t, "the second event", func() bool { return len(pids()) == 2 })
}
