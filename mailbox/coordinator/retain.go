package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Mail that everybody has handled is deleted: after two weeks, or sooner where a subject holds half of what it takes, the
// oldest first, so that the other half stays free. What waits is never deleted, however old it is, nor the newest message
// of the stream, by whose number a loss of the store is told.

const (
	keepMail    = natsbox.KeepMail
	retainEvery = 5 * time.Minute
	// settleAge is how young nothing is deleted, whatever its subject holds: its sender may be storing it once more.
	settleAge = 10 * time.Minute
	// fullBox is how many messages of one subject may stay that everybody has handled.
	fullBox = natsbox.MaxPerSender / 2
)

// reader is how far a member has acknowledged its mail, and whether the broker has a consumer of it.
type reader struct {
	floor uint64
	here  bool
}

// retain deletes handled mail until ctx ends. What was acknowledged counts a round later: until then the broker has told of
// what was given up instead.
func (r *running) retain(ctx context.Context) {
	t := time.NewTicker(retainEvery) // by the monotonic clock
	defer t.Stop()
	before := map[string]map[string]reader{}
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		for _, stream := range []string{mailStream(r.team), orderStream(r.team)} {
			now, err := r.readers(ctx, stream)
			if was := before[stream]; err == nil && was != nil {
				err = r.retainOnce(ctx, stream, settled(was, now))
			}
			if before[stream] = now; err != nil && ctx.Err() == nil {
				delete(before, stream)
				r.log.Warn("what was handled was not deleted, trying again later", "stream", stream, "error", err)
			}
		}
	}
}

// settled is what was so a round ago and is so now.
func settled(before, now map[string]reader) map[string]reader {
	out := map[string]reader{}
	for name, is := range now {
		out[name] = reader{min(before[name].floor, is.floor), is.here || before[name].here}
	}
	return out
}

// readers looks at how far the members have read a stream.
func (r *running) readers(ctx context.Context, stream string) (map[string]reader, error) {
	r.joining.Lock()
	defer r.joining.Unlock()
	out := map[string]reader{}
	for name, rec := range r.records {
		who, ok := r.co.Charter().Member(name)
		if !ok || who.Retired || who.Role == charter.RoleObserver {
			continue
		}
		durable := r.co.auth.Durable(name, rec.Instance)
		c, err := r.js.Consumer(ctx, stream, durable)
		switch {
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			out[name] = reader{floor: rec.Floors[stream]}
		case err != nil:
			return nil, fmt.Errorf("look at the consumer of %s: %w", name, err)
		default:
			out[name] = reader{max(rec.Floors[stream], c.CachedInfo().AckFloor.Stream), true}
		}
	}
	return out, nil
}

// stock is a stream, and what is known of who needs what it holds.
type stock struct {
	x        *index
	stream   string
	now      time.Time
	keep     time.Duration
	full     int // how many of one subject may stay that are handled and young
	readers  map[string]reader
	recorded uint64          // up to where the ledger has it
	newest   uint64          // number of the newest message
	dead     map[uint64]bool // numbers that dead letters are about
	crowded  map[pair]bool   // of whom more letters are dead than are listed
}

// deletable is what nobody needs of a stock: in this order, so that it may break off anywhere.
type deletable struct {
	seqs  []uint64
	spent map[string]uint64 // by teammate: the last decision whose receipt goes
}

func (s *stock) deletable() deletable {
	if s.stream == orderStream(s.x.team) {
		u := oldOrders{*s}
		return deletable{seqs: u.useless()}
	}
	u := uses{stock: *s}
	return deletable{u.useless(), u.spent}
}

// retainOnce deletes what nobody needs.
func (r *running) retainOnce(ctx context.Context, stream string, readers map[string]reader) error {
	s := &stock{
		stream: stream, now: r.co.cfg.Now(), keep: r.co.cfg.KeepMail, full: fullBox, readers: readers, recorded: r.ledger.recorded(stream),
		dead: map[uint64]bool{}, crowded: map[pair]bool{},
	}
	var err error
	if s.newest, err = newest(ctx, r.js, stream); err != nil {
		return err
	}
	if quiet, err := r.deadOf(ctx, s); err != nil || !quiet {
		return err
	}
	seqs, err := r.planned(ctx, s)
	if err != nil || len(seqs) == 0 {
		return err
	}
	n, failed := r.delete(ctx, stream, seqs)
	err = r.owner.ask(ctx, func(x *index) {
		if stream == orderStream(r.team) {
			x.forgetOrders(seqs[:n])
		} else {
			x.forget(seqs[:n])
		}
	})
	if err != nil {
		return err
	}
	r.log.Info("what was handled is deleted", "stream", stream, "messages", n)
	return failed
}

// deadOf notes what dead letters are about. It reports false while the broker's word of some waits to be read.
func (r *running) deadOf(ctx context.Context, s *stock) (quiet bool, err error) {
	told, err := r.js.Stream(ctx, deadStream(r.team))
	if err != nil {
		return false, err
	}
	if s.stream == mailStream(r.team) {
		if err := r.retriedOf(ctx, s); err != nil {
			return false, err
		}
	}
	r.dead.mu.Lock()
	defer r.dead.mu.Unlock()
	open := map[pair]int{}
	for _, d := range r.dead.all {
		if d.Stream != s.stream {
			continue
		}
		s.dead[d.Seq] = true
		if p := (pair{d.From, d.Recipient}); d.State == natsbox.DeadOpen {
			open[p]++
			s.crowded[p] = open[p] >= maxDead // there are more than are listed
		}
	}
	return told.CachedInfo().State.Msgs == 0, nil
}

// retriedOf notes which mail was put to a member again.
func (r *running) retriedOf(ctx context.Context, s *stock) error {
	st, err := r.js.Stream(ctx, s.stream)
	if err != nil {
		return err
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter("swarm."+r.team+".mb.*.retry.*.*.*.*"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if _, seq, _, ok := mailbox.ParseRetry(subject); ok {
			s.dead[seq] = true
		}
	}
	return nil
}

// planned says what to delete, in this order, after it has kept what the known modes of teammates rest on.
func (r *running) planned(ctx context.Context, s *stock) ([]uint64, error) {
	r.joining.Lock()
	defer r.joining.Unlock()
	var w deletable
	var recs []record
	err := r.owner.ask(ctx, func(x *index) {
		s.x = x
		if w = s.deletable(); len(w.seqs) > 0 {
			recs = r.modesKept(x, w.spent)
		}
	})
	if err == nil {
		err = r.keepModes(ctx, recs)
	}
	if err != nil {
		return nil, err
	}
	return w.seqs, nil
}

// modesKept are the records of members with their known modes of now, which so rest on nothing that is stored before. Spent
// are the last decisions whose receipts go. The caller holds joining.
func (r *running) modesKept(x *index, spent map[string]uint64) (recs []record) {
	for name, rec := range r.records {
		m := x.members[name]
		if m == nil || m.known == "" {
			continue
		}
		m.spent = max(m.spent, spent[name])
		rec.Known, rec.KnownSeq, rec.Spent = m.known, max(rec.KnownSeq, x.mailSeq), m.spent
		recs = append(recs, rec)
	}
	return recs
}

// keepModes has records on disk. The caller holds joining.
func (r *running) keepModes(ctx context.Context, recs []record) error {
	for _, rec := range recs {
		if err := r.register.put(ctx, rec); err != nil {
			return err
		}
		r.records[rec.Name] = rec
	}
	return nil
}

// delete deletes messages of a stream one by one, and returns how many are gone.
func (r *running) delete(ctx context.Context, stream string, seqs []uint64) (int, error) {
	st, err := r.js.Stream(ctx, stream)
	if err != nil {
		return 0, err
	}
	for n, seq := range seqs {
		err := st.DeleteMsg(ctx, seq)
		if err == nil {
			continue
		}
		if _, there := st.GetMsg(ctx, seq); !errors.Is(there, jetstream.ErrMsgNotFound) {
			return n, fmt.Errorf("delete message %d: %w", seq, err)
		}
	}
	return len(seqs), nil
}
