package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsauth"
)

// Config says whose team is served on which broker. Server, Team, OwnerKey and Charter are required.
type Config struct {
	Server   *embednats.Server
	Team     string
	OwnerKey string // public nkey of the first owner; hand-overs of the charter lead to the one of now
	Charter  charter.Signed
	// Enrol signs additions of teammates. Nil means that nobody can be enrolled.
	Enrol nkeys.KeyPair
	// Ledger signs the audit ledger: the key of the team's policy. Nil means that nothing is recorded.
	Ledger nkeys.KeyPair
	// Unguarded lets one member send as much as the broker takes. It is for tests of the broker's own limits.
	Unguarded bool
	// Save stores a charter before it counts. Nil means that it is kept in memory only.
	Save func(charter.Signed) error
	// KeepMail is for how long mail is kept that everybody has handled. 0 means 14 days.
	KeepMail time.Duration
	// Now is what the age of mail is told by. Nil means time.Now.
	Now func() time.Time
	// Logger receives what happens. Nil means slog.DiscardHandler.
	Logger *slog.Logger
}

// Coordinator serves one team. Its methods may be called at once.
type Coordinator struct {
	cfg   Config
	auth  *natsauth.Authenticator
	ready chan struct{}
	now   atomic.Pointer[constitution]

	enrolling sync.Mutex // one change of the charter at a time
	running   atomic.Pointer[running]
}

// constitution is the charter in force: as it is sent, and as it was opened.
type constitution struct {
	signed charter.Signed
	open   charter.Charter
}

// running is what exists between the start and the end of Run.
type running struct {
	co       *Coordinator
	nc       *nats.Conn
	js       jetstream.JetStream
	log      *slog.Logger
	team     string
	owner    *owner
	register register
	ledger   *ledger // nil: nothing is recorded

	joining  sync.Mutex // one join at a time
	records  map[string]record
	invited  invitations
	dead     deadLetters
	mutes    mutes
	callers  callers
	sessions sessions
	guard    guard
	since    sinces

	gate   sync.RWMutex // held while a request is answered
	closed bool
}

// New checks the configuration and opens the charter. Nothing is started.
func New(cfg Config) (*Coordinator, error) {
	if cfg.Server == nil {
		return nil, errors.New("coordinator: no broker: give Config.Server")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.KeepMail == 0 {
		cfg.KeepMail = keepMail
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	ch, err := charter.Open(cfg.Charter, cfg.OwnerKey)
	if err != nil {
		return nil, fmt.Errorf("coordinator: the team's charter: %w", err)
	}
	if ch.Team != cfg.Team {
		return nil, fmt.Errorf("coordinator: the charter is that of team %q, not of %q: give the right one", ch.Team, cfg.Team)
	}
	c := &Coordinator{cfg: cfg, auth: cfg.Server.Auth(), ready: make(chan struct{})}
	c.now.Store(&constitution{signed: cfg.Charter, open: ch})
	return c, nil
}

// Ready is closed when members are let in and answered.
func (c *Coordinator) Ready() <-chan struct{} { return c.ready }

// Charter returns the charter in force.
func (c *Coordinator) Charter() charter.Charter { return c.now.Load().open }

// Signed returns the charter in force, as it is stored and sent.
func (c *Coordinator) Signed() charter.Signed { return c.now.Load().signed }

// Run makes the streams, rebuilds the index, and serves until ctx ends or the broker stops. It may be called once. It
// returns the cause of its end, and every goroutine of it has ended then.
//
// [ErrForeignStream] means that the store has a stream of our name that is not ours.
func (c *Coordinator) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	nc, err := c.connect(cancel)
	if err != nil {
		return err
	}
	defer nc.Close()
	r, err := c.open(ctx, nc)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	if err := r.start(ctx, &wg); err != nil {
		return err
	}
	svc, err := r.serve(ctx)
	if err != nil {
		return err
	}
	err = c.letIn(ctx, r)
	if err == nil {
		wg.Go(func() {
			if err := r.findMissed(ctx); err != nil {
				r.log.Warn("dead letters of before the start were not looked for", "error", err)
			}
			r.followDead(ctx)
		})
		close(c.ready)
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	r.close()
	// Closed first: stopping the service would otherwise wait for requests that nobody answers any more.
	nc.Close()
	return errors.Join(err, svc.Stop())
}

// letIn opens the door to the members of the charter.
func (c *Coordinator) letIn(ctx context.Context, r *running) error {
	secret, err := r.register.secret(ctx)
	if err != nil {
		return err
	}
	for _, rec := range r.records {
		for _, instance := range rec.Fenced {
			c.auth.Fence(rec.Name, instance)
		}
	}
	r.silenceAll()
	c.enrolling.Lock() // the charter may be changing
	defer c.enrolling.Unlock()
	c.running.Store(r)
	c.auth.Update(c.Charter())
	r.invited.mu.Lock()
	r.letGuestsIn()
	r.invited.mu.Unlock()
	c.auth.Open(secret)
	return nil
}

// connect opens the one connection that has every right. When the broker stops, so do we.
func (c *Coordinator) connect(cancel context.CancelCauseFunc) (*nats.Conn, error) {
	key := c.auth.CoordinatorKey()
	pub, err := key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("coordinator: connect: %w", err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(c.cfg.Server), nats.Nkey(pub, key.Sign), nats.Name("coordinator"),
		nats.NoReconnect(), nats.Timeout(10*time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) && sub != nil && sub.Type() == nats.ChanSubscription {
				c.cfg.Logger.Debug("broker", "error", err) // a feed: its server's notices were dropped, and a gap is read again
				return
			}
			c.cfg.Logger.Warn("broker", "error", err)
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			cancel(fmt.Errorf("coordinator: the broker has stopped: %w", errors.Join(errBroker, nc.LastError())))
		}))
	if err != nil {
		return nil, fmt.Errorf("coordinator: connect: %w", err)
	}
	return nc, nil
}

var errBroker = errors.New("connection closed")

// open makes the streams and reads the register.
func (c *Coordinator) open(ctx context.Context, nc *nats.Conn) (*running, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(10*time.Second))
	if err != nil {
		return nil, fmt.Errorf("coordinator: %w", err)
	}
	team := c.cfg.Team
	if err := makeStreams(ctx, js, streams(team, c.Charter().TeamID, c.cfg.Server.MaxStore())); err != nil {
		return nil, err
	}
	r := &running{co: c, nc: nc, js: js, log: c.cfg.Logger, team: team, register: register{js, team}, callers: callers{all: map[string]*bucket{}}, sessions: sessions{all: map[string]*session{}}}
	if r.records, err = r.register.load(ctx); err != nil {
		return nil, err
	}
	if r.invited.all, err = r.register.loadInvitations(ctx, c.Charter()); err != nil {
		return nil, err
	}
	if err := r.loadSinces(ctx, c.Charter()); err != nil {
		return nil, err
	}
	if r.dead.all, err = r.register.loadDead(ctx); err != nil {
		return nil, err
	}
	r.mutes.more = make(chan struct{}, 1)
	r.guard = newGuard(c.cfg.Server.MaxStore())
	if r.mutes.all, err = r.register.loadMutes(ctx); err != nil {
		return nil, err
	}
	r.ledger, err = openLedger(ctx, js, c.cfg, c.Charter())
	return r, err
}

// start follows the streams and returns when the index is rebuilt.
func (r *running) start(ctx context.Context, wg *sync.WaitGroup) error {
	x := newIndex(r.team, r.co.Charter)
	x.since = r.since.of
	for name, rec := range r.records {
		x.members[name] = &member{
			epoch: rec.Epoch, joinSeq: rec.JoinSeq, instance: rec.Instance, agent: rec.Agent, known: rec.Known, knownSeq: rec.KnownSeq, spent: rec.Spent,
		}
	}
	o := &owner{
		x: x, js: r.js, nc: r.nc, log: r.log, ledger: r.ledger, asks: make(chan func(*index)), done: make(chan struct{}),
		mail: newFeed(mailStream(r.team), jetstream.DeliverAllPolicy),
		dec:  newFeed(decisionStream(r.team), jetstream.DeliverAllPolicy),
		ord:  newFeed(orderStream(r.team), jetstream.DeliverAllPolicy),
		stat: newFeed(statusStream(r.team), jetstream.DeliverLastPerSubjectPolicy),
	}
	for _, f := range []*feed{o.mail, o.dec, o.ord, o.stat} {
		if err := f.start(ctx, wg, r.js, r.log); err != nil {
			return err
		}
	}
	if err := o.rebuild(ctx); err != nil {
		return err
	}
	r.owner = o
	if !r.co.cfg.Unguarded {
		o.counted = r.guard.stored
	}
	if r.ledger != nil {
		wg.Go(func() { r.ledger.run(ctx) })
	}
	wg.Go(func() { o.run(ctx) })
	wg.Go(func() { r.sweep(ctx) })
	wg.Go(func() { r.retain(ctx) })
	wg.Go(func() { r.followMutes(ctx) })
	if !r.co.cfg.Unguarded {
		wg.Go(func() { r.watchFloods(ctx) })
	}
	return r.finishRetries(ctx)
}
