package natsbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// Mail is one received piece of mail. Subject is who sent it, as the broker let it be published.
type Mail struct {
	Envelope   mailbox.Envelope
	Subject    mailbox.Subject
	Seq        uint64 // in the stream of all mail
	Stored     time.Time
	Deliveries int // 1 for the first
}

// StoredInfo says where a received order lies.
type StoredInfo struct {
	Stream     string
	Seq        uint64
	Stored     time.Time
	Deliveries int // 1 for the first
}

// ReceiveMail calls handle for each piece of mail of this member, one after the other, in the order of the mailbox, and
// returns only when ctx has ended or the Conn is closed. Mail that came while nobody received is there. What was on its way
// as a connection broke comes a second later, after what was sent meanwhile.
//
// A nil error acknowledges. [ErrTerminate] gives the mail up. Any other error has it delivered again, after 1, 5, 30 and
// then every 30 seconds, at most 8 times in all; then it stays in the store, unread. A handler may take as long as it
// likes. Mail that was handled in this process is not handed over again. Receive once at a time.
func (c *Conn) ReceiveMail(ctx context.Context, handle func(context.Context, Mail) error) error {
	if _, err := c.joined(); err != nil {
		return err
	}
	r := &reader{conn: c, stream: c.mailStream(), durable: func(w Consumers) string { return w.Mail }, open: c.openMail(handle)}
	return r.run(ctx)
}

// ReceiveOrders does the same for everything that was decided on this teammate's requests, and for orders that answer
// nothing, the latter strictly in the order in which they were stored. Handlers run one after the other. Nothing is
// verified: charter.OpenOrder does that, before anything is read.
func (c *Conn) ReceiveOrders(ctx context.Context, handle func(context.Context, charter.Order, StoredInfo) error) error {
	w, err := c.joined()
	if err != nil {
		return err
	}
	if w.Consumers.Decisions == "" {
		return fmt.Errorf("%w: only teammates receive orders", ErrForbidden)
	}
	open := c.openOrder(handle)
	readers := []*reader{
		{conn: c, stream: c.decisionStream(), durable: func(w Consumers) string { return w.Decisions }, open: open},
		{conn: c, stream: c.orderStream(), durable: func(w Consumers) string { return w.Orders }, open: open},
	}
	var wg sync.WaitGroup
	errs := make([]error, len(readers))
	for i, r := range readers {
		wg.Go(func() { errs[i] = r.run(ctx) })
	}
	wg.Wait()
	return errs[0] // both end for the same reason
}

func (c *Conn) joined() (Welcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.welcome == nil {
		return Welcome{}, fmt.Errorf("%w: join first", ErrNotJoined)
	}
	return *c.welcome, nil
}

// delivery is what is done with one message: key says which it is, do handles it.
type delivery struct {
	key   string
	do    func(context.Context) error
	again bool // a leader has it put to us once more
}

// givenUp is the key of a message that its handler has given up. It is handled again only when a leader says so.
func (d delivery) givenUp() string { return "given up/" + d.key }

// asStored is the subject that a message was stored under first, and whether it was put to us again.
func (c *Conn) asStored(subject string) (string, bool) {
	if member, _, of, ok := mailbox.ParseRetry(subject); ok && member == c.cfg.Me {
		return of.String(), true
	}
	return subject, false
}

// maxReason bounds what the operator is told of a message that was given up, in bytes.
const maxReason = 256

// reason is an error in one line for the operator.
func reason(err error) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "")
	}
	return s
}

// openMail checks an envelope against the subject that the broker let it be published on.
func (c *Conn) openMail(handle func(context.Context, Mail) error) func(jetstream.Msg, *jetstream.MsgMetadata) (delivery, error) {
	return func(m jetstream.Msg, md *jetstream.MsgMetadata) (delivery, error) {
		subject, again := c.asStored(m.Subject())
		s, err := mailbox.ParseSubject(subject)
		if err != nil {
			return delivery{}, err
		}
		e, err := mailbox.Decode(m.Data())
		if err != nil {
			return delivery{}, err
		}
		if err := matches(e, s); err != nil {
			return delivery{}, err
		}
		if s.To == mailbox.All && c.before(md.Sequence.Stream) {
			return delivery{key: "mb/" + s.From + "/" + e.ID, again: again, do: func(context.Context) error { return nil }}, nil
		}
		mail := Mail{Envelope: e, Subject: s, Seq: md.Sequence.Stream, Stored: md.Timestamp, Deliveries: int(md.NumDelivered)} //nolint:gosec // few
		return delivery{
			key: "mb/" + s.From + "/" + e.ID, again: again,
			do: func(ctx context.Context) error { return handle(ctx, mail) },
		}, nil
	}
}

// before reports whether mail to all was stored before this member was one of them.
func (c *Conn) before(seq uint64) bool {
	w, err := c.joined()
	return err == nil && seq <= w.AllSince
}

func matches(e mailbox.Envelope, s mailbox.Subject) error {
	for _, x := range []struct{ field, says, is string }{
		{"team", e.Team, s.Team}, {"from", e.From, s.From}, {"to", e.To, s.To}, {"kind", string(e.Kind), string(s.Kind)},
	} {
		if x.says != x.is {
			return fmt.Errorf("natsbox: the envelope's %s is %q, and its subject's %q", x.field, x.says, x.is)
		}
	}
	return nil
}

func (c *Conn) openOrder(handle func(context.Context, charter.Order, StoredInfo) error) func(jetstream.Msg, *jetstream.MsgMetadata) (delivery, error) {
	one := make(chan struct{}, 1) // decisions and orders arrive on two readers; who waits may stop waiting
	return func(m jetstream.Msg, md *jetstream.MsgMetadata) (delivery, error) {
		subject, again := c.asStored(m.Subject())
		o := charter.Order{Subject: subject, Payload: m.Data(), Sigs: m.Headers().Values(charter.SigHeader)}
		s, err := mailbox.ParseSubject(o.Subject)
		if err == nil && (s.Team != c.cfg.Team || s.To != c.cfg.Me) {
			err = fmt.Errorf("natsbox: an order for %s of %s", s.To, s.Team)
		}
		info := StoredInfo{Stream: md.Stream, Seq: md.Sequence.Stream, Stored: md.Timestamp, Deliveries: int(md.NumDelivered)} //nolint:gosec // few
		return delivery{
			key: fmt.Sprintf("%s/%d", md.Stream, md.Sequence.Stream), again: again,
			do: func(ctx context.Context) error {
				select {
				case one <- struct{}{}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				defer func() { <-one }()
				return handle(ctx, o, info)
			},
		}, err
	}
}

// reader pulls from one consumer, one message a request: with larger requests an empty message would end the answer's
// way back, since members have accounts of their own (measured: it was 8 to 16 s late).
type reader struct {
	conn    *Conn
	stream  string
	durable func(Consumers) string // of the last welcome
	open    func(jetstream.Msg, *jetstream.MsgMetadata) (delivery, error)
}

// heartbeat is how often an idle broker says that it is still there.
const heartbeat = time.Second

// run reads until ctx ends or the Conn is closed. No error of the broker ends it.
func (r *reader) run(ctx context.Context) error {
	failures := 0
	for {
		l, err := r.conn.connected(ctx)
		if err != nil {
			return err
		}
		if r.overLink(ctx, l) {
			failures = 0
		} else {
			failures++
		}
		if !pause(ctx, delay(failures)) {
			return context.Cause(ctx)
		}
	}
}

// overLink reads as long as one connection lasts, and reports whether the consumer was there.
func (r *reader) overLink(ctx context.Context, l link) bool {
	pull, cancel := until(ctx, l)
	defer cancel()
	look, stop := context.WithTimeout(pull, attemptWait)
	defer stop()
	w, err := r.conn.joined()
	if err != nil {
		return false
	}
	cons, err := l.js.Consumer(look, r.stream, r.durable(w.Consumers))
	if err != nil {
		if pull.Err() == nil {
			r.conn.cfg.Logger.Warn("mailbox not found, asking for it", "stream", r.stream, "member", r.conn.cfg.Me, "error", err)
			r.conn.checkStanding(pull)
		}
		return false
	}
	for pull.Err() == nil {
		m, err := cons.Next(jetstream.FetchContext(pull), jetstream.FetchHeartbeat(heartbeat))
		if err == nil {
			r.handle(ctx, m)
			continue
		}
		if gone(err) {
			r.conn.checkStanding(pull)
			return false
		}
		// A missed heartbeat is no reason to leave: the next request finds out. Everything else waits, so that an error
		// that comes at once does not make us spin.
		pause(pull, 20*time.Millisecond)
	}
	return true
}

func gone(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrConsumerDoesNotExist)
}

// handle hands one message over and tells the broker what came of it.
func (r *reader) handle(ctx context.Context, m jetstream.Msg) {
	c, log := r.conn, r.conn.cfg.Logger
	md, err := m.Metadata()
	if err != nil {
		log.Error("message without metadata", "subject", m.Subject(), "error", err)
		return
	}
	if ctx.Err() != nil { // it came as we were stopping
		_ = m.Nak()
		return
	}
	d, err := r.open(m, md)
	if err != nil {
		c.count.mismatched.Add(1)
		log.Warn("unusable message dropped", "subject", m.Subject(), "seq", md.Sequence.Stream, "error", err)
		_ = m.TermWithReason(reason(err))
		return
	}
	if c.seen.has(d.key) || !d.again && c.seen.has(d.givenUp()) {
		c.count.repeated.Add(1)
		_ = m.Ack()
		return
	}
	// However long the handler takes, the mail does not come again meanwhile: nobody else pulls from this consumer.
	err = d.do(ctx)
	// Acknowledgements are not waited for: a lost one brings the message again, and it is known then.
	switch {
	case err == nil:
		c.seen.add(d.key)
		_ = m.Ack()
	case errors.Is(err, ErrTerminate):
		c.count.failed.Add(1)
		c.seen.add(d.givenUp())
		log.Warn("message given up", "subject", m.Subject(), "seq", md.Sequence.Stream, "error", err)
		_ = m.TermWithReason(reason(err))
	default:
		c.count.failed.Add(1)
		log.Warn("message not handled", "subject", m.Subject(), "seq", md.Sequence.Stream, "delivery", md.NumDelivered, "error", err)
		// Left unacknowledged, the consumer's BackOff brings it again.
	}
}

// BackOff is after which times a message that was not acknowledged is delivered again; the last one repeats.
func BackOff() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
}
