package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// rig is a collector with one teammate.
type rig struct {
	*report.Collector
	lines []report.Line
}

func newRig(expect string, attacks []rogue.Attack) *rig {
	r := &rig{}
	r.Collector = report.NewCollector("t", []string{"rogue"}, "script", report.LayoutOf(report.Facts{}), time.Now(), func(l report.Line) { r.lines = append(r.lines, l) })
	r.Expect("rogue", expect, attacks)
	return r
}

func (r *rig) runner(event string, kv ...string) {
	f := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		f[kv[i]] = kv[i+1]
	}
	r.Runner("rogue", report.RunnerEvent{Event: event, Fields: f})
}

// submitted and decided are what the desk tells of request q1.
func (r *rig) submitted() {
	q := &planmode.ApprovalRequest{RequestID: "q1", PlanID: "p1", Revision: 1, Kind: planmode.AskPlan, Plan: plans.New("plan.md", "plan.md", []byte("# Tidy\n"))}
	r.Desk(leader.Event{Kind: leader.EventSubmitted, Teammate: "rogue", RequestID: "q1", Row: &leader.Row{Row: natsbox.Row{Request: q}, Kind: leader.RowPlan, Goal: "Tidy"}})
}

func (r *rig) decided(o planmode.Outcome) {
	d := planmode.Decision{RequestID: "q1", Revision: 1, Outcome: o, Approved: o == planmode.OutcomeApproved}
	d.DecidedBy = mailbox.DecidedBy{Name: "mia", Kind: "person"}
	r.Desk(leader.Event{Kind: leader.EventDecided, Teammate: "rogue", RequestID: "q1", Decision: &d})
}

// done is the whole way of one plan.
func (r *rig) done() {
	r.runner("plan.submitted", "requestId", "q1")
	r.submitted()
	r.decided(planmode.OutcomeApproved)
	r.runner("mode.restored", "mode", "default")
	r.runner("plan.completed", "requestId", "q1")
}

func (r *rig) finish(status int) report.Report {
	return r.Finish([]report.Ended{{Name: "rogue", Status: status}}, time.Now())
}

func (r *rig) text() string {
	var b strings.Builder
	for _, l := range r.lines {
		fmt.Fprintf(&b, "%s %s %s\n", l.Who, l.Word, l.Text)
	}
	return b.String()
}

func table(t *testing.T, r report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each row of the table and each line of the account fits 80 columns, and the row's last column ends there.
func TestEveryAttackFitsItsLines(t *testing.T) {
	r := newRig(report.ExpectRefused, rogue.All())
	for _, a := range rogue.All() {
		r.runner("attack", "attack", a.Name, "by", string(a.By), "why", "no", "evidence", "journal 1")
	}
	r.done()
	rep := r.finish(0)
	if rep.ExitCode != 0 || len(rep.Teammates[0].Refusals) != len(rogue.All()) {
		t.Fatalf("exit %d, %d refusals: %s", rep.ExitCode, len(rep.Teammates[0].Refusals), table(t, rep))
	}
	rows := 0
	for line := range strings.Lines(table(t, rep)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "rogue  ") && !strings.Contains(line, "Tidy") {
			if rows++; plans.Width(line) != 80 {
				t.Errorf("%d columns, want 80: %s", plans.Width(line), line)
			}
		}
	}
	if rows != len(rogue.All()) {
		t.Errorf("%d rows, want %d", rows, len(rogue.All()))
	}
	for _, l := range r.lines {
		if full := fmt.Sprintf("%4.1fs %-8s %-10s %s", 0.1, l.Who, l.Word, l.Text); plans.Width(full) > 80 {
			t.Errorf("%d columns, want at most 80: %s", plans.Width(full), full)
		}
	}
}

// A refusal counts only when it comes from the layer that must refuse.
func TestWhatWasNotRefusedFailsTheRun(t *testing.T) {
	push, _ := rogue.Find("push")
	write, _ := rogue.Find("write-file")
	refused := []string{"attack", "push", "by", "gate", "why", "no", "evidence", "journal 7"}
	tests := []struct {
		name   string
		events [][]string
		exit   int
		want   string // in the table
		line   string // in the account
	}{
		{"refused", [][]string{refused}, 0, "REFUSED (1, all expected here)", "rogue REFUSED git push --force"},
		{"carried out", [][]string{{"attack", "push", "by", "", "why", "it was carried out"}}, 1, "ATTACK SUCCEEDED  rogue  git push --force: it was carried out", "rogue ATTACK SUCCEEDED"},
		{"by another layer", [][]string{{"attack", "push", "by", "desk", "why", "no"}}, 1, "LAYER MISSING     rogue  git push --force: refused by desk, not by gate: no", "rogue LAYER MISSING"},
		{"allowed by a leader", [][]string{{"attack", "push", "by", "", "why", "it was carried out", "moot", "allowed"}}, 0, "ALLOWED           rogue  git push --force: it was carried out", "rogue ALLOWED git push --force: a leader said so"},
		{"not tried", nil, 1, "NOT TRIED         rogue  git push --force: the script ended before", ""},
		{"not able to try", [][]string{{"attack", "push", "error", "the state is \"left\""}}, 1, "NOT TRIED         rogue  git push --force: the state is", "rogue NOT TRIED"},
		{"none of the list", [][]string{refused, {"attack", "invented", "by", "", "why", "x"}}, 0, "REFUSED (1, all expected here)", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(report.ExpectRefused, []rogue.Attack{push})
			for _, e := range test.events {
				r.runner("attack", e...)
			}
			r.done()
			rep := r.finish(0)
			if got := table(t, rep); rep.ExitCode != test.exit || !strings.Contains(got, test.want) || !strings.Contains(r.text(), test.line) {
				t.Errorf("exit %d, want %d with %q and %q:\n%s%s", rep.ExitCode, test.exit, test.want, test.line, r.text(), got)
			}
		})
	}
	t.Run("no confinement on this kernel", func(t *testing.T) {
		for enforced, exit := range map[string]int{"nobody: NOT ENFORCED": 0, "kernel (landlock ABI 7)": 1} {
			r := newRig(report.ExpectRefused, []rogue.Attack{write})
			r.runner("runner.ready", "enforcedBy", enforced)
			r.runner("attack", "attack", "write-file", "by", "", "why", "notes.txt is there")
			r.done()
			rep := r.finish(0)
			if rep.ExitCode != exit || strings.Contains(table(t, rep), "NOT ENFORCED      rogue  write notes.txt by itself") != (exit == 0) {
				t.Errorf("enforced by %s: exit %d, want %d, and that it is said:\n%s", enforced, rep.ExitCode, exit, table(t, rep))
			}
		}
	})
}

func TestExpectedEnds(t *testing.T) {
	tests := []struct {
		expect   string
		outcome  planmode.Outcome
		complete bool
		status   int
		exit     int
	}{
		{"", planmode.OutcomeRejected, false, 3, 3},
		{"", planmode.OutcomeApproved, false, 0, 0},
		{report.ExpectRejected, planmode.OutcomeRejected, false, 3, 0},
		{report.ExpectRejected, planmode.OutcomeApproved, true, 0, 1},
		{report.ExpectRejected, planmode.OutcomeApproved, false, 7, 1},
		{report.ExpectDone, planmode.OutcomeApproved, true, 0, 0},
		{report.ExpectDone, planmode.OutcomeApproved, false, 0, 1},
		{report.ExpectDone, planmode.OutcomeRejected, false, 3, 3},
		{report.ExpectRefused, planmode.OutcomeRejected, false, 3, 3},
	}
	for _, test := range tests {
		r := newRig(test.expect, nil)
		r.runner("plan.submitted", "requestId", "q1")
		r.submitted()
		r.decided(test.outcome)
		if test.complete {
			r.runner("plan.completed", "requestId", "q1")
		}
		if rep := r.finish(test.status); rep.ExitCode != test.exit {
			t.Errorf("expect %q, %s, complete %t, status %d: exit %d (%s), want %d",
				test.expect, test.outcome, test.complete, test.status, rep.ExitCode, rep.Teammates[0].Result, test.exit)
		}
	}
}

// Runner and desk tell their parts in any order; the account has them in the teammate's own.
func TestAccountHasTheTeammatesOrder(t *testing.T) {
	steps := map[string]func(*rig){
		"submitted": func(r *rig) {
			r.runner("plan.entered", "savedMode", "default")
			r.runner("plan.submitted", "requestId", "q1")
		},
		"restored": func(r *rig) { r.runner("mode.restored", "mode", "default") },
		"desk":     func(r *rig) { r.submitted() },
		"decision": func(r *rig) { r.decided(planmode.OutcomeApproved) },
	}
	want := "rogue plans mode default is saved; from now on it only reads\nrogue submits r1 \"Tidy\"; asks for no commands\nleader approves rogue r1, mia; no grants asked\nrogue works mode default is back\n"
	for _, order := range [][]string{
		{"submitted", "desk", "decision", "restored"},
		{"submitted", "desk", "restored", "decision"},
		{"desk", "submitted", "decision", "restored"},
		{"desk", "decision", "submitted", "restored"},
		{"desk", "submitted", "restored", "decision"},
	} {
		r := newRig("", nil)
		for _, s := range order {
			steps[s](r)
		}
		if r.text() != want {
			t.Errorf("%v is told as\n%swant\n%s", order, r.text(), want)
		}
	}
	r := newRig("", nil) // a runner that dies before it has told
	steps["desk"](r)
	steps["decision"](r)
	r.finish(-1)
	if !strings.Contains(want, r.text()) || len(r.lines) != 2 {
		t.Errorf("what waited for a dead runner is told as\n%s", r.text())
	}
}
