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

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
)

// begins is a new session that is told to plan first, or not: session, client and gate agree.
func begins(plan bool, mode permissions.Mode) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		m := newRig(t).start(func(c *teammate.Config) { c.StartInPlan, c.Mode = plan, mode })
		v, _ := m.View()
		touch := m.Decide(v, permissions.Call{Tool: "Bash", Command: "touch x", Cwd: v.Tree}).Verdict
		if !plan {
			m.wantState(planmode.Working, mode)
			if n := m.log.count("plan.entered"); n > 0 || v.PlanID != "" || touch == permissions.Deny {
				t.Errorf("entered %d times, plan %q, touch x is %s; want no plan", n, v.PlanID, touch)
			}
			return
		}
		m.wantState(planmode.Planning, permissions.ModePlan)
		until(t, "the client in plan mode", func() bool { return slices.Contains(m.agent.all(), "mode plan") })
		m.wantEvent("plan.entered", "by", string(planmode.ByFlag), "savedMode", string(mode))
		if v.Saved != mode || v.PlanID == "" || touch != permissions.Deny {
			t.Errorf("saved %s, plan %q, touch x is %s; want it entered over %s", v.Saved, v.PlanID, touch, mode)
		}
	}
}

// widenedUnattended has a leader widen the mode of a run that nobody attends: the mode changes, and still nobody can be asked.
func widenedUnattended(t *testing.T) {
	r := newRig(t)
	m := r.start(away)
	asked := func() error {
		_, err := m.Ask(t.Context(), m.asking("git push"))
		return err
	}
	if err := asked(); !errors.Is(err, teammate.ErrUnattended) || m.status().Attended {
		t.Errorf("before: %v, want ErrUnattended", err)
	}
	if rec := r.receipt(r.modeOrder(permissions.ModeBypass, 1)); rec.State != mailbox.Applied {
		t.Fatalf("receipt = %+v, want applied", rec)
	}
	m.wantState(planmode.Working, permissions.ModeBypass)
	if err := asked(); !errors.Is(err, teammate.ErrUnattended) || m.status().Attended {
		t.Errorf("afterwards: %v, want ErrUnattended still", err)
	}
	v, _ := m.View()
	for path, want := range map[string]permissions.Verdict{"a.go": permissions.Allow, ".git/hooks/x": permissions.Deny} {
		if d := m.Decide(v, permissions.Call{Tool: "Edit", Path: path, Cwd: v.Tree, Args: fmt.Sprintf("{\"file_path\":%q}", path)}); d.Verdict != want {
			t.Errorf("edit %s = %s (%s), want %s", path, d.Verdict, d.Reason, want)
		}
	}
}

// attendanceIsOfTheRun: nothing of it is stored. The next run says it anew, and its own gate and status have it.
func attendanceIsOfTheRun(t *testing.T) {
	r := newRig(t)
	m := r.start(away)
	for _, want := range []permissions.Verdict{permissions.Deny, permissions.Ask, permissions.Deny} {
		v, _ := m.View()
		d := m.Decide(v, permissions.Call{Tool: "Bash", Command: "git push", Cwd: v.Tree})
		if attended := m.status().Attended; d.Verdict != want || attended != (want == permissions.Ask) {
			t.Errorf("git push = %s (%s), attended %t, want %s", d.Verdict, d.Reason, attended, want)
		}
		if want == permissions.Deny {
			m = r.again(m)
		} else {
			m = r.again(m, away)
		}
	}
	if text := strings.ToLower(read(t, filepath.Join(r.dir, "journal.jsonl"))); strings.Contains(text, "attended") {
		t.Error("the journal keeps whether somebody attends")
	}
}

func kimiSwitchClaims() claims {
	resumes := func(before, flag bool, want planmode.State) func(*testing.T) {
		return func(t *testing.T) {
			r := newRig(t)
			m := r.start(func(c *teammate.Config) { c.StartInPlan = before })
			m = r.again(m, func(c *teammate.Config) { c.StartInPlan = flag })
			if s := m.status(); s.State != want {
				t.Errorf("resumed %s, want %s", s.State, want)
			}
		}
	}
	return claims{
		"pm-430": is(func(t *testing.T) {
			m := newRig(t).start()
			m.enter()
			if s := m.status(); s.State != planmode.Planning || s.PlanFile == "" {
				t.Errorf("status %+v, want planning with the plan's path", s)
			}
		}),
		"pm-433": is(func(t *testing.T) {
			m := newRig(t).start()
			for range 2 {
				if err := m.Leave(t.Context(), ""); err != nil {
					t.Error(err)
				}
				m.wantState(planmode.Working, permissions.ModeDefault)
			}
		}),
		"pm-435": is(func(t *testing.T) { newPlanFolder(t, "").refuses("", plandir.ErrNotExist, "does not exist") }),
		"pm-436": is(func(t *testing.T) {
			m := newRig(t).start()
			m.enter()
			write(t, m.store.WorkFile(), corpusPlan)
			if err := m.store.Clear(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(m.store.WorkFile()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the plan file is there: %v", err)
			}
			m.wantState(planmode.Planning, permissions.ModePlan)
		}),
		"pm-437": is(func(t *testing.T) {
			s := works(t, "kimi", permissions.ModeDefault)
			s.must(s.entered())
			if n := s.told(); n.Kind != planmode.NotifyHowToPlan || n.Data.PlanFile == "" {
				t.Errorf("the agent is told %+v, want how to plan and where", n)
			}
		}),
		"pm-439": is(begins(true, permissions.ModeDefault)),
		"pm-440": is(begins(true, permissions.ModeAcceptEdits)),
		"pm-442": is(both(begins(false, permissions.ModeDefault), begins(true, permissions.ModeDefault))), // without the flag, and with it; cmd/swarm TestScripts/planning has the setting
		"pm-443": is(resumes(false, true, planmode.Working)),
		"pm-444": is(func(t *testing.T) { // the flag of a resumed session is an entry
			r := newRig(t)
			m := r.again(r.start())
			if err := m.Enter(t.Context(), planmode.ByFlag); err != nil {
				t.Fatal(err)
			}
			m.wantState(planmode.Planning, permissions.ModePlan)
		}),
		"pm-445": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start(func(c *teammate.Config) { c.StartInPlan = true })
			id := m.status().PlanID
			m = r.again(m)
			if err := m.Enter(t.Context(), planmode.ByFlag); err != nil || m.status().PlanID != id {
				t.Errorf("entered again: %v, plan %s, want %s", err, m.status().PlanID, id)
			}
			reminds("kimi", planmode.Reminding{Now: true}, planmode.RemindInput{Planning: true, History: history("Fa")}, planmode.ReminderFull).run(t)
		}),

		"pm-454": is(gives(permissions.Ask, bash("git push"), in(permissions.ModeDefault))),
		"pm-455": is(func(t *testing.T) { // whether somebody can be asked is the run's, and is not in the session
			r := newRig(t)
			m := r.start(away)
			if _, err := m.Ask(t.Context(), m.asking("git push")); !errors.Is(err, teammate.ErrUnattended) {
				t.Errorf("Ask: %v, want ErrUnattended", err)
			}
			m = r.again(m)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := m.Ask(ctx, m.asking("git push")); errors.Is(err, teammate.ErrUnattended) {
				t.Errorf("Ask after a restart: %v, want that somebody can be asked", err)
			}
		}),
		"pm-456": is(widenedUnattended),
		"pm-457": is(attendanceIsOfTheRun),
		"pm-458": is(attendanceIsOfTheRun),
		"pm-459": is(func(t *testing.T) { // each denial says that nobody is there; when somebody is again, the same call asks and says nothing of it
			saysWhy("nobody", bash("git push"), in(permissions.ModeDefault), unattended)(t)
			if d := judge(bash("git push"), in(permissions.ModeDefault)); d.Verdict != permissions.Ask || strings.Contains(d.Reason, "nobody") {
				t.Errorf("attended: %s (%s), want ask, and not that nobody is there", d.Verdict, d.Reason)
			}
		}),
		"pm-460": is(widenedUnattended),
		"pm-461": is(func(t *testing.T) { // mode and attendance are said apart, in all four combinations
			for _, mode := range []permissions.Mode{permissions.ModeDefault, permissions.ModeBypass} {
				for _, attended := range []bool{false, true} {
					m := newRig(t).start(func(c *teammate.Config) { c.Mode, c.Attended = mode, attended })
					if s := m.status(); s.Mode != mode || s.Attended != attended {
						t.Errorf("status says mode %s, attended %t, want %s, %t", s.Mode, s.Attended, mode, attended)
					}
				}
			}
		}),
		"pm-462": none("a prompt of Kimi's about being away: an unattended run is told by each denial"),
		"pm-463": none("a prompt of Kimi's about being away"),
		"pm-464": none("a prompt of Kimi's about being away"),
		"pm-465": none("a prompt of Kimi's about being away"),
		"pm-466": none("a prompt of Kimi's about being away"),
	}
}
