package planmode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planswarm/swarm/plans"
)

// TaskStatus is how far a task is. The words are the wire's.
type TaskStatus string

// How far a task is.
const (
	TaskPending TaskStatus = "pending"
	TaskStarted TaskStatus = "inProgress"
	TaskDone    TaskStatus = "done"
	TaskBlocked TaskStatus = "blocked"
)

// TaskState is a checkbox of the approved plan, and how far it is. The box in the plan's bytes stays as it was approved.
type TaskState struct {
	ID     string     `json:"id"`
	Line   int        `json:"line"`
	Text   string     `json:"text"` // the author's: make it visible
	Status TaskStatus `json:"status"`
	Note   string     `json:"note,omitempty"`
}

// maxNote is how many bytes of a note are kept.
const maxNote = 500

// taskStates are a plan's checkboxes as they were approved.
func taskStates(tasks []plans.Task) []TaskState {
	var list []TaskState
	for _, t := range tasks {
		state := TaskState{ID: t.ID, Line: t.Line, Text: t.Text, Status: TaskPending}
		if t.Done {
			state.Status = TaskDone
		}
		list = append(list, state)
	}
	return list
}

// Progress counts the tasks that are done, and all of them.
func (a Approval) Progress() (done, all int) {
	for _, t := range a.Tasks {
		if t.Status == TaskDone {
			done++
		}
	}
	return done, len(a.Tasks)
}

// Doing is the first task that was begun, or the first that is open.
func (a Approval) Doing() (TaskState, bool) {
	for _, status := range []TaskStatus{TaskStarted, TaskPending, TaskBlocked} {
		if i := slices.IndexFunc(a.Tasks, func(t TaskState) bool { return t.Status == status }); i >= 0 {
			return a.Tasks[i], true
		}
	}
	return TaskState{}, false
}

// taskMarked is row 72. It ends no plan: a plan is done when its teammate says so, or its turn ends.
func (s *step) taskMarked(ev TaskMarked) error {
	if s.State != Working || s.Approved == nil {
		return fmt.Errorf("%w: no plan is carried out, so there are no tasks: get one approved first", ErrWrongState)
	}
	i := slices.IndexFunc(s.Approved.Tasks, func(t TaskState) bool { return t.ID == ev.ID })
	switch {
	case i < 0:
		return fmt.Errorf("%w: %q: %s", ErrNoTask, plans.Cut(plans.VisibleLine(ev.ID), 80), s.Approved.taskIDs())
	case !slices.Contains([]TaskStatus{TaskPending, TaskStarted, TaskDone, TaskBlocked}, ev.Status):
		return fmt.Errorf("%w: a task cannot be %q: mark it pending, inProgress, done or blocked", ErrNoTask, plans.Cut(plans.VisibleLine(string(ev.Status)), 80))
	}
	note := strings.ToValidUTF8(ev.Note[:min(len(ev.Note), maxNote)], "\uFFFD")
	task := &s.Approved.Tasks[i]
	if task.Status == ev.Status && task.Note == note {
		return nil
	}
	task.Status, task.Note = ev.Status, note
	done, all := s.Approved.Progress()
	s.emit("task.updated", "taskId", ev.ID, "status", ev.Status, "note", note, "done", done, "of", all)
	if done == all {
		s.notify(NotifyTasksDone, Notice{Next: "every task is done: finish the plan with swarm plan done"})
	}
	s.do(ReportStatus{})
	return nil
}

func (a Approval) taskIDs() string {
	if len(a.Tasks) == 0 {
		return "the approved plan has no checkboxes"
	}
	return fmt.Sprintf("the plan has %s to %s: swarm task list", a.Tasks[0].ID, a.Tasks[len(a.Tasks)-1].ID)
}
