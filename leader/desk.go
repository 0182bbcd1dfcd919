package leader

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Box is what a desk calls of its connection to the broker. [*natsbox.Conn] is one.
type Box interface {
	Slots
	Caller
	Send(context.Context, mailbox.Envelope) (natsbox.Stored, error)
	ReadDecision(ctx context.Context, to, requestID string) (charter.Order, error)
	Pending(context.Context) ([]natsbox.Row, error)
	Request(ctx context.Context, id string) (natsbox.Row, error)
	ReceiveMail(context.Context, func(context.Context, natsbox.Mail) error) error
}

// Seat is one decider at the desk, and what it signs with.
type Seat struct {
	Decider Decider
	Signer  Signer // zero: the desk's own
}

// Config adjusts a [Desk]. The zero Config is a desk that decides nothing: it keeps what waits for people.
type Config struct {
	// Seats are asked in this order; the first that does not abstain decides. Those that are [Replier]s answer questions.
	Seats []Seat
	// Unattended says that there is nobody to ask: what every seat abstains from is rejected, with the reasons, and a
	// question that no seat answers has the answer [NobodyHere].
	Unattended bool
	// OnEvent is told what happens, one event at a time, in the order it happened. It must not call the desk. Nil: nobody.
	OnEvent func(Event)
	// Logger receives what goes wrong. Nil means slog.DiscardHandler.
	Logger *slog.Logger
	// Every is how often the desk looks for decisions that others made, and how long it waits after a failure. Zero: 1 s.
	Every time.Duration
	// Tables are the person's own intents. Nil: those that are built in alone.
	Tables *permissions.Tables
	// Deadlines say what happens with what nobody decides. Zero: it waits for ever.
	Deadlines Deadlines
	// Wall is the wall clock, against which the deadlines of single requests are held. Nil: time.Now.
	Wall func() time.Time
}

// Desk keeps the requests that wait for a leader, and has them decided. What is on it is in the streams too: a desk that
// starts again finds everything that is not decided, withdrawn or replaced, and asks its deciders again.
type Desk struct {
	box     Box
	charter func() charter.Charter
	signer  Signer
	cfg     Config
	log     *slog.Logger
	started time.Time
	rebuilt bool            // what was asked before the desk started is on it; guarded by mu
	life    context.Context // of Run: for what is sent after something has happened

	mu      sync.Mutex
	waiting map[key]*entry
	settled map[key]bool // what was on the desk and is no more: mail that comes again is dropped
	order   []key        // of settled, oldest first
	workers sync.WaitGroup

	events sync.Mutex // serialises OnEvent
}

// key names a request: the sender is from the subject, so nobody can take another's place.
type key struct{ from, id string }

// entry is one request on the desk.
type entry struct {
	row     natsbox.Row
	rebuilt bool                    // stored before the desk started
	told    bool                    // EventSubmitted was
	cancel  context.CancelCauseFunc // ends its worker
	clock   waited
}

// maxSettled is how many settled requests a desk remembers; older mail is looked up in the streams.
const maxSettled = 4096

// NewDesk returns a desk. charterNow gives the newest verified charter; signer is the desk's own key.
func NewDesk(box Box, charterNow func() charter.Charter, signer Signer, cfg Config) *Desk {
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	if cfg.Wall == nil {
		cfg.Wall = time.Now
	}
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(Event) {}
	}
	d := &Desk{
		box: box, charter: charterNow, signer: signer, cfg: cfg, log: cfg.Logger,
		waiting: map[key]*entry{}, settled: map[key]bool{},
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d
}

// Run keeps the desk until ctx ends, and returns its cause. Everything that it started has ended then. Run it once.
func (d *Desk) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	d.started, d.life = time.Now(), ctx
	var wg sync.WaitGroup
	wg.Go(func() { d.follow(ctx) })
	wg.Go(func() { d.watchDeadlines(ctx) })
	err := d.box.ReceiveMail(ctx, func(mailCtx context.Context, m natsbox.Mail) error { return d.mail(ctx, mailCtx, m) })
	stop(err)
	wg.Wait()
	d.workers.Wait()
	return err
}

// Waiting returns the requests on the desk, oldest first.
func (d *Desk) Waiting() []natsbox.Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := make([]natsbox.Row, 0, len(d.waiting))
	for _, e := range d.waiting {
		rows = append(rows, e.row)
	}
	slices.SortFunc(rows, func(a, b natsbox.Row) int { return a.StoredAt.Compare(b.StoredAt) })
	return rows
}

// note is an event about a row that is still to be drawn up.
type note struct {
	Event
	row natsbox.Row
}

// change alters what is on the desk and tells of it: one change at a time, in the order in which they happen. f is called
// with d.mu held; the events are told without it.
func (d *Desk) change(f func() []note) {
	d.events.Lock()
	defer d.events.Unlock()
	d.mu.Lock()
	notes := f()
	d.mu.Unlock()
	for _, n := range notes {
		n.Teammate, n.RequestID, n.Row = n.row.From, n.row.EnvelopeID, d.view(n.row)
		n.At = time.Now()
		d.cfg.OnEvent(n.Event)
		d.voided(n)
	}
}

// tell reports what changes nothing on the desk.
func (d *Desk) tell(ev Event) {
	d.events.Lock()
	defer d.events.Unlock()
	ev.At = time.Now()
	d.cfg.OnEvent(ev)
}

// put places a request on the desk and starts its worker. One that is or was there already changes nothing; a newer plan
// takes the place of the teammate's older one.
func (d *Desk) put(ctx context.Context, row natsbox.Row) {
	k := key{row.From, row.EnvelopeID}
	d.change(func() []note {
		if d.waiting[k] != nil || d.settled[k] {
			return nil
		}
		older, newer := d.rivals(row)
		if newer {
			d.remember(k)
			return nil
		}
		var notes []note
		for _, old := range older {
			notes = append(notes, d.remove(old, Event{Kind: EventSuperseded, By: row.EnvelopeID}, errSupersededWork)...)
		}
		work, cancel := context.WithCancelCause(ctx)
		d.waiting[k] = &entry{row: row, rebuilt: row.StoredAt.Before(d.started), cancel: cancel, clock: d.waitedSince(row)}
		d.workers.Go(func() {
			defer cancel(nil)
			d.work(work, k)
		})
		return notes
	})
}

// rivals are the teammate's waiting plans that a new one replaces: a teammate has one plan pending. Newer says that one
// of them was stored later, so that the new one is an old one come late. d.mu is held.
func (d *Desk) rivals(row natsbox.Row) (older []key, newer bool) {
	if row.Request == nil {
		return nil, false
	}
	for k, e := range d.waiting {
		if k.from != row.From || e.row.Request == nil {
			continue
		}
		if e.row.StoredAt.After(row.StoredAt) && row.Request.Supersedes != k.id {
			return nil, true
		}
		older = append(older, k)
	}
	return older, false
}

// take removes a request from the desk, ends its worker and tells why. It reports whether this call removed it: only one
// does.
func (d *Desk) take(k key, ev Event, cause error) (taken bool) {
	d.change(func() []note {
		notes := d.remove(k, ev, cause)
		taken = notes != nil
		return notes
	})
	return taken
}

// remove is take with d.mu held: what there is to tell, or nil when it was not on the desk.
func (d *Desk) remove(k key, ev Event, cause error) []note {
	e := d.waiting[k]
	if e == nil {
		return nil
	}
	delete(d.waiting, k)
	d.remember(k)
	e.cancel(cause)
	return append(e.submitted(), note{ev, e.row})
}

// submitted tells once that the request is on the desk.
func (e *entry) submitted() []note {
	if e.told {
		return nil
	}
	e.told = true
	if e.row.Question != nil {
		return []note{{Event{Kind: EventQuestion, Question: e.row.Question, Rebuilt: e.rebuilt}, e.row}}
	}
	return []note{{Event{Kind: EventSubmitted, Rebuilt: e.rebuilt}, e.row}}
}

// remember marks a request as settled. d.mu is held.
func (d *Desk) remember(k key) {
	if d.settled[k] {
		return
	}
	d.settled[k] = true
	d.order = append(d.order, k)
	if len(d.order) > maxSettled {
		delete(d.settled, d.order[0])
		d.order = slices.Delete(d.order, 0, 1)
	}
}

func (d *Desk) get(k key) (natsbox.Row, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.waiting[k]
	if e == nil {
		return natsbox.Row{}, false
	}
	return e.row, true
}

// view is a row as events show it. What cannot be decided has its problem in it.
func (d *Desk) view(row natsbox.Row) *Row {
	r, _ := NewRow(row, RowConfig{Charter: d.charter(), Now: time.Now(), Tables: d.cfg.Tables})
	return &r
}

// decided takes a request off the desk that has its answer, and tells of it once, whoever finds it first.
func (d *Desk) decided(k key, dec *planmode.Decision, ans *planmode.PermissionAnswer) bool {
	ev := Event{Kind: EventDecided, Decision: dec, Answer: ans}
	if dec != nil {
		ev.Here = d.signsAs(dec.DecidedBy.Name)
	} else {
		ev.Here = d.signsAs(ans.DecidedBy.Name)
	}
	return d.take(k, ev, errDecidedWork)
}

// signsAs reports whether one of the desk's own keys is that member's.
func (d *Desk) signsAs(name string) bool {
	is := func(s Seat) bool { return s.Signer.Member.Name == name }
	return d.signer.Member.Name == name || slices.ContainsFunc(d.cfg.Seats, is)
}
