package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// Why a worker ends.
var (
	errDecidedWork    = errors.New("leader: the request has been decided")
	errSupersededWork = errors.New("leader: the request was replaced by a newer one")
	errWithdrawnWork  = errors.New("leader: the request was withdrawn")
)

// work has one request decided. It ends when the request is off the desk, or when only people can decide it.
func (d *Desk) work(ctx context.Context, k key) {
	row, ok := d.complete(ctx, k)
	if !ok {
		return
	}
	if q := row.Request; q != nil && q.Supersedes != "" {
		d.replaced(ctx, key{k.from, q.Supersedes}, k.id)
	}
	if d.tally(ctx, k) {
		return
	}
	var reasons []string
	for _, seat := range d.seats() {
		done, reason := d.ask(ctx, k, row, seat)
		if done || ctx.Err() != nil {
			return
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	why := strings.Join(reasons, "; ")
	if d.cfg.Unattended {
		d.nobody(ctx, k, row, why)
		return
	}
	d.undecided(k, why)
}

// complete adds what the coordinator knows of the request: the mode that the teammate had, and whether it waits at all.
// It asks until it is answered. What the coordinator keeps saying it does not know is refused: its sender has started
// again since, or has too many requests open.
func (d *Desk) complete(ctx context.Context, k key) (natsbox.Row, bool) {
	unknown := 0
	for {
		row, ok := d.get(k)
		if !ok {
			return row, false
		}
		known, err := d.box.Request(ctx, k.id)
		if err == nil && known.From == k.from {
			row.KnownMode, row.Decision, row.Withdrawn, row.SupersededBy = known.KnownMode, known.Decision, known.Withdrawn, known.SupersededBy
			row.Answer, row.Endorsements = known.Answer, known.Endorsements
			d.update(k, row)
			return row, !d.tidy(ctx, k, row)
		}
		if err == nil || errors.Is(err, natsbox.ErrNotFound) {
			unknown++
		}
		if unknown > patience && d.take(k, Event{Kind: EventOdd, Reason: errUnknown.Error()}, errUnknown) {
			_ = d.sendRefusal(ctx, k, errUnknown)
			return row, false
		}
		if sleep(ctx, askAgain) != nil {
			return row, false
		}
	}
}

// The coordinator may be a moment behind the mail: it is asked again this soon, and this often.
const (
	askAgain = 100 * time.Millisecond
	patience = 100
)

var errUnknown = errors.New("the coordinator does not know this request: its sender has started again since, or has too many open")

// update keeps what is known of a request, and tells that it is on the desk.
func (d *Desk) update(k key, row natsbox.Row) {
	d.change(func() []note {
		e := d.waiting[k]
		if e == nil {
			return nil
		}
		e.row = row
		return e.submitted()
	})
}

// tidy takes a request off the desk that the coordinator says waits no more. A decision is believed only when its slot
// holds one.
func (d *Desk) tidy(ctx context.Context, k key, row natsbox.Row) bool {
	switch {
	case row.Answer != nil:
		return d.replied(k, row.Answer.Answer, row.Answer.By)
	case row.Decision != nil:
		return d.lookDecided(ctx, k, row)
	case row.Withdrawn != "":
		return d.take(k, Event{Kind: EventWithdrawn, Reason: row.Withdrawn}, errWithdrawnWork)
	case row.SupersededBy != "":
		return d.take(k, Event{Kind: EventSuperseded, By: row.SupersededBy}, errSupersededWork)
	}
	return false
}

// seats are the deciders, each with the key that it signs with.
func (d *Desk) seats() []Seat {
	seats := make([]Seat, 0, len(d.cfg.Seats))
	for _, s := range d.cfg.Seats {
		if s.Signer.Key == nil {
			s.Signer = d.signer
		}
		seats = append(seats, s)
	}
	return seats
}

// ask lets one seat decide and publishes what it decided. Not done means that the next seat is asked; the reason is for
// people. Nothing is locked while the seat decides.
func (d *Desk) ask(ctx context.Context, k key, from natsbox.Row, seat Seat) (done bool, reason string) {
	c := d.charter()
	row, err := NewRow(from, RowConfig{Charter: c, Now: time.Now(), Presence: d.presence(ctx, k.from), Tables: d.cfg.Tables})
	if err != nil {
		return false, err.Error()
	}
	q := Request{Row: row, Charter: c, Now: time.Now()}
	var dec planmode.Decision
	var ans planmode.PermissionAnswer
	var reply mailbox.Answer
	switch row.Kind {
	case RowRun:
		ans, err = answerOf(ctx, seat.Decider, q)
	case RowQuestion:
		reply, err = replyOf(ctx, seat.Decider, q)
	default:
		dec, err = seat.Decider.Decide(ctx, q)
	}
	switch {
	case ctx.Err() != nil:
		return true, ""
	case errors.Is(err, ErrAbstain):
		return false, abstained(err)
	case err != nil:
		d.log.Error("decider failed", "request", k.id, "teammate", k.from, "error", err.Error())
		return false, err.Error()
	case row.Kind == RowRun:
		return d.answer(ctx, k, row, seat.Signer, ans)
	case row.Kind == RowQuestion:
		return d.reply(ctx, k, row, reply)
	}
	return d.publish(ctx, k, row, seat.Signer, dec)
}

func answerOf(ctx context.Context, d Decider, q Request) (planmode.PermissionAnswer, error) {
	if a, ok := d.(Answerer); ok {
		return a.Answer(ctx, q)
	}
	return planmode.PermissionAnswer{}, ErrAbstain
}

// abstained is what an abstention says for itself.
func abstained(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), ErrAbstain.Error()), ": ")
}

// publish makes the decision, as long as it takes to reach the broker.
func (d *Desk) publish(ctx context.Context, k key, row Row, s Signer, dec planmode.Decision) (done bool, reason string) {
	return d.keepTrying(ctx, k, row, func() error {
		stored, err := Publish(ctx, d.box, s, d.charter(), row, dec)
		if err == nil {
			d.decided(k, &stored, nil)
		}
		return err
	})
}

// answer is publish for a permission request.
func (d *Desk) answer(ctx context.Context, k key, row Row, s Signer, ans planmode.PermissionAnswer) (done bool, reason string) {
	return d.keepTrying(ctx, k, row, func() error {
		stored, err := PublishAnswer(ctx, d.box, s, d.charter(), row, ans)
		if err == nil {
			d.decided(k, nil, &stored)
		}
		return err
	})
}

// keepTrying publishes until the slot is taken, by us or by somebody else. Not done says why it cannot be.
func (d *Desk) keepTrying(ctx context.Context, k key, row Row, publish func() error) (done bool, reason string) {
	for {
		err := publish()
		switch {
		case err == nil || ctx.Err() != nil:
			return true, ""
		case IsError(err, NameAlreadyDecided, NameVoidDecision):
			d.lookDecided(ctx, k, row.Row)
			return true, ""
		case !passing(err):
			d.log.Warn("decision not possible", "request", k.id, "teammate", k.from, "error", err.Error())
			return false, err.Error()
		}
		d.log.Warn("decision not stored yet", "request", k.id, "error", err.Error())
		if sleep(ctx, d.cfg.Every) != nil {
			return true, ""
		}
	}
}

// passing reports whether an error of the broker may be gone the next time.
func passing(err error) bool {
	return errors.Is(err, natsbox.ErrUnreachable) || errors.Is(err, natsbox.ErrStoreFull)
}

// nobody rejects what nobody is there to decide, and says why.
func (d *Desk) nobody(ctx context.Context, k key, from natsbox.Row, why string) {
	text := "nobody to ask"
	if why != "" {
		text += ": " + why
	}
	done, reason := d.refuseForNobody(ctx, k, from, Choice{Outcome: planmode.OutcomeRejected, Feedback: text})
	if !done {
		d.log.Error("nobody could decide", "request", k.id, "teammate", k.from, "error", reason)
		d.undecided(k, reason)
	}
}

func (d *Desk) refuseForNobody(ctx context.Context, k key, from natsbox.Row, no Choice) (done bool, reason string) {
	c, signer := d.charter(), d.signer
	signer.Via = "unattended"
	row, err := NewRow(from, RowConfig{Charter: c, Now: time.Now(), Tables: d.cfg.Tables})
	if err != nil {
		return false, err.Error()
	}
	if row.Kind == RowQuestion {
		return d.reply(ctx, k, row, mailbox.Answer{Text: NobodyHere})
	}
	if row.Kind == RowRun {
		ans, err := PrepareAnswer(row, no, time.Now())
		if err != nil {
			return false, err.Error()
		}
		return d.answer(ctx, k, row, signer, ans)
	}
	dec, err := Prepare(row, no, c, time.Now())
	if err != nil {
		return false, err.Error()
	}
	return d.publish(ctx, k, row, signer, dec)
}

// undecided tells that a person must decide.
func (d *Desk) undecided(k key, why string) {
	d.change(func() []note {
		if e := d.waiting[k]; e != nil {
			return []note{{Event{Kind: EventUndecided, Reason: why}, e.row}}
		}
		return nil
	})
}

// presence is what the coordinator last heard of a teammate. None is not a reason to wait.
func (d *Desk) presence(ctx context.Context, name string) natsbox.Presence {
	var all []natsbox.Presence
	if err := d.box.Call(ctx, natsbox.VerbPresence, nil, &all); err != nil {
		return natsbox.Presence{}
	}
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	return natsbox.Presence{}
}

// lookDecided takes a request off the desk when its slot holds a leader's decision, or junk: that voids the request, and
// the teammate asks again under another id.
func (d *Desk) lookDecided(ctx context.Context, k key, row natsbox.Row) bool {
	if row.Question != nil {
		return d.lookReplied(ctx, k)
	}
	order, err := d.box.ReadDecision(ctx, k.from, k.id)
	if err != nil {
		if !errors.Is(err, natsbox.ErrNoDecision) {
			d.log.Debug("slot not read", "request", k.id, "error", err.Error())
		}
		return false
	}
	c := d.charter()
	if row.Permission != nil {
		_, a, err := charter.OpenOrder[planmode.PermissionAnswer](c, order)
		if err != nil {
			return d.void(k, err)
		}
		return d.decided(k, nil, &a)
	}
	_, dec, err := charter.OpenOrder[planmode.Decision](c, order)
	if err != nil {
		return d.void(k, err)
	}
	return d.decided(k, &dec, nil)
}

func (d *Desk) void(k key, err error) bool {
	d.log.Warn("slot holds no leader's decision", "request", k.id, "teammate", k.from, "error", err.Error())
	return d.take(k, Event{Kind: EventOdd, Reason: fmt.Sprintf("its slot holds what no leader signed: %v", err)}, errDecidedWork)
}

// follow puts on the desk what was in the streams before it came, and then looks for what others decide, until ctx ends.
func (d *Desk) follow(ctx context.Context) {
	for rebuilt := false; ctx.Err() == nil; {
		if !rebuilt {
			rebuilt = d.rebuild(ctx)
		}
		for _, row := range d.Waiting() {
			d.lookDecided(ctx, key{row.From, row.EnvelopeID}, row)
		}
		if sleep(ctx, d.cfg.Every) != nil {
			return
		}
	}
}

// rebuild reads the pending requests from the coordinator. What cannot be what it says was, or will be, refused with its
// mail.
func (d *Desk) rebuild(ctx context.Context) bool {
	rows, err := d.box.Pending(ctx)
	if err != nil {
		d.log.Debug("pending requests not read", "error", err.Error())
		return false
	}
	for _, row := range rows {
		if row.Open() && checkRequest(row, d.charter().TeamID) == nil {
			d.put(ctx, row)
		}
	}
	d.mu.Lock()
	d.rebuilt = true
	d.mu.Unlock()
	return true
}
