package teammate

import (
	"context"
	"errors"
	"slices"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// ordered takes an order that answers nothing. What is not applied is refused with its reason.
func (r *Runner) ordered(ctx context.Context, o charter.Order, kind mailbox.Kind) error {
	id, err := r.applyOrder(ctx, o, kind)
	switch {
	case err == nil:
		return nil
	case id == "":
		r.log.Warn("teammate: an order cannot be used", "subject", o.Subject, "cause", err)
		return natsbox.ErrTerminate
	case isRefusal(err):
		s := r.snapshot()
		if i := slices.IndexFunc(s.Settled, func(d planmode.Settled) bool { return d.RequestID == id }); i >= 0 { // it was applied, and comes again
			return r.post(ctx, r.cfg.NewID(), mailbox.KindReceipt, s.Settled[i].Receipt)
		}
		return r.refuse(ctx, id, err.Error())
	}
	return err
}

// isRefusal reports whether the order itself is at fault, and not our disk.
func isRefusal(err error) bool {
	return voids(err) || errors.Is(err, planmode.ErrWrongState) || errors.Is(err, errTooOld) || errors.Is(err, errBeforeStart)
}

func (r *Runner) applyOrder(ctx context.Context, o charter.Order, kind mailbox.Kind) (id string, err error) {
	s := r.snapshot()
	switch kind {
	case mailbox.KindModeSetRequest:
		env, m, err := openOrder[planmode.ModeSet](ctx, r, &s, o)
		if err := errors.Join(err, r.tooOld(m.OrderHead)); err != nil {
			return env.ID, err
		}
		a, signer := r.signedBy(s, o, env, charter.Asked{Mode: m.Mode}, m.Mode != permissions.ModePlan)
		_, err = r.step(planmode.ModeOrdered{
			Mode: m.Mode, Authority: a, OrderID: env.ID, Signer: signer, Counter: m.Counter, Reason: m.Reason,
			PlanID: r.cfg.NewID(), PlanFile: r.cfg.Store.WorkFile(),
		})
		return env.ID, err
	case mailbox.KindGrantRevoked:
		env, g, err := openOrder[planmode.GrantRevoked](ctx, r, &s, o)
		if err := errors.Join(err, r.tooOld(g.OrderHead)); err != nil {
			return env.ID, err
		}
		a, signer := r.signedBy(s, o, env, charter.Asked{}, false)
		_, err = r.step(planmode.RevokeOrdered{
			GrantID: g.GrantID, All: g.All, Authority: a, OrderID: env.ID, Signer: signer, Counter: g.Counter, Reason: g.Reason,
		})
		return env.ID, err
	case mailbox.KindShutdownRequest:
		env, q, err := openOrder[mailbox.ShutdownRequest](ctx, r, &s, o)
		if err := errors.Join(err, r.tooOld(q.OrderHead), r.beforeStart(q.OrderHead)); err != nil {
			return env.ID, err
		}
		a, signer := r.signedBy(s, o, env, charter.Asked{}, false)
		_, err = r.step(planmode.ShutdownOrdered{Authority: a, OrderID: env.ID, Signer: signer, Counter: q.Counter, Reason: q.Reason})
		return env.ID, err
	}
	return "", natsbox.ErrTerminate
}

// errTooOld means that an order was given before the counters were lost that would tell whether it was applied.
var errTooOld = errors.New("the order is older than this teammate's journal: give it again")

func (r *Runner) tooOld(head mailbox.OrderHead) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if head.DecidedAt.Before(r.joins.Since) {
		return errTooOld
	}
	return nil
}

// errBeforeStart means that a teammate was told to end while it did not run: whoever has started it again since wants it.
var errBeforeStart = errors.New("the order was given before this start: give it again")

func (r *Runner) beforeStart(head mailbox.OrderHead) error {
	if head.DecidedAt.Before(r.started) {
		return errBeforeStart
	}
	return nil
}

// signedBy judges an order's signatures, and names the key whose counter it has.
func (r *Runner) signedBy(s planmode.Session, o charter.Order, env mailbox.Envelope, asked charter.Asked, approves bool) (charter.Authority, string) {
	a := charter.Judge(s.Charter, o, asked, approves, r.clock.now())
	if len(a.Signers) == 0 {
		return a, ""
	}
	for _, m := range a.Signers {
		if m.Name == env.From {
			return a, m.Key
		}
	}
	return a, a.Signers[0].Key
}
