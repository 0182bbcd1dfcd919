package teammate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// watchSlots reads the slot of what is open now and then, besides receiving: a consumer that lost its place must not leave
// a teammate waiting for ever. So it does with the charter: its caps may be narrower by now.
func (r *Runner) watchSlots(ctx context.Context) {
	for {
		r.watchLedger(ctx)
		r.readSlots(ctx)
		r.RefreshCharter(ctx)
		select {
		case <-r.looks:
		case <-time.After(slotEvery):
		case <-ctx.Done():
			return
		}
	}
}

// watchLedger looks whether the team's audit ledger has gone back, or tells of a loss, since this teammate saw it last: then
// what was decided cannot be proven. It is plan mode, no grant is in force, and the leaders are told, once.
func (r *Runner) watchLedger(ctx context.Context) {
	var end natsbox.LedgerEnd
	r.mu.Lock()
	seen := r.joins.ledger()
	r.mu.Unlock()
	if err := r.cfg.Box.Call(ctx, natsbox.VerbHead, natsbox.HeadRequest{Seen: seen.Seq}, &end); err != nil {
		return // nobody answers; the next look is soon
	}
	why := contradicted(seen, end)
	if why != "" {
		r.log.Error("teammate: plan mode, without grants", "cause", why)
		if err := r.Enter(ctx, planmode.ByLeader); err != nil {
			r.log.Error("teammate: plan mode was not entered", "cause", err)
			return
		}
		r.tell(fmt.Sprintf("%s is in plan mode, and no grant is in force: %s.", r.cfg.Name, why))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := r.joins.saw
	if why != "" {
		keep = r.joins.restart
	}
	if err := keep(end.Head); err != nil {
		r.log.Error("teammate: the end of the audit ledger was not kept", "cause", err)
	}
}

// slotEvery is how often slots are read besides.
const slotEvery = 30 * time.Second

func (r *Runner) readSlots(ctx context.Context) {
	s := r.snapshot()
	var open []string
	if s.Pending != nil {
		open = append(open, s.Pending.RequestID)
	}
	for _, a := range s.Asks {
		open = append(open, a.RequestID)
	}
	for _, id := range open {
		o, err := r.cfg.Box.ReadDecision(ctx, r.cfg.Name, id)
		switch {
		case errors.Is(err, natsbox.ErrNoDecision):
		case err != nil:
			r.log.Debug("teammate: slot not read", "request", id, "cause", err)
		default:
			if err := r.order(ctx, o); err != nil {
				r.log.Warn("teammate: a stored answer was not taken yet", "request", id, "cause", err)
			}
		}
	}
}

// look has the slots read soon.
func (r *Runner) look() {
	select {
	case r.looks <- struct{}{}:
	default:
	}
}

// RefreshCharter fetches the charter and takes it when it is a later one. It reports whether it was. The runner does it by
// itself before each order, and now and then.
func (r *Runner) RefreshCharter(ctx context.Context) bool {
	select {
	case r.charters <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-r.charters }()
	var signed charter.Signed
	if err := r.cfg.Box.Call(ctx, natsbox.VerbCharter, nil, &signed); err != nil || !signed.Newer(r.signed) {
		return false
	}
	c, err := r.openCharter(signed)
	if err == nil {
		err = r.takeCharter(signed, c)
	}
	if err != nil {
		r.log.Error("teammate: a charter was not taken", "cause", err)
		return false
	}
	return true
}
