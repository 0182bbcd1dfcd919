package leader

import (
	"context"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Deadlines say what happens with what nobody decides, each so long after it was asked. Zero is never; there is none that
// approves. How long something has waited is measured, not read from the wall clock: a clock that jumps changes nothing.
// Only after a start is it counted from the time that the broker noted.
type Deadlines struct {
	Remind   time.Duration // the leaders are reminded once
	Escalate time.Duration // the next of To is told, each so much later than the one before
	To       []string      // empty: the persons who lead, in the charter's order
	Reject   time.Duration // the request expires: a decision of the desk's own key, which rejects
}

// waited is how long a request has waited, and what was done about it.
type waited struct {
	since     time.Time // with the monotonic clock
	reminded  bool
	escalated int
	expiring  bool
}

// waitedSince starts the clock of a request that comes to the desk. What comes while the desk is there has not waited for
// longer than that. d.mu is held.
func (d *Desk) waitedSince(row natsbox.Row) waited {
	now := time.Now()
	age := max(d.cfg.Wall().Round(0).Sub(row.StoredAt.Round(0)), 0)
	if d.rebuilt {
		age = min(age, now.Sub(d.started))
	}
	return waited{since: now.Add(-age), escalated: len(row.Escalated)}
}

// watchDeadlines does what is due, until ctx ends. It derives everything from the requests: several desks do the same,
// and of what they send and store, one counts.
func (d *Desk) watchDeadlines(ctx context.Context) {
	for sleep(ctx, d.cfg.Every) == nil {
		for _, act := range d.due(ctx) {
			act()
		}
	}
}

// due lists what is to be done now, and marks it as done.
func (d *Desk) due(ctx context.Context) (acts []func()) {
	to := d.escalateTo()
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, e := range d.waiting {
		if !e.told { // not complete yet: it may have its decision
			continue
		}
		row, w, rules, age := e.row, &e.clock, d.cfg.Deadlines, time.Since(e.clock.since)
		if why := d.expired(row, age); why != "" && row.Question == nil {
			if !w.expiring {
				w.expiring = true
				acts = append(acts, func() { d.workers.Go(func() { d.expire(ctx, k, row, why) }) })
			}
			continue
		}
		if rules.Remind > 0 && age >= rules.Remind && !w.reminded {
			w.reminded = true
			acts = append(acts, func() { d.remind(ctx, k, row, age) })
		}
		for rules.Escalate > 0 && w.escalated < len(to) && age >= rules.Escalate*time.Duration(w.escalated+1) {
			next := to[w.escalated]
			w.escalated++
			acts = append(acts, func() { d.escalate(ctx, k, row, age, next) })
		}
	}
	return acts
}

// escalateTo are the leaders who are told, in their order.
func (d *Desk) escalateTo() (names []string) {
	if len(d.cfg.Deadlines.To) > 0 {
		return d.cfg.Deadlines.To
	}
	for _, m := range d.charter().Members {
		if m.Role == charter.RoleLeader && m.Kind == charter.KindPerson && m.Active(d.cfg.Wall()) {
			names = append(names, m.Name)
		}
	}
	return names
}

// expired says why a request's time is over, "" while it is not.
func (d *Desk) expired(row natsbox.Row, age time.Duration) string {
	if q := row.Request; q != nil && q.Deadline != nil && !d.cfg.Wall().Before(*q.Deadline) {
		return "nobody decided before its deadline, " + q.Deadline.UTC().Format(time.RFC3339)
	}
	if limit := d.cfg.Deadlines.Reject; limit > 0 && age >= limit {
		return fmt.Sprintf("nobody decided within %v", limit)
	}
	return ""
}

func (d *Desk) remind(ctx context.Context, k key, row natsbox.Row, age time.Duration) {
	d.happened(k, Event{Kind: EventReminded, Reason: "has waited " + Age(age)})
	h := handle(row, minHandle)
	text := fmt.Sprintf("%s has waited %s for a leader: swarm show %s", h, Age(age), h)
	if limit := d.cfg.Deadlines.Reject; limit > age {
		text += fmt.Sprintf(". It expires in %s; it will be rejected, not approved", Age(limit-age))
	}
	d.write(ctx, mailbox.Lead, k.id, natsbox.IDOf(row.StoredAt, "remind", k.from, k.id), mailbox.Message{Text: text, Summary: "reminder"})
}

// escalate hands a request to the next leader. Who it is handed to stands in the inbox of all.
func (d *Desk) escalate(ctx context.Context, k key, row natsbox.Row, age time.Duration, to string) {
	d.happened(k, Event{Kind: EventEscalated, By: to})
	h := handle(row, minHandle)
	text := fmt.Sprintf("%s has waited %s, and nobody has decided: it is yours now. swarm show %s", h, Age(age), h)
	d.write(ctx, to, k.id, natsbox.IDOf(row.StoredAt, "escalate", k.from, k.id, to), mailbox.Message{Text: text, Summary: natsbox.Escalated, Urgent: true})
}

// happened tells of what does not change a request.
func (d *Desk) happened(k key, ev Event) {
	d.change(func() []note {
		if e := d.waiting[k]; e != nil {
			return []note{{ev, e.row}}
		}
		return nil
	})
}

// viaDeadline says in a decision that nobody made it: the time was over.
const viaDeadline = "deadline"

// expire rejects what nobody has decided in time, in the write-once slot: a leader who decides in the same moment, or
// another desk, was first or is too late. The teammate stays in plan mode; a call is denied.
func (d *Desk) expire(ctx context.Context, k key, from natsbox.Row, why string) {
	done, reason := d.expireNow(ctx, k, from, why)
	if done || ctx.Err() != nil {
		return
	}
	d.log.Error("a request could not expire", "request", k.id, "teammate", k.from, "error", plans.VisibleLine(reason))
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.waiting[k]; e != nil {
		e.clock.expiring = false
	}
}

func (d *Desk) expireNow(ctx context.Context, k key, from natsbox.Row, why string) (done bool, reason string) {
	signer := d.signer
	signer.Via = viaDeadline
	row, err := NewRow(from, RowConfig{Charter: d.charter(), Now: time.Now(), Tables: d.cfg.Tables})
	if err != nil {
		return false, err.Error()
	}
	if row.Kind == RowRun {
		a, err := PrepareAnswer(row, Choice{Outcome: planmode.OutcomeRejected, Feedback: why}, time.Now())
		if err != nil {
			return false, err.Error()
		}
		return d.answer(ctx, k, row, signer, a)
	}
	dec := planmode.Decision{
		RequestID: from.Request.RequestID, Revision: from.Request.Revision, PlanDigest: from.Request.Digest,
		Outcome: planmode.OutcomeExpired, Feedback: why,
	}
	return d.publish(ctx, k, row, signer, dec)
}
