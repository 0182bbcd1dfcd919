package teammate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// Runner drives one teammate's session. Its methods are safe to call at once.
type Runner struct {
	cfg   Config
	log   *slog.Logger
	clock *clock

	mu      sync.Mutex // held over Apply, the journal's write, and the swap of the view
	session planmode.Session
	joins   joins
	stale   string // why the journal's session is not the last one
	seq     uint64
	started time.Time // orders to end that were given before it are refused
	stopped atomic.Pointer[Stop]
	failed  atomic.Pointer[string] // why the agent, or the runner, has ended with an error
	away    bool                   // the broker; of the heartbeat
	view    atomic.Pointer[View]

	work    *queue[*record]
	out     *queue[*outgoing]
	tail    sync.WaitGroup // steps whose mail is under way
	calls   calls
	asks    asks
	answers answers
	inbox   inbox
	runners runnerKeep
	refused refusals
	ended   ended
	remind  reminding
	// planning is the round of planning that is under way.
	planning planning
	rest     rest

	questions questions
	gone      planGone // under mu
	changed   signal
	beats     chan struct{}
	events    chan natsbox.EventRequest // for the ledger
	looks     chan struct{}
	submits   sync.Mutex

	charters chan struct{} // holds one while somebody fetches the charter
	signed   charter.Signed
	owned    owned

	resumed  atomic.Bool
	ready    chan struct{}
	over     chan struct{} // closed when the session has ended and its effects were carried out
	overOnce sync.Once
	fenced   atomic.Bool
}

// New makes a runner. Nothing happens before [Runner.Run].
func New(cfg Config) (*Runner, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	r := &Runner{
		cfg: cfg, log: cfg.Logger.With("teammate", cfg.Name), clock: newClock(cfg.Now),
		work: newQueue[*record](), out: newQueue[*outgoing](), beats: make(chan struct{}, 1), looks: make(chan struct{}, 1),
		ready: make(chan struct{}), over: make(chan struct{}), charters: make(chan struct{}, 1),
	}
	r.events = make(chan natsbox.EventRequest, toldMost)
	r.answers.onError = func(err error) { r.log.Warn("teammate: the answer is kept in memory only", "cause", err) }
	return r, nil
}

// Ready is closed when the team was joined and the session stands: from then on calls can be judged.
func (r *Runner) Ready() <-chan struct{} { return r.ready }

// Resumed reports, once the runner is ready, whether it took up the session of an earlier process.
func (r *Runner) Resumed() bool { return r.resumed.Load() }

// Stop is a leader's order to end, carried out.
type Stop struct{ By, Reason string }

// Stopped tells who has ended the session by an order, and why; false while it goes on, and when it ended otherwise.
func (r *Runner) Stopped() (Stop, bool) {
	s := r.stopped.Load()
	if s == nil {
		return Stop{}, false
	}
	return *s, true
}

// Run joins the team, takes the session up where the journal ends, or begins one, and drives it until a leader shuts it
// down (nil), another instance takes the name ([natsbox.ErrFenced]), or ctx ends: in order, with the session left and the
// leaders told, unless the cause of the end is [ErrDetach]. A name that somebody else holds is [natsbox.ErrNameTaken].
// Run may be called once.
func (r *Runner) Run(ctx context.Context) error {
	r.started = r.clock.now()
	folder, err := openKeep(r.cfg.Dir)
	if err != nil {
		return err
	}
	defer folder.close()
	mail, err := r.loadKept(folder)
	if err != nil {
		return err
	}
	defer mail.close()
	if err := errors.Join(r.joins.load(folder), r.owned.load(folder), r.runners.load(folder), r.questions.load(folder)); err != nil {
		return err
	}
	if err := r.ended.load(folder); err != nil {
		r.log.Warn("teammate: which grants have ended is not known any more", "cause", err)
	}
	defer r.runners.keep.close()
	if r.owned.Handovers == nil {
		r.owned.Handovers = r.cfg.Handovers
	}
	welcome, err := r.join(ctx)
	if err != nil {
		return err
	}
	if err := r.begin(welcome); err != nil {
		r.sayFailed(ctx, err)
		return err
	}
	return r.drive(ctx)
}

// loadKept reads what earlier processes kept for the agent.
func (r *Runner) loadKept(folder keep) (keep, error) {
	if err := r.answers.load(folder); err != nil {
		r.log.Warn("teammate: earlier answers are lost", "cause", err)
	}
	mail, err := folder.sub("inbox")
	if err != nil {
		return keep{}, err
	}
	return mail, r.inbox.load(folder, mail)
}

// join waits for the broker as long as that takes.
func (r *Runner) join(ctx context.Context) (natsbox.Welcome, error) {
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		if err := r.joins.asking(); err != nil {
			return natsbox.Welcome{}, err
		}
		w, err := r.cfg.Box.Join(ctx, natsbox.JoinRequest{
			Name: r.cfg.Name, Instance: r.cfg.Instance, Version: r.cfg.Version, Agent: r.cfg.Client,
			Capabilities: r.cfg.Capabilities, Mode: r.cfg.Mode, Takeover: r.cfg.Takeover,
			LedgerSeen: r.joins.ledger().Seq,
		})
		if err == nil {
			return w, nil
		}
		if !errors.Is(err, natsbox.ErrUnreachable) {
			return natsbox.Welcome{}, fmt.Errorf("teammate: join: %w", err)
		}
		r.log.Warn("teammate: the broker does not answer; the team is joined when it does", "cause", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return natsbox.Welcome{}, context.Cause(ctx)
		}
	}
}

// drive runs the session until its end. It owns every goroutine that it starts and has joined them when it returns.
func (r *Runner) drive(ctx context.Context) error {
	// Effects and mail live a little longer than ctx: the end has effects too.
	late, stopLate := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLate()
	early, stopEarly := context.WithCancel(ctx)
	defer stopEarly()
	var lateWork, earlyWork sync.WaitGroup
	lateWork.Go(func() { r.carryOut(late) })
	lateWork.Go(func() { r.sendOut(late) })
	lateWork.Go(func() { r.record(late) })
	for _, part := range []func(context.Context){r.receiveOrders, r.receiveMail, r.heartbeat, r.tick, r.watchSlots} {
		earlyWork.Go(func() { part(early) })
	}
	r.withdrawQuestions(planmode.WithdrawnInterrupt)
	r.reportMail()
	close(r.ready)
	err := r.untilEnd(ctx)
	stopEarly()
	earlyWork.Wait()
	if !errors.Is(err, ErrDetach) {
		if !r.isFenced() {
			r.withdrawQuestions(planmode.WithdrawnExit)
		}
		r.drain(late)
		if v := r.view.Load(); v != nil && v.State == planmode.Left && !r.fenced.Load() {
			r.sendStatus(late, *v) // the last word: it ended in order
			if err := r.cfg.Store.Forget(); err != nil {
				r.log.Warn("teammate: the plan file's name is kept", "cause", err)
			}
		}
	}
	stopLate()
	r.calls.stop("the runner ends")
	lateWork.Wait()
	r.dropOut() // what was handed over when nobody sent any more
	r.tail.Wait()
	r.end()
	return err
}

// untilEnd waits for whatever ends the session, and takes the event that says so.
func (r *Runner) untilEnd(ctx context.Context) error {
	select {
	case <-r.over:
		return nil
	case <-r.cfg.Box.Fenced():
		r.fenced.Store(true)
		r.quietly(planmode.Fenced{})
		return fmt.Errorf("teammate: %w", natsbox.ErrFenced)
	case <-ctx.Done():
		cause := context.Cause(ctx)
		if errors.Is(cause, ErrDetach) {
			return cause
		}
		r.quietly(planmode.Exited{})
		return cause
	}
}

// drain gives the last effects and the last mail their time.
func (r *Runner) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Drain)
	defer cancel()
	for {
		changed := r.changed.wait()
		if r.work.idle() && r.out.idle() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.log.Warn("teammate: ended before everything was sent")
			return
		}
	}
}

// left is called when the last effect of the end was carried out.
func (r *Runner) left() { r.overOnce.Do(func() { close(r.over) }) }

// end shuts the gate and lets go of everybody who waits.
func (r *Runner) end() {
	r.planning.stop()
	r.view.Store(nil)
	r.left()
	r.changed.all()
}

func (r *Runner) isFenced() bool { return r.fenced.Load() }

// receive keeps one kind of receiving going: it ends with ctx, and is begun again when it ends before.
func (r *Runner) receive(ctx context.Context, what string, once func() error) {
	for ctx.Err() == nil {
		err := once()
		if ctx.Err() != nil {
			return
		}
		r.log.Warn("teammate: receiving is begun again", "what", what, "cause", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
