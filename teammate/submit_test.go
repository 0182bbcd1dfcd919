//go:build linux

package teammate_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
)

// What cannot be a plan is one error that says what to do, and asks nothing.
func TestBadSubmissions(t *testing.T) {
	t.Parallel()
	r := newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeAuto, PlanRequired: true}))
	m := r.start(func(c *teammate.Config) { c.AllowedPrompts = []string{"run tests"} })
	if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Submit without a file: %v, want ErrNotExist", err)
	}
	write(t, m.store.WorkFile(), "# A plan\n")
	if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, planmode.ErrNotPlanning) {
		t.Errorf("Submit while working: %v, want ErrNotPlanning", err)
	}
	m.enter()
	folder := filepath.Dir(m.store.WorkFile())
	at := func(name, content string) string {
		write(t, filepath.Join(folder, name), content)
		return filepath.Join(folder, name)
	}
	write(t, filepath.Join(r.tree, "mine.md"), "# Mine\n")
	link := filepath.Join(folder, "link.md")
	outside := filepath.Join(t.TempDir(), "plan.md")
	write(t, outside, "# Outside\n")
	if err := errors.Join(os.Symlink(outside, link), syscall.Mkfifo(filepath.Join(folder, "pipe.md"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		in   teammate.Submission
		want error
	}{
		"blank":           {teammate.Submission{Path: at("blank.md", " \n\t\n")}, plans.ErrEmpty},
		"not UTF-8":       {teammate.Submission{Path: at("bytes.md", "\xff\xfe")}, plans.ErrNotUTF8},
		"too large":       {teammate.Submission{Path: at("large.md", strings.Repeat("x", plans.MaxBytes+1))}, plans.ErrTooLarge},
		"missing":         {teammate.Submission{Path: filepath.Join(folder, "none.md")}, plandir.ErrNotExist},
		"a folder":        {teammate.Submission{Path: folder}, plandir.ErrOutside},
		"a link out":      {teammate.Submission{Path: link}, plandir.ErrNotRegular},
		"a pipe":          {teammate.Submission{Path: filepath.Join(folder, "pipe.md")}, plandir.ErrNotRegular},
		"outside":         {teammate.Submission{Path: outside}, plandir.ErrOutside},
		"the state":       {teammate.Submission{Path: filepath.Join(r.dir, "journal.jsonl")}, plandir.ErrOutside},
		"dots":            {teammate.Submission{Path: "../../etc/passwd", Cwd: r.tree}, plandir.ErrOutside},
		"no directory":    {teammate.Submission{Path: "plan.md"}, plandir.ErrNotExist},
		"of the tree":     {teammate.Submission{Path: "mine.md", Cwd: r.tree}, plandir.ErrOutside},
		"of the tree too": {teammate.Submission{Path: filepath.Join(r.tree, "mine.md")}, plandir.ErrOutside},
		"prompt":          {teammate.Submission{Prompts: []string{"push to main"}}, teammate.ErrPromptNotAllowed},
		"options":         {teammate.Submission{Options: []plans.Option{{Label: "approve"}}}, planmode.ErrBadOptions},
		"unknown mode":    {teammate.Submission{RequestedMode: "god"}, planmode.ErrUnknownMode},
		"mode above cap":  {teammate.Submission{RequestedMode: permissions.ModeBypass}, planmode.ErrAboveCap},
		"mode is plan":    {teammate.Submission{RequestedMode: permissions.ModePlan}, planmode.ErrTargetPlan},
		"dots in the cwd": {teammate.Submission{Path: "plan.md", Cwd: filepath.Join(r.tree, "..")}, plandir.ErrNotExist},
	} {
		_, err := m.Submit(t.Context(), tc.in)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("Submit, %s: %v, want %v", name, err, tc.want)
		}
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	if rows, err := r.anna.Pending(t.Context()); err != nil || len(rows) > 0 {
		t.Errorf("leaders see %v, %v, want nothing", rows, err)
	}
	if p := m.submit("# A plan\n", "execute the test suite"); p.Revision != 1 { // the allowed intent in other words
		t.Errorf("Submit = %+v, want revision 1", p)
	}
}

// Everything that a leader must see is in the request.
func TestRequestHasWhatALeaderMustSee(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.enter()
	write(t, filepath.Join(filepath.Dir(m.store.WorkFile()), "plan.md"), "# Round half even\n\n- [ ] change `total.go`\n- [ ] run the tests\n")
	write(t, filepath.Join(r.tree, "total.go"), "package total\n")
	if _, err := m.Submit(t.Context(), teammate.Submission{Path: "plan.md", Cwd: r.tree, Prompts: []string{"run tests", "tidy up"}}); err != nil {
		t.Fatal(err)
	}
	q := r.open().Request
	if q.Plan.Name != "plan.md" || len(q.Tasks) != 2 || q.SavedMode != permissions.ModeDefault {
		t.Errorf("request = %+v, want the plan with its two tasks", q)
	}
	if p := q.AllowedPrompts; len(p) != 2 || p[0].Intent == "" || len(p[0].Examples) == 0 || p[1].Intent != "" {
		t.Errorf("prompts = %+v, want the first one understood and the second not", p)
	}
	if len(q.Facts) == 0 || len(q.Reads) != 1 || q.Reads[0].Path != "total.go" {
		t.Errorf("facts %v and reads %v, want total.go among them", q.Facts, q.Reads)
	}
}

// What changes on disk after submit changes nothing: what was read is what is decided on, and what is applied.
func TestPlanFileChangedAfterSubmit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	other := filepath.Join(t.TempDir(), "other.md")
	write(t, other, "# Something else\n")
	if err := errors.Join(os.Remove(m.store.WorkFile()), os.Symlink(other, m.store.WorkFile())); err != nil {
		t.Fatal(err)
	}
	row := r.request(p.RequestID)
	r.decide(r.approval(row))
	m.wait()
	if got := read(t, m.store.WorkFile()); got != string(row.Request.Plan.Content) {
		t.Errorf("the plan file holds %q, want what was approved", got)
	}
	if got := read(t, other); got != "# Something else\n" {
		t.Errorf("the file behind the link holds %q: it was written through", got)
	}
}

// The plan folder is replaced by a link while the leader reads: what was read is approved and can be read, nothing is
// written through the link, and leader and agent are told where the plan is.
func TestPlanFolderReplacedAfterSubmit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	folder, elsewhere := filepath.Dir(m.store.WorkFile()), t.TempDir()
	theirs := filepath.Join(elsewhere, filepath.Base(m.store.WorkFile()))
	write(t, theirs, "# Theirs\n")
	if err := errors.Join(os.Rename(folder, folder+".old"), os.Symlink(elsewhere, folder)); err != nil {
		t.Fatal(err)
	}
	row := r.request(p.RequestID)
	r.decide(r.approval(row))
	if rec := r.receipt(p.RequestID); rec.State != mailbox.Applied || !strings.Contains(rec.Reason, "could not be written to its file") {
		t.Errorf("receipt = %+v, want applied, and that the plan is not in its file", rec)
	}
	if a := m.wait(); a.Outcome != planmode.OutcomeApproved || !strings.Contains(a.Cause, "swarm plan view prints it") {
		t.Errorf("WaitDecision = %+v, want approved, and where the plan is", a)
	}
	if v, err := m.ViewPlan(); err != nil || string(v.Content) != string(row.Request.Plan.Content) {
		t.Errorf("ViewPlan = %q, %v, want what was approved", v.Content, err)
	}
	if got := read(t, theirs); got != "# Theirs\n" {
		t.Errorf("the file behind the link holds %q: it was written through", got)
	}
	m.enter()
	if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, plandir.ErrOutside) {
		t.Errorf("Submit through the link: %v, want access denied", err)
	}
}

// The same plan again is the same request; the same bytes as a rejected revision are marked.
func TestSubmittedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.enter()
	first := m.submit("# Fix it\n")
	if again := m.submit("# Fix it\n"); again.RequestID != first.RequestID || again.Revision != 1 {
		t.Fatalf("the same again = %+v, want %+v", again, first)
	}
	r.decide(r.rejection(r.request(first.RequestID), "no"))
	m.wait()
	second := m.submit("# Fix it\n")
	if row := r.request(second.RequestID); second.Revision != 2 || !row.Request.Unchanged {
		t.Fatalf("the rejected bytes again: revision %d, unchanged %t", second.Revision, row.Request.Unchanged)
	}
	if err := m.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := m.wait(); a.Outcome != teammate.OutcomeWithdrawn {
		t.Fatalf("WaitDecision = %+v, want withdrawn", a)
	}
	until(t, "withdrawn", func() bool { return r.request(second.RequestID).Withdrawn == "withdrawn" })
	m.wantState(planmode.Planning, permissions.ModePlan)
}

// A revision that was kept and never became a step does not stand in the way of the next.
func TestRevisionWithoutAStep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full := &fullJournal{}
	m := r.start(func(c *teammate.Config) {
		full.Journal = c.Journal
		c.Journal = full
	})
	m.enter()
	write(t, m.store.WorkFile(), "# First\n")
	full.full.Store(true)
	if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, errFull) {
		t.Fatalf("Submit: %v, want that the disk is full", err)
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	full.full.Store(false)
	p := m.submit("# Second\n")
	row := r.request(p.RequestID)
	if p.Revision != 1 || string(row.Request.Plan.Content) != "# Second\n" {
		t.Fatalf("Submit = %+v with %q, want revision 1 with the second bytes", p, row.Request.Plan.Content)
	}
	r.decide(r.approval(row))
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{false, true} {
		r := newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeBypass, PlanRequired: required}))
		m := r.start(inMode(permissions.ModeAcceptEdits))
		m.enter()
		if err := m.Leave(t.Context(), "nothing to do"); err != nil {
			t.Fatal(err)
		}
		if required {
			m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
			row := r.open()
			if row.Request.Kind != planmode.AskLeave || row.Request.Reason != "nothing to do" {
				t.Fatalf("request = %+v, want a wish to leave", row.Request)
			}
			r.decide(r.approval(row))
			if a := m.wait(); a.Outcome != planmode.OutcomeApproved {
				t.Fatalf("WaitDecision = %+v, want approved", a)
			}
		}
		m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	}
}

// Whoever hands a plan in is told which prompts mean nothing here.
func TestUnknownPromptsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.enter()
	if p := m.submit("# A plan\n", "run tests", "polish the brass", "make it nice"); strings.Join(p.Unknown, ", ") != "polish the brass, make it nice" {
		t.Errorf("submitted as %+v, want the two unknown prompts", p)
	}
	if p := m.submit("# Another\n", "run tests"); p.Unknown != nil || m.status().Pending.Unknown != nil {
		t.Errorf("submitted as %+v, want no unknown prompt", p)
	}
}

// With nothing open there is nothing to withdraw, and that is said.
func TestWithdrawNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	if err := m.Withdraw(t.Context()); !errors.Is(err, teammate.ErrNothingOpen) {
		t.Errorf("Withdraw while working: %v, want ErrNothingOpen", err)
	}
	m.plans()
	if err := m.Withdraw(t.Context()); err != nil {
		t.Errorf("Withdraw: %v", err)
	}
	if err := m.Withdraw(t.Context()); !errors.Is(err, teammate.ErrNothingOpen) {
		t.Errorf("Withdraw again: %v, want ErrNothingOpen", err)
	}
}

// What was refused after the teammate has left is no news for its log.
func TestRefusedAfterTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var out bytes.Buffer
	m := r.start(func(c *teammate.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	m.end(context.Canceled)
	if line := m.Refused(permissions.Call{Tool: "Bash", Command: "x"}, permissions.Decision{}, "it has left"); line != 0 || strings.Contains(out.String(), "refused call") {
		t.Errorf("line %d, and the log says %s", line, out.String())
	}
}
