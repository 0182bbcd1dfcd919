package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// bare is a process that has nothing on disk.
type bare struct {
	*life
	w     *world
	stop  context.CancelCauseFunc
	done  chan struct{}
	again func()
}

func (b *bare) border() *life { return b.life }

func (b *bare) join() {
	b.stop(errKilled)
	<-b.done
}

func (b *bare) succeed(strike) func() {
	b.cut()
	b.bury()
	return func() {
		b.join()
		b.again()
	}
}

// start runs a process without a disk, with a connection of its own.
func (w *world) start(name, member string, run func(context.Context, *life, *natsbox.Conn)) {
	l := newLife(name)
	ctx, stop := context.WithCancelCause(context.Background())
	b := &bare{life: l, w: w, stop: stop, done: make(chan struct{}), again: func() { w.start(name, member, run) }}
	w.put(name, b)
	go func() {
		defer close(b.done)
		conn, err := w.connect(ctx, member, l)
		if err != nil {
			return
		}
		defer conn.Close()
		run(ctx, l, conn)
	}()
}

// startDesk starts the desk, with a policy in its only seat.
func (w *world) startDesk() {
	w.start("desk", "policy", func(ctx context.Context, l *life, conn *natsbox.Conn) {
		for {
			_, err := conn.Join(ctx, natsbox.JoinRequest{Agent: "policy", Takeover: true})
			if err == nil {
				break
			}
			if !sleep(ctx, 200*time.Millisecond) {
				return
			}
		}
		desk := leader.NewDesk(post{conn, l}, w.charter, w.signer("policy"), leader.Config{
			Seats: []leader.Seat{{Decider: seat{w, l}}}, Logger: w.log, Every: 500 * time.Millisecond,
			OnEvent: func(e leader.Event) {
				if l.cross() {
					w.notes.event(l, e)
					l.cross()
				}
			},
		})
		_ = desk.Run(ctx)
	})
}

// seat decides whatever is asked, each request after a time of its own, so that the other leader comes first sometimes.
type seat struct {
	w *world
	l *life
}

func (s seat) think(ctx context.Context, id string, steps uint32) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	sleep(ctx, time.Duration(h.Sum32()%steps)*70*time.Millisecond)
}

func (s seat) Decide(ctx context.Context, q leader.Request) (planmode.Decision, error) {
	s.think(ctx, q.Row.ID(), 8)
	return leader.Prepare(q.Row, choice(q.Row), q.Charter, q.Now)
}

func (s seat) Answer(ctx context.Context, q leader.Request) (planmode.PermissionAnswer, error) {
	s.think(ctx, q.Row.ID(), 8)
	return leader.PrepareAnswer(q.Row, choice(q.Row), q.Now)
}

func (s seat) Reply(_ context.Context, q leader.Request) (mailbox.Answer, error) {
	return mailbox.Answer{QuestionID: q.Row.ID(), Text: "yes"}, nil
}

// choice rejects the first revision of a plan that asks for it, and approves everything else.
func choice(r leader.Row) leader.Choice {
	if r.Request != nil && r.Request.Revision == 1 && bytes.Contains(r.Request.Plan.Content, []byte(rejectMe)) {
		return leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "say how it is tested"}
	}
	return leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: r.From}
}

// startMia starts the commands of a person: she reads what waits and decides it too, gives orders, and writes.
func (w *world) startMia(mates []string) {
	w.start("mia", "mia", func(ctx context.Context, l *life, conn *natsbox.Conn) {
		for n := 0; ctx.Err() == nil; n++ {
			w.decideAll(ctx, l, conn)
			if !w.isEnding() && n%4 == 3 {
				w.command(ctx, l, conn, mates[n/4%len(mates)], n/4)
			}
			sleep(ctx, 300*time.Millisecond)
		}
	})
}

// decideAll is `swarm inbox`, and `swarm approve` of each row.
func (w *world) decideAll(ctx context.Context, l *life, conn *natsbox.Conn) {
	q, err := leader.Read(ctx, conn, leader.QueueConfig{Charter: w.charter()})
	if err != nil {
		return
	}
	for _, row := range q.Rows {
		switch row.Kind {
		case leader.RowRun:
			a, err := leader.PrepareAnswer(row, choice(row), time.Now())
			if err == nil {
				a, err = leader.PublishAnswer(ctx, conn, w.signer("mia"), w.charter(), row, a)
			}
			if err == nil && l.cross() {
				w.notes.success(row.From, row.ID(), "mia", string(a.Behavior))
			}
		case leader.RowQuestion:
			_, _ = leader.Reply(ctx, conn, w.charter(), "mia", row, "", "yes", time.Now())
		default:
			d, err := leader.Prepare(row, choice(row), w.charter(), time.Now())
			if err == nil {
				d, err = leader.Publish(ctx, conn, w.signer("mia"), w.charter(), row, d)
			}
			if err == nil && l.cross() {
				w.notes.success(row.From, row.ID(), "mia", string(d.Outcome))
			}
		}
	}
}

// command gives an order, or writes to a teammate.
func (w *world) command(ctx context.Context, l *life, conn *natsbox.Conn, to string, n int) {
	var o leader.Ordered
	var err error
	switch n % 4 {
	case 0:
		o, err = leader.OrderMode(ctx, conn, w.signer("mia"), w.charter(), to, permissions.ModePlan, "look again")
	case 1:
		o, err = leader.OrderRevoke(ctx, conn, w.signer("mia"), w.charter(), to, "", "all")
	case 2:
		o, err = leader.OrderMode(ctx, conn, w.signer("mia"), w.charter(), to, permissions.ModeAcceptEdits, "")
	default:
		var id string
		if id, err = leader.Write(ctx, conn, w.charter(), "mia", to, mailbox.Message{Text: fmt.Sprint("how far is it? ", n)}, time.Now()); err == nil && l.cross() {
			w.notes.acknowledged("mia", to, id)
		}
		return
	}
	if err == nil && l.cross() {
		w.notes.ordered(o)
	}
	if err != nil && !errors.Is(err, natsbox.ErrUnreachable) && ctx.Err() == nil {
		w.notes.odd(fmt.Sprintf("an order to %s: %v", to, err))
	}
}
