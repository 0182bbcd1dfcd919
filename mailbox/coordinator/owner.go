package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/plans"
)

// owner is the one goroutine that holds the index: it takes the feeds in, and answers questions in between.
type owner struct {
	x    *index
	js   jetstream.JetStream
	nc   *nats.Conn
	log  *slog.Logger
	asks chan func(*index)
	done chan struct{} // closed when nobody takes asks any more

	mail, dec, ord, stat *feed
	ledger               *ledger
	quiet                bool          // rebuilding: nobody is told
	counted              func(message) // hears of each piece of mail that comes
	unusable             []unusable    // that were found while rebuilding
}

// catchUpWait is how long a stream that is being caught up with may be silent before it is asked what it has, and
// catchUpTimes how often: on a machine that is busy the next message may take a while.
const (
	catchUpWait  = time.Second
	catchUpTimes = 4
)

// rebuild reads the streams as they are now. Decisions and orders come first, so that a receipt finds what it is about.
func (o *owner) rebuild(ctx context.Context) error {
	o.quiet = true
	for _, f := range []*feed{o.dec, o.ord, o.mail} {
		to, err := newest(ctx, o.js, f.stream)
		if err == nil {
			err = o.readTo(ctx, f, to, rebuildWait)
		}
		if err != nil {
			return err
		}
	}
	o.quiet = false
	return nil
}

// rebuildWait is the same at the start.
const rebuildWait = 10 * time.Second

// readTo reads a feed up to a message. It gives up when nothing comes for so long.
func (o *owner) readTo(ctx context.Context, f *feed, to uint64, silence time.Duration) error {
	t := time.NewTimer(silence)
	defer t.Stop()
	for f.seq < to {
		select {
		case m := <-f.out:
			o.take(ctx, f, m)
			t.Reset(silence) // the work is no silence
		case <-t.C:
			if there, err := newest(ctx, o.js, f.stream); err == nil && there <= f.seq {
				return nil // what came last has been deleted meanwhile
			}
			return fmt.Errorf("coordinator: read %s: nothing for %s, at message %d of %d: see the broker's log", f.stream, silence, f.seq, to)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// run takes in what comes, until ctx ends.
func (o *owner) run(ctx context.Context) {
	defer close(o.done)
	for {
		select {
		case m := <-o.mail.out:
			o.take(ctx, o.mail, m)
		case m := <-o.dec.out:
			o.take(ctx, o.dec, m)
		case m := <-o.ord.out:
			o.take(ctx, o.ord, m)
		case m := <-o.stat.out:
			o.take(ctx, o.stat, m)
		case f := <-o.asks:
			f(o.x)
		case <-ctx.Done():
			return
		}
	}
}

// letterID is a letter's id, for the ledger: it tells of the letter when that was deleted. The ids of requests stay out of it.
func letterID(m message) string {
	if !letters(m.subject.Kind) || m.subject.Kind == mailbox.KindQuestion {
		return ""
	}
	e, err := mailbox.Decode(m.data)
	if err != nil {
		return ""
	}
	return plans.Cut(e.ID, maxTitle)
}

// take puts one message into the index and tells consoles.
func (o *owner) take(ctx context.Context, f *feed, m message) {
	f.seq = max(f.seq, m.seq)
	var ev event
	var err error
	switch {
	case m.name == "":
		return
	case f == o.mail:
		defer o.ledger.stored(f.stream, audit.EventMail, m, letterID(m)) // after what it speaks of
		if o.early(m) {
			for _, f := range []*feed{o.dec, o.ord} {
				if err := o.catchUp(ctx, f); err != nil {
					o.log.Debug("catching up", "stream", f.stream, "error", err)
				}
			}
		}
		ev, err = o.x.mail(m)
		if !o.quiet && o.counted != nil {
			o.counted(m)
		}
		if why := whyUnusable(m.subject, err); why != "" && o.quiet && len(o.unusable) < maxUnusable {
			o.unusable = append(o.unusable, unusable{m.subject, m.seq, why})
		}
	case f == o.dec:
		var what string
		ev, what = o.x.decision(m)
		o.ledger.stored(f.stream, audit.EventDecision, m, what)
	case f == o.ord:
		o.ledger.stored(f.stream, audit.EventOrder, m, "")
		ev = o.x.order(m)
	case f == o.stat:
		ev = o.x.status(m)
	}
	if err != nil {
		if !errors.Is(err, errKnown) {
			o.x.ignored[err.Error()]++
			o.log.Warn("mail ignored", "subject", m.name, "seq", m.seq, "error", err)
		}
		return
	}
	o.tell(ev)
}

// early reports whether mail speaks of something that another stream may have stored before it and that is not here
// yet: an applied order or decision, or a sixth permission request after an answer to the first.
func (o *owner) early(m message) bool {
	switch m.subject.Kind {
	case mailbox.KindPermissionRequest:
		return o.x.asks(m.subject.From) > 0
	case mailbox.KindReceipt:
		e, err := mailbox.Decode(m.data)
		if err != nil {
			return false
		}
		r, err := mailbox.Body[mailbox.Receipt](e)
		return err == nil && r.State == mailbox.Applied && !o.x.knows(m.subject.From, r.Of)
	}
	return false
}

// catchUp reads a feed up to what its stream holds now.
func (o *owner) catchUp(ctx context.Context, f *feed) error {
	to, err := last(ctx, o.js, f.stream)
	if err != nil {
		return err
	}
	return o.catchUpTo(ctx, f, to)
}

// catchUpTo reads a feed up to a message.
func (o *owner) catchUpTo(ctx context.Context, f *feed, to uint64) (err error) {
	for range catchUpTimes {
		if err = o.readTo(ctx, f, to, catchUpWait); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// tell publishes a hint. It is lost when nobody listens.
func (o *owner) tell(ev event) {
	if o.quiet || ev.Kind == "" {
		return
	}
	data, err := json.Marshal(ev)
	if err == nil {
		err = o.nc.Publish(mailbox.EventSubject(o.x.team, ev.Kind), data)
	}
	if err != nil {
		o.log.Debug("event lost", "kind", ev.Kind, "error", err)
	}
}

var errStopped = errors.New("coordinator: stopped")

// ask runs f in the owner's goroutine and waits for it.
func (o *owner) ask(ctx context.Context, f func(*index)) error {
	done := make(chan struct{})
	g := func(x *index) { defer close(done); f(x) }
	select {
	case o.asks <- g:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-o.done:
		return errStopped
	}
	<-done // it is being run
	return nil
}
