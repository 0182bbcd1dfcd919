//go:build linux

package teammate_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// refuse has the gate refuse so many calls of one command.
func (m *mate) refuse(command string, times int) {
	m.t.Helper()
	for range times {
		call := permissions.Call{Tool: "Bash", Command: command, Cwd: m.status().PlanFile}
		m.Refused(call, permissions.Decision{Verdict: permissions.Deny, Hash: command}, "no")
	}
}

// Four fifths of the budget nudge the agent once, all of it tells the leaders once, and planning goes on.
func TestBudgetOfTurnsAndDenials(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	texts := make(chan string, 16)
	r.listen(texts)
	m := r.start(func(c *teammate.Config) { c.Budget = teammate.Budget{Turns: 10, Denials: 5} })
	m.refuse("before", 9) // outside of plan mode nothing counts
	m.enter()
	for n := 1; n <= 12; n++ {
		if text := m.Remind("x", ""); strings.Contains(text, "has used") != (n == 9) || n == 9 && !strings.Contains(text, "has used 8 of 10 turns: hand in") {
			t.Errorf("turn %d: %q", n, text)
		}
		m.Turned(planmode.RoleAssistant)
	}
	wantText(t, texts, "api has used 10 of 10 turns for planning, which is all of its budget. It goes on planning.")
	m.refuse("git push", 3)
	m.refuse("git pull", 1)
	if text := m.Remind("x", ""); !strings.Contains(text, "4 of 5 calls that were denied") {
		t.Errorf("after four denials it is told %q", text)
	}
	m.refuse("git pull", 3)
	wantText(t, texts, "5 of 5 calls that were denied")
	m.wantState(planmode.Planning, permissions.ModePlan)
	b := m.status().Blocked
	if len(b) != 2 || b[0] != (planmode.BlockedCall{Tool: "Bash", Input: "git pull", Times: 4}) || b[1].Times != 3 {
		t.Errorf("blocked = %+v, want git pull four times and git push three times", b)
	}
	until(t, "the leaders see it", func() bool {
		return len(r.told().Blocked) == 2
	})
	if len(texts) > 0 {
		t.Errorf("told again: %q", <-texts)
	}
}

func wantText(t *testing.T, texts <-chan string, want string) {
	t.Helper()
	select {
	case text := <-texts:
		if !strings.Contains(text, want) {
			t.Errorf("the leaders read %q, want %q", text, want)
		}
	case <-time.After(patience):
		t.Errorf("the leaders never read %q", want)
	}
}

// The time of planning is counted by a clock that nobody sets, and rests while a leader has the plan.
func TestBudgetOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		m := r.start(func(c *teammate.Config) {
			c.Heartbeat, c.Budget = 10*time.Minute, teammate.Budget{Time: 10 * time.Minute}
			c.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) } // the wall stands still
		})
		p := m.plans()
		time.Sleep(time.Hour) // a leader has it
		r.decide(r.rejection(r.request(p.RequestID), "no"))
		m.wait()
		time.Sleep(7 * time.Minute)
		if text := m.Remind("x", ""); strings.Contains(text, "has used") || m.log.count("plan.budget") != 0 {
			t.Errorf("after seven minutes: %q", text)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if text := m.Remind("x", ""); !strings.Contains(text, "has used 8m0s of 10m0s") || m.log.count("plan.budget") != 0 {
			t.Errorf("after eight minutes: %q, %d times told", text, m.log.count("plan.budget"))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := m.log.count("plan.budget"); n != 1 {
			t.Errorf("after ten minutes: told %d times, want once", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := m.log.count("plan.budget"); n != 1 {
			t.Errorf("an hour later: told %d times, want once", n)
		}
		m.end(teammate.ErrDetach)
	})
}
