//go:build linux

package teammate_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// A session that is taken up goes on as it was; with PlanAgain it plans first, its grants have ended, and the mode that it
// had is saved. Its dialect is the one that it is started with now.
func TestPlanAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(func(c *teammate.Config) { c.Mode = permissions.ModeAcceptEdits })
	m.plans()
	r.decide(r.approval(r.open()))
	m.wait()
	if g := m.status().Grants; len(g) != 1 {
		t.Fatalf("grants = %+v, want one", g)
	}
	m = r.again(m)
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	gemini, err := planmode.DialectOf("gemini")
	if err != nil {
		t.Fatal(err)
	}
	m = r.again(m, func(c *teammate.Config) { c.PlanAgain, c.Dialect = true, gemini })
	m.wantState(planmode.Planning, permissions.ModePlan)
	if s := m.status(); s.Saved != permissions.ModeAcceptEdits || len(s.Grants) != 0 || s.Approved != nil {
		t.Errorf("status = %+v, want acceptEdits saved and no grants", s)
	}
	if s, ok := m.journal.Session(); !ok || s.Dialect != "gemini" || s.Cycle.EnteredBy != planmode.ByFlag {
		t.Errorf("session = %+v, want the flag's entry and its dialect", s)
	}
	id := m.status().PlanID
	m = r.again(m, func(c *teammate.Config) { c.PlanAgain = true })
	if s := m.status(); s.State != planmode.Planning || s.PlanID != id {
		t.Errorf("who plans already: %s of plan %s, want the same plan %s", s.State, s.PlanID, id)
	}
}
