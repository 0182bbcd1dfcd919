package teammate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Tasks are the tasks of the plan that is carried out, in the order of its checkboxes; none without one.
func (r *Runner) Tasks() ([]planmode.TaskState, error) {
	v, ok := r.View()
	if !ok {
		return nil, r.absent()
	}
	if v.Approved == nil {
		return []planmode.TaskState{}, nil
	}
	return append([]planmode.TaskState{}, v.Approved.Tasks...), nil
}

// MarkTask says how far a task is. The leaders are told.
func (r *Runner) MarkTask(ctx context.Context, id string, status planmode.TaskStatus, note string) error {
	return r.do(ctx, planmode.TaskMarked{ID: id, Status: status, Note: note})
}

// TurnEnded tells that the agent's turn is over: a plan whose tasks are all done is done then.
func (r *Runner) TurnEnded(ctx context.Context) error {
	v, ok := r.View()
	if !ok {
		return r.absent()
	}
	if v.Approved == nil {
		return nil
	}
	if done, all := v.Approved.Progress(); all == 0 || done < all {
		return nil
	}
	return r.do(ctx, planmode.Completed{By: "tasks"})
}

// taskLine is how far a plan is, in a line for lists.
func taskLine(a planmode.Approval) string {
	done, all := a.Progress()
	if all == 0 {
		return ""
	}
	line := fmt.Sprintf("%d/%d", done, all)
	if t, ok := a.Doing(); ok {
		line += " " + plans.Cut(plans.VisibleLine(t.Text), 60)
	}
	if i := slices.IndexFunc(a.Tasks, func(t planmode.TaskState) bool { return t.Status == planmode.TaskBlocked }); i >= 0 {
		t := a.Tasks[i]
		line += "; blocked: " + plans.Cut(plans.VisibleLine(cmp.Or(t.Note, t.Text)), 60)
	}
	return line
}
