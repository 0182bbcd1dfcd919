package teammate

import (
	"context"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Status is how the teammate stands, for its own agent.
type Status struct {
	State    planmode.State      `json:"state"`
	Mode     permissions.Mode    `json:"mode"`
	Saved    permissions.Mode    `json:"savedMode,omitempty"`
	PlanFile string              `json:"planFile"`
	PlanID   string              `json:"planId,omitempty"`
	Revision int                 `json:"revision,omitempty"` // last submitted
	Pending  *PendingStatus      `json:"pending,omitempty"`
	Approved *planmode.Approval  `json:"approved,omitempty"`
	Grants   []permissions.Grant `json:"grants,omitempty"`
	Asks     []AskStatus         `json:"asks,omitempty"` // calls that wait for a leader's word
	Last     *Answer             `json:"last,omitempty"` // the answer to the last revision
	Mail     int                 `json:"mail,omitempty"` // unread
	Attended bool                `json:"attended"`       // somebody can be asked about single calls, whatever the mode
	// Guidance is how readily the agent is to plan; empty: nothing was said.
	Guidance planmode.Strength `json:"guidance,omitempty"`
	// Blocked are calls of this round of planning that were refused more than once.
	Blocked []planmode.BlockedCall `json:"blocked,omitempty"`
}

// PendingStatus is the open request.
type PendingStatus struct {
	RequestID string               `json:"requestId"`
	Handle    string               `json:"handle"`
	Kind      planmode.RequestKind `json:"kind"`
	Revision  int                  `json:"revision"`
	Digest    string               `json:"digest"`
	Published bool                 `json:"published"` // stored in the leaders' mailbox
	Attempt   int                  `json:"attempt"`
	Trouble   string               `json:"trouble,omitempty"` // why it is not published
	Unknown   []string             `json:"unknown,omitempty"` // prompts that mean nothing here: nothing can be granted for them
}

// AskStatus is a call that waits for a leader's word.
type AskStatus struct {
	RequestID string `json:"requestId"`
	Handle    string `json:"handle"`
	Tool      string `json:"tool"`
	Input     string `json:"input"` // the line, or the file
}

// Status returns how the teammate stands now.
func (r *Runner) Status() (Status, error) {
	v, ok := r.View()
	if !ok {
		return Status{}, r.absent()
	}
	unread, _ := r.inbox.unread()
	s := Status{
		State: v.State, Mode: v.Mode, Saved: v.Saved, PlanFile: v.PlanFile, PlanID: v.PlanID, Revision: v.Revision,
		Approved: v.Approved, Grants: v.Grants, Mail: unread, Attended: r.cfg.Attended, Pending: r.pendingStatus(v.Pending),
	}
	s.Blocked, s.Guidance = r.planning.blockedCalls(), r.cfg.Guidance
	for _, a := range v.Asks {
		s.Asks = append(s.Asks, AskStatus{a.RequestID, mailbox.Handle(r.cfg.Name, a.RequestID, 4), a.Tool, a.Input})
	}
	if answer, ok := r.answers.find(v.PlanID, v.Revision); ok {
		s.Last = &answer
	}
	return s, nil
}

func (r *Runner) pendingStatus(p *planmode.Pending) *PendingStatus {
	if p == nil {
		return nil
	}
	var unknown []string
	for _, asked := range p.Prompts {
		if asked.Intent == "" {
			unknown = append(unknown, asked.Prompt)
		}
	}
	return &PendingStatus{
		Unknown:   unknown,
		RequestID: p.RequestID, Handle: mailbox.Handle(r.cfg.Name, p.RequestID, 4), Kind: p.Kind, Revision: p.Revision,
		Digest: p.Digest, Published: p.Published, Attempt: p.Attempt, Trouble: r.answers.troubleOf(p.RequestID),
	}
}

func (r *Runner) absent() error {
	if v := r.view.Load(); v != nil && v.State == planmode.Left { // and what it does at its end is under way
		return ErrLeft
	}
	select {
	case <-r.over:
		return ErrLeft
	default:
		return ErrNotReady
	}
}

// do takes an event of the agent's and waits until it is in force here.
func (r *Runner) do(ctx context.Context, ev planmode.Event) error {
	return r.doNow(ctx, func(planmode.Session) planmode.Event { return ev })
}

// doNow is do for an event that is made of the present session.
func (r *Runner) doNow(ctx context.Context, event func(planmode.Session) planmode.Event) error {
	if _, ok := r.View(); !ok {
		return r.absent()
	}
	r.mu.Lock()
	rec, err := r.stepLocked(event(r.session), nil)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.await(ctx, rec)
}

// Leave asks to leave plan mode without a plan. It happens at once where the agent itself had entered and the charter does
// not require a plan; otherwise a leader is asked, and [Runner.WaitDecision] waits for the answer.
func (r *Runner) Leave(ctx context.Context, reason string) error {
	return r.do(ctx, planmode.LeaveAsked{RequestID: r.cfg.NewRequestID(), Reason: reason})
}

// Withdraw takes the open request back. The teammate still plans. [ErrNothingOpen] means that there is none.
func (r *Runner) Withdraw(ctx context.Context) error {
	if v, ok := r.View(); ok && v.Pending == nil && r.snapshot().Pending == nil {
		return ErrNothingOpen
	}
	return r.do(ctx, planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent})
}

// Interrupt is somebody at the agent pressing stop: it never opens the gate.
func (r *Runner) Interrupt(ctx context.Context) error { return r.do(ctx, planmode.Interrupted{}) }

// Done ends the plan that is carried out, its grants, and what runs under them.
func (r *Runner) Done(ctx context.Context) error {
	return r.do(ctx, planmode.Completed{By: "agent"})
}

// Observed tells that the agent's client is in a mode, whoever put it there.
func (r *Runner) Observed(mode permissions.Mode) error {
	_, err := r.step(planmode.ModeObserved{Mode: mode, PlanID: r.cfg.NewID(), PlanFile: r.cfg.Store.WorkFile()})
	return err
}

// AgentLost tells that the agent's process has ended. Where a new one cannot take its question up, the question is
// withdrawn.
func (r *Runner) AgentLost(canResumeAsk bool) error {
	_, err := r.step(planmode.AgentLost{CanResumeAsk: canResumeAsk})
	return err
}
