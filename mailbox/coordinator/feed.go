package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// feed hands over one stream, message by message, in order and without acknowledging: first what lies there, then what
// comes.
type feed struct {
	stream string
	policy jetstream.DeliverPolicy
	out    chan message
	seq    uint64 // of the last message that was taken out
}

func newFeed(stream string, policy jetstream.DeliverPolicy) *feed {
	return &feed{stream: stream, policy: policy, out: make(chan message)}
}

// start follows the stream until ctx ends, in a goroutine of wg.
func (f *feed) start(ctx context.Context, wg *sync.WaitGroup, js jetstream.JetStream, log *slog.Logger) error {
	cons, err := js.OrderedConsumer(ctx, f.stream, jetstream.OrderedConsumerConfig{DeliverPolicy: f.policy})
	if err != nil {
		return fmt.Errorf("coordinator: follow %s: %w", f.stream, err)
	}
	it, err := cons.Messages(jetstream.PullMaxMessagesWithBytesLimit(32, 16<<20))
	if err != nil {
		return fmt.Errorf("coordinator: follow %s: %w", f.stream, err)
	}
	stop := context.AfterFunc(ctx, it.Stop)
	wg.Go(func() {
		defer stop()
		defer it.Stop()
		f.follow(ctx, it, log)
	})
	return nil
}

func (f *feed) follow(ctx context.Context, it jetstream.MessagesContext, log *slog.Logger) {
	for ctx.Err() == nil {
		raw, err := it.Next()
		if err != nil {
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				return
			}
			log.Debug("following a stream", "stream", f.stream, "error", err)
			sleep(ctx, 100*time.Millisecond)
			continue
		}
		m, err := open(raw)
		if err != nil {
			log.Warn("unusable message", "stream", f.stream, "subject", raw.Subject(), "error", err)
			m = message{seq: m.seq} // it still counts as read
		}
		select {
		case f.out <- m:
		case <-ctx.Done():
			return
		}
	}
}

func open(raw jetstream.Msg) (message, error) {
	md, err := raw.Metadata()
	if err != nil {
		return message{}, err
	}
	m := message{
		name: raw.Subject(), seq: md.Sequence.Stream, stored: md.Timestamp, data: raw.Data(),
		sigs: raw.Headers().Values(charter.SigHeader),
	}
	if _, _, _, ok := mailbox.ParseRetry(m.name); ok {
		return message{seq: m.seq}, nil // it is known from when it was stored first
	}
	m.subject, err = mailbox.ParseSubject(raw.Subject())
	return m, err
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// newest is the sequence of the newest message that is still there, 0 when there is none.
func newest(ctx context.Context, js jetstream.JetStream, stream string) (uint64, error) {
	st, err := js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("coordinator: look at %s: %w", stream, err)
	}
	m, err := st.GetLastMsgForSubject(ctx, st.CachedInfo().Config.Subjects[0])
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("coordinator: look at %s: %w", stream, err)
	}
	return m.Sequence, nil
}

// last is the sequence of the last message that was stored in a stream, also when it has been deleted; 0 when the
// stream is empty.
func last(ctx context.Context, js jetstream.JetStream, stream string) (uint64, error) {
	st, err := js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("coordinator: look at %s: %w", stream, err)
	}
	s := st.CachedInfo().State
	if s.Msgs == 0 {
		return 0, nil
	}
	return s.LastSeq, nil
}
