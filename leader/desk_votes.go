package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// endorsed takes a leader's signature for a decision that needs several. It is in the streams: a desk that stops here finds
// it again.
func (d *Desk) endorsed(ctx context.Context, k key, env mailbox.Envelope) {
	if _, ok := d.get(k); !ok {
		return
	}
	d.workers.Go(func() {
		for range patience {
			row, err := d.box.Request(ctx, k.id)
			if err == nil && row.From == k.from && (!row.Open() || endorsed(row, env.From, env.ID)) {
				d.vote(k, row, env.From)
				d.tally(ctx, k)
				return
			}
			if sleep(ctx, askAgain) != nil {
				return
			}
		}
	})
}

// vote keeps who has signed, and tells of it.
func (d *Desk) vote(k key, known natsbox.Row, by string) {
	d.change(func() []note {
		e := d.waiting[k]
		if e == nil {
			return nil
		}
		e.row.Endorsements = known.Endorsements
		return append(e.submitted(), note{Event{Kind: EventEndorsed, By: by}, e.row})
	})
}

// tally stores what enough leaders have signed, should the last of them have stopped before; and tells those whose
// signature counts no more since another decision was proposed. It reports whether the request is decided.
func (d *Desk) tally(ctx context.Context, k key) bool {
	from, ok := d.get(k)
	if !ok || len(from.Endorsements) == 0 {
		return false
	}
	c := d.charter()
	row, err := NewRow(from, RowConfig{Charter: c, Now: time.Now(), Tables: d.cfg.Tables})
	v := row.Vote
	if err != nil || v == nil {
		return false
	}
	d.notify(ctx, row, v.Void, fmt.Sprintf("%s signed another decision", v.names()))
	if row.judge(c, v, time.Now()) != nil {
		return false
	}
	done, reason := d.keepTrying(ctx, k, row, func() error {
		if v.Answer != nil {
			a, err := store[planmode.PermissionAnswer](ctx, d.box, c, "", &row, v.Order)
			if err == nil {
				d.decided(k, nil, &a)
			}
			return err
		}
		dec, err := store[planmode.Decision](ctx, d.box, c, "", &row, v.Order)
		if err == nil {
			d.decided(k, &dec, nil)
		}
		return err
	})
	if !done {
		d.log.Warn("what enough leaders signed could not be stored", "request", k.id, "teammate", k.from, "reason", reason)
	}
	return done
}

// voided tells the leaders who signed a request that ended in another way than they signed.
func (d *Desk) voided(n note) {
	if len(n.row.Endorsements) == 0 || n.Row == nil {
		return
	}
	var why string
	switch n.Kind {
	case EventSuperseded:
		why = "a newer revision took its place: " + mailbox.Handle(n.row.From, n.By, minHandle)
	case EventWithdrawn:
		why = n.row.From + " asks no more"
	case EventDecided:
		head := headOf(n.Event)
		if v := n.Row.Vote; v != nil && v.maker() == head.DecidedBy && v.decidedAt().Equal(head.DecidedAt) {
			return
		}
		why = fmt.Sprintf("%s %s it", head.DecidedBy.Name, pastOf(n.Event))
	default:
		return
	}
	row, ctx := *n.Row, d.life
	d.workers.Go(func() { d.notify(ctx, row, row.Endorsements, why) })
}

func headOf(e Event) mailbox.OrderHead {
	if e.Decision != nil {
		return e.Decision.OrderHead
	}
	return e.Answer.OrderHead
}

// pastOf is what was done with a request, in a word.
func pastOf(e Event) string {
	if e.Decision != nil {
		return verbOf(e.Decision.Outcome)
	}
	return "answered"
}

func (v *Vote) decidedAt() time.Time {
	if v.Answer != nil {
		return v.Answer.DecidedAt
	}
	return v.Decision.DecidedAt
}

// replaced tells those who signed the request that a new one takes the place of, should the desk not have been there.
func (d *Desk) replaced(ctx context.Context, old key, by string) {
	row, err := d.box.Request(ctx, old.id)
	if err != nil || row.From != old.from || len(row.Endorsements) == 0 || row.Decision != nil && row.Decision.Valid {
		return
	}
	d.notify(ctx, Row{Row: row, Handle: handle(row, minHandle)}, row.Endorsements,
		"a newer revision took its place: "+mailbox.Handle(old.from, by, minHandle))
}

// notify writes to leaders whose signature counts no more. Several desks write the same mail, under the same id: it is read
// once.
func (d *Desk) notify(ctx context.Context, r Row, of []natsbox.EndorsementInfo, why string) {
	for _, e := range of {
		text := fmt.Sprintf("Your signature for %s counts no more: %s. swarm show %s", r.Handle, why, r.Handle)
		d.write(ctx, e.From, e.EnvelopeID, natsbox.IDOf(e.StoredAt, "void", e.EnvelopeID), mailbox.Message{Text: text, Summary: "signature void"})
	}
}

// write sends a message of the desk's own. One that cannot be delivered now is written again when somebody looks.
func (d *Desk) write(ctx context.Context, to, of, id string, m mailbox.Message) {
	c := d.charter()
	if who, ok := c.Member(to); to != mailbox.Lead && (!ok || who.Role != charter.RoleLeader || !who.Active(time.Now())) {
		return
	}
	env, err := mailbox.New(id, mailbox.KindMessage, c.Team, d.signer.Member.Name, to, 0, time.Now(), m)
	if err == nil {
		env.InReplyTo = of
		_, err = d.box.Send(ctx, env)
	}
	if err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
		d.log.Warn("message not sent", "to", to, "error", err.Error())
	}
}
