//go:build linux

package teammate_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// What a leader allows once lifts no role: only the tools that look something up in the web may be asked about at all.
func TestReaderIsNotLifted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]permissions.Verdict{
		"planner":  {"ls": permissions.Deny, "touch x": permissions.Deny, "WebFetch": permissions.Ask},
		"explorer": {"ls": permissions.Allow, "touch x": permissions.Deny, "WebFetch": permissions.Deny, "curl https://example.org": permissions.Deny},
	} {
		role, err := planmode.ReaderOf(name)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t)
		m := r.start(func(c *teammate.Config) { c.Reader, c.Mode = role, permissions.ModeBypass })
		v, _ := m.View()
		for command, verdict := range want {
			call := permissions.Call{Tool: "Bash", Command: command, Cwd: r.tree}
			if command == "WebFetch" {
				call = permissions.Call{Tool: "WebFetch", Args: `{"url":"https://example.org"}`, Cwd: r.tree}
			}
			d := m.Decide(v, call)
			if d.Verdict != verdict {
				t.Errorf("%s: %s = %s (%s), want %s", name, command, d.Verdict, d.Reason, verdict)
			}
			answered := m.DecideAnswered(v, call)
			if lifted := answered.Verdict != permissions.Deny; lifted != (verdict != permissions.Deny) {
				t.Errorf("%s: %s, which a leader allows once, is %s", name, command, answered.Verdict)
			}
		}
	}
	if _, err := planmode.ReaderOf("boss"); err == nil {
		t.Error("an unknown role was taken")
	}
}
