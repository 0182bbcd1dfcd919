package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// mail handles one piece of the leaders' mail. deskCtx is the desk's own life: requests outlive the handling of their
// mail. It returns nil when the mail is on the desk or told, so that it is acknowledged then.
func (d *Desk) mail(deskCtx, ctx context.Context, m natsbox.Mail) error {
	env := m.Envelope
	switch env.Kind {
	case mailbox.KindPlanApprovalRequest:
		return d.submitted(deskCtx, ctx, m)
	case mailbox.KindPermissionRequest:
		return d.asked(deskCtx, ctx, m)
	case mailbox.KindQuestion:
		return d.questioned(deskCtx, ctx, m)
	case mailbox.KindPlanWithdrawn:
		return read(d, ctx, m, func(b planmode.Withdrawn) {
			d.take(key{env.From, b.RequestID}, Event{Kind: EventWithdrawn, Reason: string(b.Reason)}, errWithdrawnWork)
		})
	case mailbox.KindEndorsement:
		return read(d, ctx, m, func(b mailbox.Endorsement) { d.endorsed(deskCtx, key{b.To, b.Request}, env) })
	case mailbox.KindReceipt:
		return read(d, ctx, m, func(b mailbox.Receipt) { d.receipt(ctx, env.From, b) })
	default:
		return d.told(ctx, m)
	}
}

// told passes on what needs no answer of the desk.
func (d *Desk) told(ctx context.Context, m natsbox.Mail) error {
	ev := Event{Teammate: m.Envelope.From, RequestID: m.Envelope.ID}
	tell := func(kind EventKind) { ev.Kind = kind; d.tell(ev) }
	switch m.Envelope.Kind {
	case mailbox.KindMessage:
		return read(d, ctx, m, func(b mailbox.Message) {
			ev.Message = &b
			tell(EventMessage)
			d.delivered(ctx, m)
		})
	case mailbox.KindModeChanged:
		return read(d, ctx, m, func(b planmode.ModeChanged) { ev.Mode = &b; tell(EventModeChanged) })
	case mailbox.KindTaskUpdate:
		return read(d, ctx, m, func(b mailbox.TaskUpdate) { ev.Task = &b; tell(EventTask) })
	case mailbox.KindShutdownResponse:
		return read(d, ctx, m, func(b mailbox.ShutdownResponse) { ev.Shutdown = &b; tell(EventShutdown) })
	case mailbox.KindAnswer:
		return nil // for people: consoles read the leaders' mailbox themselves
	default:
		d.log.Warn("mail of an unknown kind", "kind", string(m.Envelope.Kind), "teammate", m.Envelope.From)
		return fmt.Errorf("%w: a leader has no use for mail of kind %q", natsbox.ErrTerminate, m.Envelope.Kind)
	}
}

// read decodes a body and hands it on; one that cannot be read is refused, and never comes again.
func read[T any](d *Desk, ctx context.Context, m natsbox.Mail, f func(T)) error {
	body, err := mailbox.Body[T](m.Envelope)
	if err != nil {
		return d.refuse(ctx, m, err)
	}
	f(body)
	return nil
}

func (d *Desk) submitted(deskCtx, ctx context.Context, m natsbox.Mail) error {
	q, err := mailbox.Body[planmode.ApprovalRequest](m.Envelope)
	if err != nil {
		return d.refuse(ctx, m, err)
	}
	return d.accept(deskCtx, ctx, m, natsbox.Row{Request: &q})
}

func (d *Desk) asked(deskCtx, ctx context.Context, m natsbox.Mail) error {
	p, err := mailbox.Body[permissions.PermissionRequest](m.Envelope)
	if err != nil {
		return d.refuse(ctx, m, err)
	}
	return d.accept(deskCtx, ctx, m, natsbox.Row{Permission: &p})
}

// questioned takes a question. One of another leader is told, and waits for no desk.
func (d *Desk) questioned(deskCtx, ctx context.Context, m natsbox.Mail) error {
	if who, ok := d.charter().Member(m.Envelope.From); ok && who.Role != charter.RoleTeammate {
		return read(d, ctx, m, func(b mailbox.Question) {
			d.tell(Event{Kind: EventQuestion, Teammate: m.Envelope.From, RequestID: m.Envelope.ID, Question: &b})
		})
	}
	q, err := mailbox.Body[mailbox.Question](m.Envelope)
	if err != nil {
		return d.refuse(ctx, m, err)
	}
	return d.accept(deskCtx, ctx, m, natsbox.Row{Question: &q})
}

// accept puts a request on the desk, or refuses it when it cannot be what it says.
func (d *Desk) accept(deskCtx, ctx context.Context, m natsbox.Mail, row natsbox.Row) error {
	row.From, row.Epoch, row.EnvelopeID, row.StoredAt = m.Envelope.From, m.Envelope.Epoch, m.Envelope.ID, m.Stored
	if err := checkRequest(row, d.charter().TeamID); err != nil {
		return d.refuse(ctx, m, err)
	}
	d.put(deskCtx, row)
	d.delivered(ctx, m)
	return nil
}

// receiptWait bounds how long a receipt that nobody needs to go on may take.
const receiptWait = 2 * time.Second

// delivered tells the sender that its mail is on the desk. A receipt that cannot be sent is none: nothing waits for it.
func (d *Desk) delivered(ctx context.Context, m natsbox.Mail) {
	ctx, cancel := context.WithTimeout(ctx, receiptWait)
	defer cancel()
	r := mailbox.Receipt{Of: m.Envelope.ID, State: mailbox.Delivered}
	if err := Tell(ctx, d.box, d.charter(), d.signer.Member.Name, m.Subject.From, r, time.Now()); err != nil {
		d.log.Debug("receipt not sent", "teammate", m.Subject.From, "error", err)
	}
}

// refuse tells the sender that its mail is nothing that a leader can decide. A receipt that cannot be delivered now is
// tried again with the mail; one that never can be is dropped.
func (d *Desk) refuse(ctx context.Context, m natsbox.Mail, problem error) error {
	k := key{m.Subject.From, m.Envelope.ID}
	if err := d.sendRefusal(ctx, k, problem); err != nil {
		return err
	}
	d.tell(Event{Kind: EventOdd, Teammate: k.from, RequestID: k.id, Reason: problem.Error()})
	return nil
}

func (d *Desk) sendRefusal(ctx context.Context, k key, problem error) error {
	d.log.Warn("request refused", "request", k.id, "teammate", k.from, "reason", problem.Error())
	receipt := mailbox.Receipt{Of: k.id, State: mailbox.Refused, Reason: problem.Error()}
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindReceipt, d.charter().Team, d.signer.Member.Name, k.from, 0, time.Now(), receipt)
	if err == nil {
		_, err = d.box.Send(ctx, env)
	}
	switch {
	case err == nil:
	case errors.Is(err, natsbox.ErrUnreachable) || ctx.Err() != nil:
		return err
	default:
		d.log.Warn("receipt not sent", "teammate", k.from, "error", err.Error())
	}
	return nil
}

// receipt tells what became of a decision or an order. One for a request that still waits here says that somebody else
// decided it: that is told first.
func (d *Desk) receipt(ctx context.Context, from string, r mailbox.Receipt) {
	k := key{from, r.Of}
	if row, ok := d.get(k); ok {
		d.lookDecided(ctx, k, row)
	}
	ev := Event{Teammate: from, RequestID: r.Of, Receipt: &r, Reason: r.Reason}
	switch r.State {
	case mailbox.Applied:
		ev.Kind = EventApplied
	case mailbox.Refused:
		ev.Kind = EventRefused
	default:
		return
	}
	d.tell(ev)
}
