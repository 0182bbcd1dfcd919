//go:build linux

package teammate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
)

// onFolder runs a check on a plan folder that has test.md.
func onFolder(check func(f planFolder)) claim {
	return is(func(t *testing.T) { check(newPlanFolder(t, "").has("test.md", "# Plan")) })
}

func pathClaims() claims {
	return claims{
		"pm-000": onFolder(func(f planFolder) { f.accepts("test.md") }),
		"pm-001": onFolder(func(f planFolder) { f.refuses("ghost.md", plandir.ErrNotExist, "does not exist: write the plan there") }),
		"pm-003": onFolder(func(f planFolder) {
			secret := filepath.Join(f.project, "secret.md")
			write(f.t, secret, "secret")
			f.link("malicious.md", secret).refuses("malicious.md", plandir.ErrOutside, secret)
		}),
		"pm-004": not(2, func(t *testing.T) { // "" names the one file that may be written, and is no way around the checks
			newPlanFolder(t, "").refuses("", plandir.ErrNotExist, "does not exist")
		}),
		"pm-006": onFolder(func(f planFolder) { f.has("valid.md", "# Valid").accepts("valid.md") }),
		"pm-007": is(func(t *testing.T) {
			m := newRig(t).start()
			m.enter()
			_, err := m.Submit(t.Context(), teammate.Submission{Path: "../../../etc/passwd"})
			if !errors.Is(err, plandir.ErrOutside) || !strings.HasPrefix(err.Error(), "access denied") {
				t.Errorf("Submit: %v, want access denied", err)
			}
			m.wantState(planmode.Planning, permissions.ModePlan)
		}),
		"pm-008": onFolder(func(f planFolder) {
			f.refuses("%2e%2e/x.md", plandir.ErrOutside, "%2e%2e/x.md")
			f.refuses("%2e%2e%2fx.md", plandir.ErrOutside, f.dir)
		}),
		"pm-009": onFolder(func(f planFolder) {
			path := filepath.Join(f.dir, "test.md")
			if p, err := f.reads(path); err != nil || p.Path != path {
				f.t.Errorf("%q: %+v, %v, want it as given", path, p, err)
			}
		}),
		"pm-011": is(func(t *testing.T) {
			f := newPlanFolder(t, ".gemini/plans").has("x.md", "# X")
			f.accepts(".gemini/plans/x.md")
		}),
		"pm-012": is(func(t *testing.T) {
			f := newPlanFolder(t, "plans").has("x.md", "# The project's")
			if p, err := f.reads("plans/x.md"); err != nil || p.Path != filepath.Join(f.project, "plans", "x.md") {
				t.Errorf("%+v, %v, want the file of the project", p, err)
			}
		}),
		"pm-014": onFolder(func(f planFolder) {
			f.link("dangling.md", filepath.Join(f.project, "gone.md")).refuses("dangling.md", plandir.ErrOutside, filepath.Join(f.project, "gone.md"))
		}),
		"pm-015": onFolder(func(f planFolder) {
			f.link("a.md", "b.md").link("b.md", "a.md").refuses("a.md", plandir.ErrOutside, "access denied")
		}),
		"pm-016": onFolder(func(f planFolder) {
			write(f.t, f.dir+"-evil/a.md", "# Evil")
			f.refuses(f.dir+"-evil/a.md", plandir.ErrOutside, f.dir+"-evil")
		}),
		"pm-017": is(func(t *testing.T) {
			f := newPlanFolder(t, "..plans").has("x.md", "# X")
			if f.Warning() != "" || filepath.Base(f.dir) != "..plans" {
				t.Errorf("folder %q, warning %q", f.dir, f.Warning())
			}
			f.accepts("..plans/x.md")
		}),
		"pm-018": none("a file system that ignores case: containment is by the folder's identity (os.SameFile), not by names"),
		"pm-020": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			m.enter()
			if _, err := m.Submit(t.Context(), teammate.Submission{Path: "missing.md"}); !errors.Is(err, plandir.ErrNotExist) || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("Submit: %v, want that it does not exist", err)
			}
			if rows, err := r.anna.Pending(t.Context()); err != nil || len(rows) > 0 {
				t.Errorf("a leader is asked: %v, %v", rows, err)
			}
		}),
		"pm-021": not(3, refusedUnattended("", plandir.ErrNotExist)),
		"pm-022": is(checksContent("text", nil)),
		"pm-023": is(checksContent("   ", plans.ErrEmpty)),
		"pm-025": onFolder(func(f planFolder) { // a missing file is its own family, and never a read failure
			if _, err := f.reads("ghost.md"); errors.Is(err, plandir.ErrUnreadable) || !errors.Is(err, plandir.ErrNotExist) {
				f.t.Errorf("%v, want that it does not exist", err)
			}
		}),
		"pm-026": is(checksContent("\ufeff  \n", plans.ErrEmpty)),
		"pm-028": not(3, refusedUnattended("   \n\t", plans.ErrEmpty)),
	}
}

func checksContent(content string, want error) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		f := newPlanFolder(t, "").has("p.md", content)
		if _, err := f.reads("p.md"); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), "is empty: write the plan, then submit again") {
			t.Errorf("%q: %v, want %v", content, err, want)
		}
	}
}

// refusedUnattended submits a bad plan where nobody can be asked and no rule asks: it is refused, and plan mode stays.
func refusedUnattended(content string, want error) func(*testing.T) {
	return func(t *testing.T) {
		r := newRig(t)
		m := r.start(speaks(t, "gemini", permissions.Rule{Verdict: permissions.Allow, Tool: "exit_plan_mode"}), func(c *teammate.Config) { c.Attended = false })
		m.enter()
		if content != "" {
			write(t, m.store.WorkFile(), content)
		}
		if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, want) {
			t.Errorf("Submit: %v, want %v", err, want)
		}
		m.wantState(planmode.Planning, permissions.ModePlan)
	}
}

// inProject asserts where a configured folder leads: the folder relative to the project, or "" for a refusal.
func inProject(folder, want string) func(*testing.T) {
	return func(t *testing.T) {
		f := newPlanFolder(t, folder)
		switch {
		case want == "" && (f.Warning() == "" || strings.HasPrefix(f.dir, f.project)):
			t.Errorf("%q: folder %q, warning %q, want swarm's own and a warning", folder, f.dir, f.Warning())
		case want != "" && (f.Warning() != "" || f.dir != filepath.Join(f.project, want)):
			t.Errorf("%q: folder %q, warning %q, want %q", folder, f.dir, f.Warning(), want)
		}
	}
}

func folderClaims() claims {
	return claims{
		"pm-030": is(func(t *testing.T) {
			dir := t.TempDir()
			s, err := plandir.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if filepath.Dir(s.WorkFile()) != filepath.Join(dir, "work") {
				t.Errorf("working file %q, want it in the teammate's own folder", s.WorkFile())
			}
		}),
		"pm-032": is(inProject("/absolute/path", "")),
		"pm-033": is(func(t *testing.T) {
			project, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s, err := plandir.OpenWith(t.TempDir(), plandir.Config{Folder: filepath.Join(project, "internal-plans"), Project: project})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Warning() != "" || filepath.Dir(s.WorkFile()) != filepath.Join(project, "internal-plans") {
				t.Errorf("working file %q, warning %q", s.WorkFile(), s.Warning())
			}
		}),
		"pm-034": is(inProject("subdir/../plans", "plans")),
		"pm-035": not(7, inProject(".", "")), // all of the project could be written while planning
		"pm-036": is(inProject("../escaped", "")),
		"pm-040": is(func(t *testing.T) {
			f := newPlanFolder(t, "plans")
			if _, err := os.Stat(f.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is there before anybody plans: %v", err)
			}
		}),
		"pm-041": is(func(t *testing.T) { // another session has another file, and no approved plan
			r := newRig(t)
			m := r.start()
			m.plans()
			r.decide(r.approval(r.open()))
			m.wait()
			first := m.status()
			m.end(errors.New("over"))
			m = r.start()
			if s := m.status(); s.PlanFile == first.PlanFile || s.Approved != nil || len(s.Grants) > 0 {
				t.Errorf("the next session has %+v, want another file and no approved plan", s)
			}
		}),
		"pm-042": is(func(t *testing.T) {
			f := newPlanFolder(t, "deep/er/plans")
			if err := f.Prepare(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
				t.Errorf("the folder was not made: %v", err)
			}
			bad := newPlanFolder(t, "plans")
			write(t, bad.dir, "in the way")
			if err := bad.Prepare(); err == nil {
				t.Error("a folder was made where a file is")
			} // that it keeps nobody from planning: TestFolderThatCannotBeMade
		}),
	}
}

func confirms(dialect string, from permissions.Mode, attended bool, rule permissions.Verdict, want planmode.Confirmation) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		d, err := planmode.DialectOf(dialect)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Entry.Asks(from, attended, rule); got != want {
			t.Errorf("%s, from %s, attended %t, rule %q: %s, want %s", dialect, from, attended, rule, got, want)
		}
	}
}

// entersTwice enters plan mode twice: an error that names the plan file, or the present state; the saved mode stays.
func entersTwice(dialect string, want error) func(*testing.T) {
	return func(t *testing.T) {
		m := newRig(t).start(speaks(t, dialect))
		for i := range 2 {
			err := m.enterPlan(teammate.Entry{})
			if i == 0 && err != nil || i == 1 && !errors.Is(err, want) {
				t.Errorf("entry %d: %v, want %v", i+1, err, want)
			}
		}
		m.wantState(planmode.Planning, permissions.ModePlan)
		if s := m.status(); s.Saved != permissions.ModeDefault {
			t.Errorf("the saved mode is %s, want default", s.Saved)
		}
	}
}

// enters enters as the person at the client has said.
func enters(dialect string, person planmode.Resolution, state planmode.State, text string) func(*testing.T) {
	return func(t *testing.T) {
		m := newRig(t).start(speaks(t, dialect))
		err := m.enterPlan(teammate.Entry{Reason: "the rounding is unclear", CanAsk: true, Person: person})
		if (err == nil) != (state == planmode.Planning) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("entry: %v, want %q", err, text)
		}
		if s := m.status(); s.State != state {
			t.Errorf("the session is %s, want %s", s.State, state)
		}
		m.agent.mu.Lock()
		defer m.agent.mu.Unlock()
		for _, n := range m.agent.notices {
			if strings.Contains(n.Data.Cause+n.Data.Feedback, "unclear") {
				t.Errorf("the agent is told its own reason: %+v", n)
			}
		}
	}
}

func entryClaims() claims {
	return claims{
		"pm-043": is(confirms("gemini", permissions.ModeDefault, true, "", planmode.ConfirmPerson)),
		"pm-044": is(confirms("gemini", permissions.ModeDefault, true, permissions.Allow, planmode.ConfirmNobody)),
		"pm-046": is(enters("gemini", planmode.ResolvedAsked, planmode.Planning, "")),
		"pm-047": is(enters("gemini", planmode.ResolvedDismissed, planmode.Working, "closed without an answer")),
		"pm-048": is(enters("gemini", planmode.ResolvedAsked, planmode.Planning, "")),
		"pm-049": is(enters("swarm", "", planmode.Planning, "")),
		"pm-050": is(both(entersTwice("gemini", planmode.ErrPlanning), entersTwice("swarm", nil))),
		"pm-052": is(both(
			confirms("gemini", permissions.ModeBypass, true, permissions.Allow, planmode.ConfirmDeny),
			func(t *testing.T) { // there is no way out of what was not entered
				s := works(t, "gemini", permissions.ModeBypass)
				s.fails(s.submitted("r1", corpusPlan), planmode.ErrNotPlanning, "enter plan mode first")
			})),
		"pm-053": is(confirms("gemini", permissions.ModeDefault, false, "", planmode.ConfirmNobody)),
	}
}

// waitsFor submits a plan under rules, and wants it to wait for a leader whatever they allow.
func waitsFor(dialect string, attended bool, rules ...permissions.Rule) func(*testing.T) {
	return func(t *testing.T) {
		r := newRig(t)
		m := r.start(speaks(t, dialect, rules...), func(c *teammate.Config) { c.Attended = attended })
		m.enter()
		m.submit(corpusPlan)
		m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
		if s := m.status(); s.Saved != permissions.ModeDefault {
			t.Errorf("the saved mode is %s, want default", s.Saved)
		}
	}
}

// decides wants a decision to lead to a state and a mode, and the agent to be told a text.
func decides(dialect string, outcome planmode.Outcome, change func(*planmode.Decision), state planmode.State, mode permissions.Mode, kind planmode.NotifyKind, text string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		s := waits(t, dialect)
		d := s.decision(outcome)
		if change != nil {
			change(&d.Decision)
		}
		s.must(d)
		s.stands(state, mode)
		if n := s.told(); n.Kind != kind || !strings.Contains(n.Data.Feedback+n.Data.Cause, text) {
			t.Errorf("the agent is told %s %q %q, want %s with %q", n.Kind, n.Data.Feedback, n.Data.Cause, kind, text)
		}
	}
}

func toMode(m permissions.Mode) func(*planmode.Decision) {
	return func(d *planmode.Decision) { d.Mode = m }
}

func saying(text string) func(*planmode.Decision) {
	return func(d *planmode.Decision) { d.Feedback = text }
}

var (
	approvedAs = func(dialect string, m permissions.Mode) func(*testing.T) {
		return decides(dialect, planmode.OutcomeApproved, toMode(m), planmode.Working, m, planmode.NotifyApproved, "")
	}
	stays = func(dialect, feedback, text string) func(*testing.T) {
		return decides(dialect, planmode.OutcomeRejected, saying(feedback), planmode.Planning, permissions.ModePlan, planmode.NotifyRejected, text)
	}
	leaves = func(dialect string) func(*testing.T) {
		return decides(dialect, planmode.OutcomeRejectedAndExit, nil, planmode.Working, permissions.ModeDefault, planmode.NotifyLeft, "")
	}
)

// dismissed closes the question without an answer: withdrawn, interrupted, or the client's question lost.
func dismissed(dialect string, ev planmode.Event) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		s := waits(t, dialect)
		s.must(ev)
		s.stands(planmode.Planning, permissions.ModePlan)
		if n := s.told(); n.Kind != planmode.NotifyStillPlan {
			t.Errorf("the agent is told %s, want that it still plans", n.Kind)
		}
	}
}

func exitClaims() claims {
	bad := func(want error, change func(*planmode.Decision)) func(*testing.T) {
		return func(t *testing.T) {
			s := waits(t, "gemini")
			d := s.decision(planmode.OutcomeApproved)
			change(&d.Decision)
			s.fails(d, want, "")
		}
	}
	return claims{
		"pm-055": is(refusedUnattended("  \n", plans.ErrEmpty)),
		"pm-057": not(3, waitsFor("gemini", true, permissions.Rule{Verdict: permissions.Allow, Tool: "exit_plan_mode"})),
		"pm-058": is(func(t *testing.T) {
			m := newRig(t).start(speaks(t, "gemini", permissions.Rule{Verdict: permissions.Deny, Tool: "exit_plan_mode", Source: "p.toml:1"}))
			m.enter()
			write(t, m.store.WorkFile(), corpusPlan)
			if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, teammate.ErrExitDenied) || !strings.Contains(err.Error(), "denied by policy") {
				t.Errorf("Submit: %v, want that it is denied by policy", err)
			}
			m.wantState(planmode.Planning, permissions.ModePlan)
		}),
		"pm-060": is(approvedAs("gemini", permissions.ModeAcceptEdits)),
		"pm-061": is(bad(planmode.ErrTargetPlan, toMode(permissions.ModePlan))),
		"pm-062": not(5, bad(planmode.ErrUnknownMode, toMode(""))),
		"pm-064": is(stays("gemini", "", "ask your leader what to change")),
		"pm-065": is(dismissed("gemini", planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent})),
		"pm-066": is(func(t *testing.T) {
			s := waits(t, "gemini")
			s.must(s.decision(planmode.OutcomeApproved, toMode(permissions.ModeAcceptEdits)))
			if f := s.emitted("plan.approved"); f["mode"] != "acceptEdits" || f["digest"] == "" {
				t.Errorf("plan.approved has %v, want the target mode and the digest", f)
			}
		}),
		"pm-068": not(3, waitsFor("gemini", false)),
		"pm-069": is(func(t *testing.T) {
			s := works(t, "gemini", permissions.ModeDefault)
			s.fails(s.submitted("r1", corpusPlan), planmode.ErrNotPlanning, "not in plan mode: enter plan mode first")
		}),
		"pm-072": is(func(t *testing.T) {
			d, _ := planmode.DialectOf("gemini")
			word, text := d.Answers.Word(planmode.Decision{Outcome: planmode.OutcomeRejected, Feedback: "add a test"}, nil)
			if word != "cancel" || text != "" {
				t.Errorf("the client is told %q with %q, want cancel, and the feedback as its next prompt", word, text)
			}
			stays("gemini", "add a test", "add a test")(t)
		}),
	}
}

func dialogClaims() claims {
	return claims{
		"pm-076": is(approvedAs("gemini", permissions.ModeDefault)),
		"pm-077": is(stays("gemini", "say how it is tested", "say how it is tested")),
		"pm-078": is(dismissed("gemini", planmode.Interrupted{})),
		"pm-079": adapter("issue 9 (console): an empty text sends nothing"),
		"pm-080": adapter("issue 9 (console): keys of a text field"),
		"pm-081": adapter("issue 9 (console): digits choose the approach"),
		"pm-082": not(2, func(t *testing.T) { // an edit is a revision that is approved as it is, not a prompt to submit again
			s := waits(t, "gemini")
			edited := []byte("# Fix the rounding in cents\n")
			d := s.decision(planmode.OutcomeApproved, func(d *planmode.Decision) { d.EditedPlan, d.PlanWasEdited = edited, true })
			in := planmode.CheckInput{
				TeamID: s.Team, Teammate: s.Teammate, PlanID: s.Cycle.PlanID, Revision: d.Decision.Revision, Content: []byte(corpusPlan), Decision: d.Decision,
			}
			d.Decision.ApprovedDigest, _ = in.ApprovedDigest()
			s.must(d)
			s.stands(planmode.Working, permissions.ModeDefault)
			if n := s.told(); !n.Data.Edited || string(n.Data.Plan) != string(edited) {
				t.Errorf("the agent is told %+v, want the leader's bytes", n.Data)
			}
		}),
		"pm-083": is(func(t *testing.T) { // what the leader reads travels with the request: the file may be gone
			r := newRig(t)
			m := r.start()
			m.plans()
			if err := os.Remove(m.store.WorkFile()); err != nil {
				t.Fatal(err)
			}
			row := r.open()
			if len(row.Request.Plan.Content) == 0 {
				t.Fatal("the request has no plan")
			}
			bad := r.approval(row)
			bad.PlanDigest = strings.Repeat("0", 64)
			r.decide(bad)
			if rec := r.receipt(row.EnvelopeID); rec.State != "refused" {
				t.Errorf("receipt %+v for a decision about other bytes, want refused", rec)
			}
			m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
		}),
		"pm-084": is(checksContent(" \n", plans.ErrEmpty)),
	}
}
