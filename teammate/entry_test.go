//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// speaks has the teammate speak a dialect, under rules.
func speaks(t testing.TB, name string, rules ...permissions.Rule) func(*teammate.Config) {
	t.Helper()
	d, err := planmode.DialectOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *teammate.Config) { c.Dialect, c.Rules = d, rules }
}

func (m *mate) enterPlan(e teammate.Entry) error {
	m.t.Helper()
	return m.EnterPlan(m.t.Context(), e)
}

// wantEvent waits for an event of a name with these fields, given as key and value in turn: what a session tells comes after
// what it does, and no call of the runner waits for it.
func (m *mate) wantEvent(event string, want ...string) (fields map[string]string) {
	m.t.Helper()
	until(m.t, fmt.Sprintf("event %s with %q", event, want), func() bool {
		m.log.mu.Lock()
		defer m.log.mu.Unlock()
		return slices.ContainsFunc(m.log.events, func(e planmode.Emit) bool {
			for i := 0; i < len(want); i += 2 {
				if e.Fields[want[i]] != want[i+1] {
					return false
				}
			}
			fields = e.Fields
			return e.Event == event
		})
	})
	return fields
}

// What is given is checked before anybody is asked; then the one whom the dialect names is asked, once.
func TestEntryIsConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(speaks(t, "kimi"))
	for _, bad := range []string{"\xff", strings.Repeat("x", 5000)} {
		if err := m.enterPlan(teammate.Entry{Reason: bad, CanAsk: true}); !errors.Is(err, teammate.ErrBadReason) {
			t.Errorf("a reason of %d bytes: %v, want ErrBadReason", len(bad), err)
		}
	}
	if err := m.enterPlan(teammate.Entry{CanAsk: true}); !errors.Is(err, teammate.ErrAskPerson) {
		t.Errorf("entry: %v, want the person to be asked", err)
	}
	for _, tt := range []struct {
		person planmode.Resolution
		want   string
	}{
		{planmode.ResolvedRefused, "ask your leader"},
		{planmode.ResolvedDismissed, "implement directly"},
	} {
		err := m.enterPlan(teammate.Entry{Reason: "to look", CanAsk: true, Person: tt.person})
		if !errors.Is(err, planmode.ErrEntryRefused) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.person, err, tt.want)
		}
		m.wantState(planmode.Working, permissions.ModeDefault)
		m.wantEvent("plan.entry", "resolved", string(tt.person), "reason", "to look")
	}
	if err := m.enterPlan(teammate.Entry{Reason: "to look", CanAsk: true, Person: planmode.ResolvedAsked}); err != nil {
		t.Fatal(err)
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	m.wantEvent("plan.entered", "resolved", "asked", "reason", "to look")
	if err := m.enterPlan(teammate.Entry{CanAsk: true}); !errors.Is(err, planmode.ErrPlanning) || !strings.Contains(err.Error(), m.store.WorkFile()) {
		t.Errorf("entering twice: %v, want ErrPlanning with the plan file", err)
	}
}

// A rule that asks has a leader asked, one that denies ends it; a rule about every tool is about no way into plan mode.
func TestEntryByRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rule := func(v permissions.Verdict, tool string) permissions.Rule {
		return permissions.Rule{Verdict: v, Tool: tool, Source: "rules.yaml:3", Message: "not today"}
	}
	m := r.start(speaks(t, "swarm", rule(permissions.Deny, "enter_plan_mode"), rule(permissions.Deny, "exit_plan_mode")))
	if err := m.enterPlan(teammate.Entry{}); !errors.Is(err, planmode.ErrEntryRefused) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("denied entry: %v, want the rule in it", err)
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
	m.enter()
	write(t, m.store.WorkFile(), "# Plan\n")
	if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, teammate.ErrExitDenied) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("denied exit: %v, want the rule in it", err)
	}
	m = r.again(m, speaks(t, "swarm", rule(permissions.Deny, "*")))
	if _, err := m.Submit(t.Context(), teammate.Submission{}); err != nil {
		t.Errorf("exit under a rule about every tool: %v", err)
	}
}

// A leader who is asked says yes or no; whoever gives the question up has changed nothing.
func TestEntryIsAskedOfALeader(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(speaks(t, "swarm", permissions.Rule{Verdict: permissions.Ask, Tool: "enter_plan_mode"}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		until(t, "the question", func() bool { // and stored: what is given up before is no row that could be mistaken for the next one
			rows, err := r.anna.Pending(context.Background())
			return err == nil && len(rows) == 1 && len(m.status().Asks) == 1
		})
		cancel()
	}()
	if err := m.EnterPlan(ctx, teammate.Entry{Reason: "to look"}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v, want Canceled", err)
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
	m.wantEvent("plan.entry", "resolved", "dismissed")
	for _, behavior := range []permissions.Behavior{permissions.BehaviorDeny, permissions.BehaviorAllow} {
		until(t, "no question is left", func() bool { rows, err := r.anna.Pending(context.Background()); return err == nil && len(rows) == 0 })
		done := make(chan error, 1)
		go func() { done <- m.enterPlan(teammate.Entry{Reason: "to look"}) }()
		r.answer(r.open(), behavior, permissions.ScopeOnce)
		err := <-done
		if allowed := behavior == permissions.BehaviorAllow; allowed != (err == nil) || !allowed && !strings.Contains(err.Error(), "well") {
			t.Errorf("%s: %v", behavior, err)
		}
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	m.wantEvent("plan.entered", "resolved", "asked")
}

// A plans folder that cannot be made is said, and keeps nobody from planning.
func TestFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	work := filepath.Dir(m.store.WorkFile())
	if err := errors.Join(os.RemoveAll(work), os.WriteFile(work, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	m.enter()
	m.wantState(planmode.Planning, permissions.ModePlan)
	if f := m.wantEvent("plan.folder"); f["cause"] == "" {
		t.Errorf("events have no cause of the folder that could not be made")
	}
	if _, err := m.Submit(t.Context(), teammate.Submission{}); err == nil {
		t.Error("Submit without a folder succeeded")
	}
}

// The name of the plan file is kept over a restart, and dropped when the teammate leaves; kimi's is another each round.
func TestNamesOfPlanFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(speaks(t, "kimi"))
	m.enter()
	first := m.store.WorkFile()
	if m = r.again(m, speaks(t, "kimi")); m.store.WorkFile() != first || m.status().PlanFile != first {
		t.Errorf("after a restart %q, want %q", m.status().PlanFile, first)
	}
	m.submit("# Plan\n")
	r.decide(r.approval(r.open()))
	m.wait()
	m.enter()
	second := m.status().PlanFile
	if second == first || second != m.store.WorkFile() {
		t.Errorf("the next round writes to %q, want another file than %q", second, first)
	}
	if got := read(t, first); got != "# Plan\n" {
		t.Errorf("the approved plan is %q", got)
	}
	m.end(context.Canceled)
	if m = r.start(speaks(t, "kimi")); m.store.WorkFile() == second {
		t.Errorf("a new session writes to %q again", second)
	}
}
