//go:build linux

package teammate_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// say is a mark of a reminder, "" for none.
func (m *mate) say() planmode.ReminderKind {
	m.t.Helper()
	text := m.Remind("swarm plan submit", "")
	if kind := planmode.ReminderIn(planmode.Turn{Role: planmode.RoleReminder, Text: text}); kind != planmode.ReminderNone || text == "" {
		if text != "" && !strings.Contains(text, m.store.WorkFile()) {
			m.t.Errorf("%q does not name the plan file", text)
		}
		return kind
	}
	return planmode.ReminderKind(text)
}

// says are the reminders of so many turns of the agent.
func (m *mate) says(turns int) string {
	m.t.Helper()
	var all []string
	for range turns {
		kind := m.say()
		if kind == "" {
			kind = "-"
		}
		all = append(all, string(kind))
		m.Turned(planmode.RoleAssistant)
	}
	return strings.Join(all, " ")
}

func (m *mate) wantSays(turns int, want string) {
	m.t.Helper()
	if got := m.says(turns); got != want {
		m.t.Errorf("reminders: %s, want %s", got, want)
	}
}

// An agent that plans is told so in full, then briefly every fifth turn, and once that it is over. Where its plan file has a
// plan of an earlier round, it is told to look at that, until it has changed it.
func TestReminders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.wantSays(2, "- -")
	m.enter()
	m.wantSays(12, "full - - - - sparse - - - - sparse -")
	m.plans()
	r.decide(r.approval(r.open()))
	m.wait()
	m.wantSays(3, "left - -")
	if err := m.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.enter()
	m.wantSays(2, "reentry -")
	m.Compacted()
	m.wantSays(1, "reentry")
	if err := os.WriteFile(m.store.WorkFile(), []byte("# Another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Compacted()
	m.wantSays(2, "full -")
}

// A person who switches plan mode on has the agent told once more than the cadence has it, and so has a restart; a rejection
// with a text counts as a person's word.
func TestRemindersAfterAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	if err := m.Observed(permissions.ModePlan); err != nil {
		t.Fatal(err)
	}
	until(t, "it is told", func() bool { return slices.Contains(m.agent.all(), "notify howToPlan") })
	m.wantSays(11, "full - - - - full - - - - sparse")
	m = r.again(m)
	until(t, "it is told again", func() bool { return slices.Contains(m.agent.all(), "notify reentry") })
	m.wantSays(2, "full -")
	m.plans()
	r.decide(r.rejection(r.open(), "use cents"))
	m.wait()
	m.wantSays(2, "full -")
}

// A history that was shortened has the approved plan named again.
func TestPlanIsNamedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.plans()
	r.decide(r.approval(r.open()))
	m.wait()
	m.Compacted()
	if text := m.Remind("swarm plan submit", ""); !strings.Contains(text, "Follow the approved plan strictly; it is in "+m.store.WorkFile()) {
		t.Errorf("after a compaction it is told %q", text)
	}
	if text := m.Remind("swarm plan submit", ""); text != "" {
		t.Errorf("it is told again: %q", text)
	}
}
