package teammate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// receiveOrders takes what leaders signed: answers from their slots, and orders that answer nothing. An order is
// acknowledged when its step is in the journal, or when its refusal is stored with the leaders.
func (r *Runner) receiveOrders(ctx context.Context) {
	r.receive(ctx, "orders", func() error {
		return r.cfg.Box.ReceiveOrders(ctx, func(ctx context.Context, o charter.Order, _ natsbox.StoredInfo) error {
			return r.order(ctx, o)
		})
	})
}

// order takes one order, whoever has brought it.
func (r *Runner) order(ctx context.Context, o charter.Order) error {
	at, err := mailbox.ParseSubject(o.Subject)
	if err != nil || at.To != r.cfg.Name || at.Team != r.cfg.Team {
		return natsbox.ErrTerminate
	}
	if at.Branch == "dec" {
		return r.answered(ctx, o, at.Request)
	}
	return r.ordered(ctx, o, at.Kind)
}

// answered takes what lies in the slot of one of our requests.
func (r *Runner) answered(ctx context.Context, o charter.Order, id string) error {
	s := r.snapshot()
	pending := s.Pending != nil && s.Pending.RequestID == id
	var err error
	switch {
	case s.State == planmode.Left:
		return r.refuse(ctx, id, "the teammate has left")
	case slices.ContainsFunc(s.Asks, func(a planmode.Ask) bool { return a.RequestID == id }):
		return r.permissionAnswered(ctx, o, id)
	case isPermission(o) && !pending:
		_, err = r.applyAnswer(ctx, o, s)
	default:
		_, err = r.applyDecision(ctx, o, s)
	}
	switch {
	case err == nil:
		return nil
	case pending && voids(err):
		return r.reissue(ctx, id, err)
	case pending && errors.Is(err, errPlanGone):
		return r.planGone(ctx, id, err)
	case errors.Is(err, planmode.ErrStaleDecision):
		return r.refuse(ctx, id, "stale: it answers no open request")
	case unreadable(err):
		r.log.Warn("teammate: an order that cannot be used answers no open request", "request", id, "cause", err)
		return nil
	}
	return err // the journal could not be written: delivered again
}

// voids reports whether the slot is spent on something that can never be applied.
func voids(err error) bool { return planmode.Voids(err) || unreadable(err) }

func unreadable(err error) bool {
	return errors.Is(err, charter.ErrNotLeader) || errors.Is(err, charter.ErrBadOrder)
}

// reissue asks the same again under a new id, because the write-once slot of the old one is spent (rows 29 and 30).
func (r *Runner) reissue(ctx context.Context, old string, cause error) error {
	r.log.Warn("teammate: a stored decision cannot be applied: the plan is asked again", "request", old, "cause", cause)
	_, err := r.step(planmode.Reissued{Old: old, New: r.cfg.NewRequestID(), Cause: cause.Error()})
	return err
}

// errPlanGone means that the submitted bytes of a plan cannot be read any more, so that no approval can be applied.
var errPlanGone = errors.New("teammate: the submitted plan cannot be read")

// planTries is how often an approval is tried to be applied while its plan cannot be read.
const planTries = 3

// planGone is an approval whose plan cannot be read: the disk may be back the next time, and is not waited for for ever.
// Then the approval is refused, the request withdrawn, and the agent submits again.
func (r *Runner) planGone(ctx context.Context, id string, cause error) error {
	r.mu.Lock()
	if r.gone.id != id {
		r.gone = planGone{id: id}
	}
	r.gone.tries++
	tries := r.gone.tries
	r.mu.Unlock()
	if tries < planTries {
		return cause // delivered again
	}
	r.log.Error("teammate: a decision cannot be applied and is refused", "request", id, "cause", cause)
	if err := r.refuse(ctx, id, cause.Error()); err != nil {
		return err
	}
	if _, err := r.step(planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent}); err != nil {
		return err
	}
	r.tell(fmt.Sprintf("%s could not apply the decision on request %s: %s. The request is withdrawn; the plan has to be submitted again.", r.cfg.Name, id, cause))
	return nil
}

// planGone counts the tries to read one request's plan.
type planGone struct {
	id    string
	tries int
}

// applyDecision judges a decision by the team's charter and the teammate's own copy of its request, and feeds it to the
// session. It is the only place where a decision becomes an event.
func (r *Runner) applyDecision(ctx context.Context, o charter.Order, s planmode.Session) (*record, error) {
	env, d, err := openOrder[planmode.Decision](ctx, r, &s, o)
	if err != nil {
		return nil, err
	}
	if env.Kind != mailbox.KindPlanApprovalResponse {
		return nil, fmt.Errorf("%w: a %s is no decision on a plan", charter.ErrBadOrder, env.Kind)
	}
	if err := r.checkLedger(d); err != nil {
		return nil, err
	}
	content, err := r.submitted(s, d)
	if err != nil {
		return nil, err
	}
	now := r.clock.now()
	rec, err := r.step(planmode.Decided{
		Decision: d, Content: content, Authority: r.judge(s, o, d, now), V: env.V, Team: d.TeamID, To: env.To, Now: now,
	})
	if err == nil && d.Ledger != nil {
		err = r.sawLedger(audit.Head(*d.Ledger))
	}
	return rec, err
}

// checkLedger refuses a decision that was made over another audit ledger than this teammate has seen: somebody has made
// another one. A decision that names none was made while nobody kept one.
func (r *Runner) checkLedger(d planmode.Decision) error {
	if d.Ledger == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.joins.denies(audit.Head(*d.Ledger)); why != "" {
		return fmt.Errorf("%w: it %s: decide again, and look with swarm audit verify", planmode.ErrOldLedger, why)
	}
	return nil
}

func (r *Runner) sawLedger(h audit.Head) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.joins.saw(h)
}

// charterWait is how long an order waits for the charter of now. When nobody answers, the one that is known counts.
const charterWait = time.Second

// openOrder verifies and reads an order, against the charter of now: a leader may have come since, or gone.
func openOrder[T any](ctx context.Context, r *Runner, s *planmode.Session, o charter.Order) (mailbox.Envelope, T, error) {
	fresh, cancel := context.WithTimeout(ctx, charterWait)
	defer cancel()
	r.RefreshCharter(fresh)
	*s = r.snapshot() // also when it was the runner by itself that took a newer charter, since the caller looked
	return charter.OpenOrder[T](s.Charter, o)
}

func isPermission(o charter.Order) bool {
	env, err := mailbox.Decode(o.Payload)
	return err == nil && env.Kind == mailbox.KindPermissionResponse
}

// permissionAnswered takes the answer to an open permission request. One that cannot be applied leaves no slot to answer
// in: the question ends, and whoever waits asks another.
func (r *Runner) permissionAnswered(ctx context.Context, o charter.Order, id string) error {
	_, err := r.applyAnswer(ctx, o, r.snapshot())
	switch {
	case err == nil:
		return nil
	case voids(err) || errors.Is(err, planmode.ErrWrongState):
		if err := r.refuse(ctx, id, err.Error()); err != nil {
			return err
		}
		if _, err := r.step(planmode.AskWithdrawn{RequestID: id, Reason: planmode.WithdrawnByAgent}); err != nil {
			return err
		}
		r.asks.end(id, fmt.Errorf("%w: %w", ErrAskVoid, err)) // after the step: the same call asked again is another question
		return nil
	case errors.Is(err, planmode.ErrStaleDecision):
		return r.refuse(ctx, id, "stale: it answers no open request")
	}
	return err
}

func (r *Runner) applyAnswer(ctx context.Context, o charter.Order, s planmode.Session) (*record, error) {
	env, answer, err := openOrder[planmode.PermissionAnswer](ctx, r, &s, o)
	if err != nil {
		return nil, err
	}
	if env.Kind != mailbox.KindPermissionResponse {
		return nil, fmt.Errorf("%w: a %s answers no permission request", charter.ErrBadOrder, env.Kind)
	}
	now := r.clock.now()
	allows := answer.Behavior != permissions.BehaviorDeny
	return r.step(planmode.PermissionAnswered{
		Answer: answer, Authority: charter.Judge(s.Charter, o, askedOf(s, answer.RequestID), allows, now), Now: now,
	})
}

// askedOf is what the charter's classes are matched against for an open permission request, as we keep it. What the call may
// change is also looked at where links lead.
func askedOf(s planmode.Session, id string) charter.Asked {
	i := slices.IndexFunc(s.Asks, func(a planmode.Ask) bool { return a.RequestID == id })
	if i < 0 {
		return charter.Asked{}
	}
	a, roots := s.Asks[i], []string{filepath.ToSlash(s.Tree)}
	if real, err := filepath.EvalSymlinks(s.Tree); err == nil && real != s.Tree {
		roots = append(roots, filepath.ToSlash(real))
	}
	asked := planmode.AskedOfCall(a.Tool, a.Input, a.Cwd, nil, roots...)
	for _, name := range slices.Clone(asked.Named) {
		if real := linked(s.Tree, name); real != name {
			asked.Named = append(asked.Named, real)
		}
	}
	return asked
}

// refuse tells the leaders that an order is not applied, and returns when that is stored.
func (r *Runner) refuse(ctx context.Context, of, reason string) error {
	return r.post(ctx, r.cfg.NewID(), mailbox.KindReceipt, mailbox.Receipt{Of: of, State: mailbox.Refused, Reason: reason})
}
