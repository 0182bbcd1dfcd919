package natsbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What the broker's refusals mean. The client library names few of these codes.
const (
	codeStoreFailed  = 10077 // a limit of the stream: mailbox full, slot taken
	codeTooLarge     = 10054
	codeAccountFull  = 10002
	codeStorageFull  = 10047
	codeMemoryFull   = 10028
	codeInsufficient = 10023
)

// attemptWait is how long one attempt may take: longer than a cluster needs to find a new leader.
const attemptWait = 8 * time.Second

// maxDuplicates is how often a message id may turn out to be used before we give up: ids are random, so that a second
// time is already an attack.
const maxDuplicates = 8

// headroom is what a message needs besides its data: subject, headers, framing.
const headroom = 4 << 10

// store publishes until the broker has stored it, or says no, or the time is over. A retry of the same attempt keeps its
// message id, so that it is stored once. "Duplicate" is never taken for success: somebody may have squatted on the id,
// so the same data goes out again under a fresh one, and readers drop what they have seen.
func (c *Conn) store(ctx context.Context, subject string, header nats.Header, data []byte) (Stored, error) {
	l, err := c.connected(ctx)
	if err != nil {
		return Stored{}, err
	}
	if err := fits(l.nc.MaxPayload(), subject, header, data); err != nil {
		return Stored{}, err
	}
	id, duplicates := c.cfg.newID(), 0
	for {
		ack, err := c.attempt(ctx, subject, header, data, id)
		switch {
		case err == nil && !ack.Duplicate:
			return Stored{Stream: ack.Stream, Seq: ack.Sequence}, nil
		case err == nil:
			id, duplicates = c.cfg.newID(), duplicates+1
			if duplicates > maxDuplicates {
				return Stored{}, fmt.Errorf("%w: fresh message ids are always taken: somebody guesses them", ErrUnreachable)
			}
			continue
		case final(err):
			return Stored{}, err
		}
		c.cfg.Logger.Debug("publishing again", "subject", subject, "error", err)
		if !pause(ctx, 50*time.Millisecond) {
			return Stored{}, c.unreachable(ctx)
		}
	}
}

// fits refuses what the broker would not take, before anything is sent.
func fits(most int64, subject string, header nats.Header, data []byte) error {
	size := int64(len(subject) + len(data) + headroom)
	for k, vs := range header {
		for _, v := range vs {
			size += int64(len(k) + len(v) + 4)
		}
	}
	if most > 0 && size > most {
		return fmt.Errorf("%w: %d bytes, and the broker takes %d: raise its max_payload", ErrTooLarge, size, most)
	}
	return nil
}

// attempt publishes once and waits for the broker's word, as long as the connection lasts.
func (c *Conn) attempt(ctx context.Context, subject string, header nats.Header, data []byte, id string) (*jetstream.PubAck, error) {
	return inFlight(ctx, c, subject, func(ctx context.Context, l link) (*jetstream.PubAck, error) {
		msg := &nats.Msg{Subject: subject, Header: cloneHeader(header), Data: data}
		ack, err := l.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		return ack, publishError(err)
	})
}

// inFlight runs one exchange over the present connection. It ends with the connection, with the broker's refusal of the
// subject ([ErrForbidden]), after attemptWait, and with ctx.
func inFlight[T any](ctx context.Context, c *Conn, subject string, do func(context.Context, link) (T, error)) (T, error) {
	var none T
	l, err := c.connected(ctx)
	if err != nil {
		return none, err
	}
	denied, unwatch := c.denial(subject)
	defer unwatch()
	try, cancel := until(ctx, l)
	defer cancel()
	try, stop := context.WithTimeout(try, attemptWait)
	defer stop()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		v, err := do(try, l)
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case err := <-denied:
		cancel()
		<-answers // nothing of ours is left behind
		return none, err
	}
}

func cloneHeader(h nats.Header) nats.Header {
	out := nats.Header{}
	for k, v := range h {
		out[k] = v
	}
	return out
}

// publishError gives the broker's refusals their meaning. What it leaves alone is tried again.
func publishError(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w: raise the broker's max_payload", ErrTooLarge, err)
	case !errors.As(err, &api):
		return err
	}
	switch api.ErrorCode {
	case codeStoreFailed:
		if strings.Contains(api.Description, "per subject") {
			return fmt.Errorf("%w: it takes %d pieces of one kind from one sender, and holds them: somebody else has to write", ErrMailboxFull, MaxPerSender)
		}
		return storeFull(api)
	case codeTooLarge:
		return fmt.Errorf("%w: %s: send less in one piece", ErrTooLarge, api.Description)
	case codeAccountFull, codeStorageFull, codeMemoryFull, codeInsufficient:
		return storeFull(api)
	}
	return &refusal{api}
}

func storeFull(api *jetstream.APIError) error {
	return fmt.Errorf("%w (%s): start swarm up with a larger --max-store, or free its disk", ErrStoreFull, api.Description)
}

// refusal is an answer of the broker that we have no word for.
type refusal struct{ api *jetstream.APIError }

func (r *refusal) Error() string {
	return fmt.Sprintf("natsbox: the broker refused it: %s (%d): see the broker's log", r.api.Description, r.api.ErrorCode)
}

func (r *refusal) Unwrap() error { return r.api }

// final reports whether another attempt could not change the answer.
func final(err error) bool {
	var r *refusal
	return errors.As(err, &r) || errors.Is(err, ErrMailboxFull) || errors.Is(err, ErrStoreFull) ||
		errors.Is(err, ErrTooLarge) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrRefused)
}
