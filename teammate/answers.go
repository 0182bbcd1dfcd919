package teammate

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Outcome words besides those of a decision.
const (
	OutcomeWithdrawn   planmode.Outcome = "withdrawn"
	OutcomeSuperseded  planmode.Outcome = "superseded"
	OutcomeUndecidable planmode.Outcome = "undecidable"
)

// Answer is what became of one revision of a plan, or of a wish to leave plan mode. Everything in it that a leader wrote
// was signed.
type Answer struct {
	RequestID string                   `json:"requestId"`
	PlanID    string                   `json:"planId"`
	Revision  int                      `json:"revision"`
	Outcome   planmode.Outcome         `json:"outcome"`
	State     planmode.State           `json:"state"`
	Mode      permissions.Mode         `json:"mode"`
	PlanFile  string                   `json:"planFile,omitempty"`
	Feedback  string                   `json:"feedback,omitempty"`
	Comments  []planmode.Comment       `json:"comments,omitempty"`
	Option    string                   `json:"option,omitempty"`
	Grants    []permissions.GrantTerms `json:"grants,omitempty"`
	Edited    bool                     `json:"edited,omitempty"` // the plan file holds what the leader made of it
	Cause     string                   `json:"cause,omitempty"`
	Next      string                   `json:"next,omitempty"` // what to do now
	By        *mailbox.DecidedBy       `json:"by,omitempty"`
}

// keptAnswers is how many answers are kept.
const keptAnswers = 32

// answers keeps the last answers, so that they can be asked for, also after a restart.
type answers struct {
	mu       sync.Mutex
	keep     keep
	list     []Answer
	troubles map[string]error // why a pending request is not sent yet
	shown    map[string]bool  // requests whose answer the agent has had
	onError  func(error)
}

func (a *answers) load(k keep) error {
	a.keep = k
	return k.get("answers.json", &a.list)
}

// record takes a notice that ends a request.
func (a *answers) record(n planmode.Notify, planID string) {
	answer, ok := answerOf(n, planID)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = slices.DeleteFunc(a.list, func(old Answer) bool { return old.RequestID == answer.RequestID })
	a.list = append(a.list, answer)
	a.list = a.list[max(0, len(a.list)-keptAnswers):]
	delete(a.troubles, answer.RequestID)
	if err := a.keep.put("answers.json", a.list); err != nil {
		a.onError(err)
	}
}

// answerOf reads an answer out of a notice. The key of one that ends a request names the request and its end.
func answerOf(n planmode.Notify, planID string) (Answer, bool) {
	id, end, _ := strings.Cut(n.Key, "/")
	d := n.Data
	a := Answer{
		RequestID: id, PlanID: planID, Revision: d.Revision, Outcome: planmode.Outcome(end), State: d.State, Mode: d.Mode,
		PlanFile: d.PlanFile, Feedback: d.Feedback, Comments: d.Comments, Option: d.Option, Grants: d.Grants, Edited: d.Edited, Next: d.Next,
		Cause: d.Cause, By: d.By,
	}
	switch n.Kind {
	case planmode.NotifyApproved, planmode.NotifyRejected, planmode.NotifyExpired, planmode.NotifyLeft:
	case planmode.NotifyUndecidable:
		a.Outcome = OutcomeUndecidable
	case planmode.NotifyStillPlan:
		a.Outcome = OutcomeWithdrawn
	default:
		return Answer{}, false
	}
	return a, id != "" && end != ""
}

// find returns the last answer about a revision of a plan.
func (a *answers) find(planID string, revision int) (Answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, answer := range slices.Backward(a.list) {
		if answer.PlanID == planID && answer.Revision == revision {
			return answer, true
		}
	}
	return Answer{}, false
}

// comments are those of the last decision about a plan.
func (a *answers) comments(planID string) []planmode.Comment {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, answer := range slices.Backward(a.list) {
		if answer.PlanID == planID && answer.By != nil {
			return answer.Comments
		}
	}
	return nil
}

// trouble notes why a request cannot be sent; nil takes it back.
func (a *answers) trouble(id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		delete(a.troubles, id)
		return
	}
	if a.troubles == nil {
		a.troubles = map[string]error{}
	}
	a.troubles[id] = err
}

func (a *answers) troubleOf(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.troubles[id]; err != nil {
		return err.Error()
	}
	return ""
}

// WaitDecision waits until a revision of the present plan has its answer and the answer is in force: the plan file holds
// what was approved, the mode and the grants are there. Revision 0 is the last that was submitted. It waits for ever, or
// until ctx ends; a request that is asked again under another id is still the same revision. [ErrNothingAsked] means that
// nothing was submitted.
func (r *Runner) WaitDecision(ctx context.Context, revision int) (Answer, error) {
	s := r.snapshot()
	plan := s.Cycle.PlanID
	if revision == 0 {
		revision = s.Cycle.Revision
	}
	if revision < 1 || revision > s.Cycle.Revision {
		return Answer{}, ErrNothingAsked
	}
	for {
		changed := r.changed.wait()
		if answer, ok := r.answerNow(plan, revision); ok {
			return answer, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		case <-r.over:
			return Answer{}, ErrLeft
		}
	}
}

// answerNow returns the answer about a revision if there is one. What was replaced or lost has no notice of its own.
func (r *Runner) answerNow(plan string, revision int) (Answer, bool) {
	s := r.snapshot()
	idle := r.work.idle() // after the session was looked at: everything that it shows has been told then
	open := s.Pending != nil && s.Cycle.PlanID == plan && s.Pending.Revision == revision
	if open {
		return Answer{}, false
	}
	if answer, ok := r.answers.find(plan, revision); ok {
		return answer, true
	}
	if !idle {
		return Answer{}, false
	}
	end := Answer{PlanID: plan, Revision: revision, Outcome: OutcomeWithdrawn, State: s.State, Mode: s.Mode}
	switch a := s.Approved; {
	case a != nil && a.PlanID == plan && a.Revision == revision: // its notice was lost
		end.Outcome, end.RequestID, end.Option = planmode.OutcomeApproved, a.RequestID, a.Option
	case s.Cycle.PlanID == plan && s.Cycle.Revision > revision:
		end.Outcome = OutcomeSuperseded
	}
	return end, true
}
