package teammate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// How long to wait before something is sent again.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 10 * time.Second
)

// outgoing is one piece of mail of a step. It is sent until it is stored: the step is done only then.
type outgoing struct {
	effect planmode.Effect
	done   func() // called when it was sent, or never will be
	sent   func() // called before done, when it is stored; nil calls nothing
	id     string // of the envelope, so that what is sent again is the same mail
	to     string // of a receipt; empty is the leaders
}

// mail hands one effect of a step to the outbox.
func (r *Runner) mail(rec *record, e planmode.Effect) {
	rec.mail.Add(1)
	r.out.push(&outgoing{effect: e, done: rec.mail.Done, id: r.cfg.NewID()})
}

// tell sends the leaders a message of our own, as soon as that is possible.
func (r *Runner) tell(text string) {
	r.mail(&record{}, planmode.Emit{Event: "message", Fields: map[string]string{"text": text}})
}

// sendOut is the one goroutine that sends mail, each piece after the one before is stored.
func (r *Runner) sendOut(ctx context.Context) {
	for {
		o, ok := r.out.next(ctx)
		if !ok {
			r.dropOut()
			return
		}
		r.send(ctx, o)
		o.done()
		r.out.finish()
		r.changed.all()
	}
}

// dropOut lets go of what was not sent: the steps are not done, and their effects are carried out again.
func (r *Runner) dropOut() {
	for {
		o, ok := r.out.pop()
		if !ok {
			return
		}
		o.done()
	}
}

// send tries until it is stored, is wanted no more, or can never be.
func (r *Runner) send(ctx context.Context, o *outgoing) {
	for wait := retryFirst; ctx.Err() == nil && !r.isFenced(); wait = min(2*wait, retryMost) {
		err := r.try(ctx, o)
		if err == nil && o.sent != nil {
			o.sent()
		}
		if err == nil || r.hopeless(o, err) {
			return
		}
		r.log.Debug("teammate: not sent, tried again", "cause", err)
		if p, ok := o.effect.(planmode.PublishRequest); ok {
			r.answers.trouble(p.Pending.RequestID, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// hopeless reports whether sending the same again can never help, and says so to whoever waits for it.
func (r *Runner) hopeless(o *outgoing, err error) bool {
	lasting := []error{natsbox.ErrTooLarge, natsbox.ErrForbidden, natsbox.ErrNoRecipient, natsbox.ErrFenced, mailbox.ErrMalformed, errUnsendable}
	if e, ok := o.effect.(planmode.SendReceipt); ok && (e.Receipt.State == mailbox.Delivered || e.Receipt.State == mailbox.Seen) {
		lasting = append(lasting, natsbox.ErrMailboxFull, natsbox.ErrStoreFull) // it holds up nothing that matters more
	}
	if !slices.ContainsFunc(lasting, func(target error) bool { return errors.Is(err, target) }) {
		return false
	}
	r.log.Error("teammate: cannot be sent", "cause", err)
	switch e := o.effect.(type) {
	case planmode.PublishRequest:
		if r.isPending(e.Pending.RequestID) {
			r.answers.trouble(e.Pending.RequestID, err)
			r.quietly(planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent})
		}
	case planmode.PublishAsk:
		r.asks.end(e.Ask.RequestID, fmt.Errorf("%w: no leader can be asked: %w", ErrAskEnded, err))
		r.quietly(planmode.AskWithdrawn{RequestID: e.Ask.RequestID, Reason: planmode.WithdrawnByAgent})
	}
	return true
}

// errUnsendable means that mail cannot even be made.
var errUnsendable = errors.New("teammate: cannot be sent")

func (r *Runner) try(ctx context.Context, o *outgoing) error {
	switch e := o.effect.(type) {
	case planmode.PublishRequest:
		return r.publish(ctx, e)
	case planmode.PublishAsk:
		if !r.isOpen(e.Ask.RequestID) {
			return nil
		}
		return r.post(ctx, e.Ask.RequestID, mailbox.KindPermissionRequest, permissions.PermissionRequest{
			RequestID: e.Ask.RequestID, Tool: e.Ask.Tool, Input: e.Ask.Input, CallHash: e.Ask.CallHash, Cwd: e.Ask.Cwd,
			Change: e.Ask.Change, Commands: r.asks.commands(e.Ask.CallHash),
		})
	case planmode.PublishWithdrawn:
		return r.post(ctx, o.id, mailbox.KindPlanWithdrawn, planmode.Withdrawn(e))
	case planmode.SendReceipt:
		return r.postTo(ctx, cmp.Or(o.to, mailbox.Lead), o.id, mailbox.KindReceipt, r.snapshot().Epoch, e.Receipt)
	case planmode.Emit:
		return r.postEvent(ctx, o.id, e)
	}
	return nil
}

// postEvent tells the leaders what concerns them of an event.
func (r *Runner) postEvent(ctx context.Context, id string, e planmode.Emit) error {
	switch e.Event {
	case "mode.changed":
		return r.post(ctx, id, mailbox.KindModeChanged, planmode.ModeChanged{
			From: permissions.Mode(e.Fields["from"]), To: permissions.Mode(e.Fields["to"]), Cause: e.Fields["cause"],
		})
	case "task.updated":
		return r.post(ctx, id, mailbox.KindTaskUpdate, mailbox.TaskUpdate{TaskID: e.Fields["taskId"], Status: e.Fields["status"], Note: e.Fields["note"]})
	case "message":
		return r.post(ctx, id, mailbox.KindMessage, mailbox.Message{Text: e.Fields["text"], Urgent: true})
	}
	return r.post(ctx, id, mailbox.KindMessage, mailbox.Message{Text: r.alarm(e.Fields), Urgent: true})
}

// alarm words what a security event tells the leaders.
func (r *Runner) alarm(fields map[string]string) string {
	switch fields["cause"] {
	case "drift":
		return fmt.Sprintf("The client of %s has left plan mode by itself three times (for %s). It was stopped.", r.cfg.Name, fields["mode"])
	case "undecidable":
		return fmt.Sprintf("A request of %s was given up: what was stored as its decision could not be applied, %d times in a row (last: %s). It plans on.",
			r.cfg.Name, planmode.MaxAttempts, fields["reason"])
	}
	return fmt.Sprintf("Security of %s: %s", r.cfg.Name, fields["cause"])
}

func (r *Runner) post(ctx context.Context, id string, kind mailbox.Kind, body any) error {
	return r.postAs(ctx, id, kind, r.snapshot().Epoch, body)
}

func (r *Runner) postAs(ctx context.Context, id string, kind mailbox.Kind, epoch uint64, body any) error {
	return r.postTo(ctx, mailbox.Lead, id, kind, epoch, body)
}

func (r *Runner) postTo(ctx context.Context, to, id string, kind mailbox.Kind, epoch uint64, body any) error {
	env, err := mailbox.New(id, kind, r.cfg.Team, r.cfg.Name, to, epoch, r.clock.now(), body)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsendable, err)
	}
	_, err = r.cfg.Box.Send(ctx, env)
	return err
}

// publish sends the pending request and says so to the session. What is not pending any more is not sent: nobody has seen
// it.
func (r *Runner) publish(ctx context.Context, e planmode.PublishRequest) error {
	id := e.Pending.RequestID
	s := r.snapshot()
	if s.Pending == nil || s.Pending.RequestID != id || s.Pending.Published {
		return nil
	}
	if e.Pending.Epoch != s.Epoch {
		return r.publishLate(ctx, id)
	}
	var content []byte
	if e.Pending.Kind == planmode.AskPlan {
		var err error
		if content, err = r.cfg.Store.Load(e.Pending.Plan.Digest); err != nil {
			return fmt.Errorf("%w: the plan's bytes: %w", errUnsendable, err)
		}
	}
	if err := r.postAs(ctx, id, mailbox.KindPlanApprovalRequest, s.Epoch, planmode.NewRequest(e, content)); err != nil {
		return err
	}
	r.answers.trouble(id, nil)
	r.quietly(planmode.Published{RequestID: id})
	return nil
}

// publishLate is for a request of an earlier epoch that is not known to be stored. Mail of that epoch is not read any more,
// and a decision names the epoch of its request: so it is either there already, or it is asked under a new id.
func (r *Runner) publishLate(ctx context.Context, id string) error {
	var row natsbox.Row
	switch err := r.cfg.Box.Call(ctx, natsbox.VerbRequest, natsbox.IDRequest{ID: id}, &row); {
	case err == nil:
		r.quietly(planmode.Published{RequestID: id})
	case errors.Is(err, natsbox.ErrNotFound):
		r.quietly(planmode.Reissued{Old: id, New: r.cfg.NewRequestID(), Cause: "the teammate was restarted before it was stored"})
	default:
		return err
	}
	return nil
}

// quietly takes an event that nobody waits for.
func (r *Runner) quietly(ev planmode.Event) {
	if _, err := r.step(ev); err != nil && !errors.Is(err, planmode.ErrWrongState) {
		r.log.Error("teammate: a step was not taken", "event", fmt.Sprintf("%T", ev), "cause", err)
	}
}

func (r *Runner) isPending(id string) bool {
	p := r.snapshot().Pending
	return p != nil && p.RequestID == id
}

func (r *Runner) isOpen(askID string) bool {
	return slices.ContainsFunc(r.snapshot().Asks, func(a planmode.Ask) bool { return a.RequestID == askID })
}
