package planmode_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// carryingTasks carries a plan out that has two checkboxes, one of them ticked.
func carryingTasks(t tb) planmode.Session {
	content := []byte("# Fix it\n\n- [x] look\n- [ ] totals as cents\n")
	s := must(t, planning(t), submit("r1", content, func(ev *planmode.Submitted) { ev.Tasks = plans.Tasks(content) }), planmode.Published{RequestID: "r1"})
	ev := approve(s)
	ev.Content = content
	return must(t, s, seal(s, ev))
}

func taskRows(t *testing.T) []row {
	s := carryingTasks(t)
	started := must(t, s, planmode.TaskMarked{ID: "t2", Status: planmode.TaskStarted})
	works := "working acceptEdits"
	mark := func(id string, status planmode.TaskStatus) planmode.TaskMarked {
		return planmode.TaskMarked{ID: id, Status: status}
	}
	return []row{
		{name: "72-W-TaskMarked-started", from: s, ev: mark("t2", planmode.TaskStarted), want: works, effects: []string{"Emit task.updated", "ReportStatus"}, check: digestStays},
		{name: "72-W-TaskMarked-same", from: started, ev: mark("t2", planmode.TaskStarted), want: works, check: same},
		{name: "72-W-TaskMarked-last", from: started, ev: mark("t2", planmode.TaskDone), want: works, effects: []string{"Emit task.updated", "Notify tasksDone", "ReportStatus"}, check: digestStays},
		{name: "72-W-TaskMarked-blocked", from: started, ev: planmode.TaskMarked{ID: "t2", Status: planmode.TaskBlocked, Note: "no access\xff" + strings.Repeat("x", 600)}, want: works, effects: []string{"Emit task.updated", "ReportStatus"}, check: digestStays},
		{name: "72-W-TaskMarked-unknown", from: s, ev: mark("t3", planmode.TaskDone), err: planmode.ErrNoTask},
		{name: "72-W-TaskMarked-no-status", from: s, ev: mark("t2", "nearly"), err: planmode.ErrNoTask},
		{name: "72-W-TaskMarked-no-plan", from: working(t), ev: mark("t1", planmode.TaskDone), err: planmode.ErrWrongState},
		{name: "72-P-TaskMarked", from: planning(t), ev: mark("t1", planmode.TaskDone), err: planmode.ErrWrongState},
		{name: "72-A-TaskMarked", from: awaiting(t), ev: mark("t1", planmode.TaskDone), err: planmode.ErrWrongState},
	}
}

// digestStays: ticks are no part of what was approved.
func digestStays(t *testing.T, before, after planmode.Session, _ []planmode.Effect) {
	t.Helper()
	if before.Approved.Digest != after.Approved.Digest || before.Approved.Content != after.Approved.Content || len(after.Grants) != len(before.Grants) {
		t.Errorf("a tick has changed what was approved: %+v, before %+v", after.Approved, before.Approved)
	}
}

// The boxes that were ticked when the plan was approved are done; progress counts them.
func TestProgress(t *testing.T) {
	s := carryingTasks(t)
	if done, all := s.Approved.Progress(); done != 1 || all != 2 {
		t.Errorf("%d of %d are done, want 1 of 2", done, all)
	}
	if doing, ok := s.Approved.Doing(); !ok || doing.ID != "t2" {
		t.Errorf("doing %+v, want t2", doing)
	}
	s = must(t, s, planmode.TaskMarked{ID: "t2", Status: planmode.TaskDone})
	if doing, ok := s.Approved.Doing(); ok {
		t.Errorf("doing %+v, want nothing", doing)
	}
}

// Each sample is in the guidance of both strengths, planned or not, and the two differ.
func TestGuidance(t *testing.T) {
	differ := 0
	for _, tt := range planmode.Samples() {
		if tt.Restrained && !tt.Eager {
			t.Errorf("%q is planned by the restrained and not by the eager", tt.Task)
		}
		if tt.Eager != tt.Restrained {
			differ++
		}
		for strength, plan := range map[planmode.Strength]bool{planmode.Eager: tt.Eager, planmode.Restrained: tt.Restrained} {
			text, err := planmode.Guide(strength)
			word := map[bool]string{true: "- plan   ", false: "- do it  "}[plan]
			if err != nil || !strings.Contains(text, word+tt.Task) {
				t.Errorf("%s: %v, want %q in it", strength, err, word+tt.Task)
			}
		}
	}
	if len(planmode.Samples()) != 5 || differ == 0 {
		t.Errorf("%d samples, %d of which tell the strengths apart", len(planmode.Samples()), differ)
	}
	if _, err := planmode.Guide("fierce"); err == nil || !strings.Contains(err.Error(), "eager or restrained") {
		t.Errorf("Guide(fierce) = %v, want an error that lists the strengths", err)
	}
}
