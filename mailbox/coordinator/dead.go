package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Dead letters. The broker tells by an advisory that a consumer gives a message up. A stream of our own takes the
// advisories in, so that none is lost while we are away; from there each becomes a record of the register, and the
// message stays where it is.

// deadLetter is what is kept of one over restarts: the last word on its subject of the register.
type deadLetter struct {
	V int `json:"v"`
	natsbox.DeadLetter
	Copy string `json:"copy,omitempty"` // message id of the last retry
}

const (
	// maxDead is how many letters of one sender to one recipient may be listed that nobody has seen to. The rest is in the
	// store, and in the log.
	maxDead = 200
	// maxAdvisories is how many of one consumer wait to be read. A flood of junk drops its own.
	maxAdvisories = 1000
	// keepDead is how long a letter is remembered that was seen to.
	keepDead = 14 * 24 * time.Hour
	// deadShare is how much of the store advisories may fill until they are read, in percent.
	deadShare = 1
)

func deadStream(team string) string { return "DEAD_" + team }

// deadConfig is the stream of advisories. Nothing that a member may publish reaches it: only the broker speaks there.
func deadConfig(team string, base jetstream.StreamConfig, store int64) jetstream.StreamConfig {
	base.Subjects = nil
	for _, s := range deadStreams(team) {
		for _, what := range []string{"MAX_DELIVERIES", "MSG_TERMINATED"} {
			base.Subjects = append(base.Subjects, advisoryPrefix+what+"."+s+".*")
		}
	}
	base.MaxMsgsPerSubject, base.Discard = maxAdvisories, jetstream.DiscardOld
	base.MaxMsgSize, base.MaxBytes = 64<<10, store/100*deadShare
	return base
}

const advisoryPrefix = "$JS.EVENT.ADVISORY.CONSUMER."

// deadStreams are those whose consumers can give a message up.
func deadStreams(team string) []string {
	return []string{mailStream(team), orderStream(team), decisionStream(team)}
}

// deadLetters are those of a team, by id.
type deadLetters struct {
	mu  sync.Mutex
	all map[string]deadLetter
}

// deadID names a message in the mailbox of one member: another member may have handled it.
func deadID(member, stream string, seq uint64) string {
	return fmt.Sprintf("%s.%s%d", member, strings.ToLower(stream[:1]), seq)
}

func (r register) deadSubject(id string) string { return r.subject("dead." + id) }

// putDead replaces the record of a dead letter; it is on disk when it returns.
func (r register) putDead(ctx context.Context, d deadLetter) error {
	d.V = mailbox.Version
	data, err := json.Marshal(d)
	if err == nil {
		_, err = r.js.Publish(ctx, r.deadSubject(d.ID), data)
	}
	if err != nil {
		return fmt.Errorf("coordinator: register a dead letter: %w", err)
	}
	return nil
}

// loadDead reads what the register has of dead letters, and drops what was seen to long ago.
func (r register) loadDead(ctx context.Context) (map[string]deadLetter, error) {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(r.deadSubject(">")))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	all := map[string]deadLetter{}
	for subject := range info.State.Subjects {
		m, err := st.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("coordinator: read the register: %s: %w", subject, err)
		}
		var d deadLetter
		if err := json.Unmarshal(m.Data, &d); err != nil {
			return nil, fmt.Errorf("coordinator: the register is damaged: %s: %w: restore the store", subject, err)
		}
		if d.V != mailbox.Version {
			return nil, fmt.Errorf("coordinator: %w: the register has version %d, and this swarm reads %d: update the older one", mailbox.ErrVersion, d.V, mailbox.Version)
		}
		if d.State != natsbox.DeadOpen && time.Since(d.At) > keepDead {
			if err := st.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return nil, fmt.Errorf("coordinator: tidy the register: %w", err)
			}
			continue
		}
		all[d.ID] = d
	}
	return all, nil
}

// advisory is what the broker tells of a message that a consumer gives up.
type advisory struct {
	Type       string    `json:"type"`
	Time       time.Time `json:"timestamp"`
	Stream     string    `json:"stream"`
	Consumer   string    `json:"consumer"`
	Seq        uint64    `json:"stream_seq"`
	Deliveries int       `json:"deliveries"`
	Reason     string    `json:"reason"`
}

// consumerForm is the name of a member's consumer.
var consumerForm = regexp.MustCompile(`^([a-z0-9][a-z0-9_-]{0,62})-[0-9a-f]{32}$`)

// followDead takes advisories in until ctx ends. One is deleted when its letter is in the register.
func (r *running) followDead(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.readDead(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("dead letters are not followed, trying again", "error", err)
			sleep(ctx, time.Second)
		}
	}
}

func (r *running) readDead(ctx context.Context) error {
	st, err := r.js.Stream(ctx, deadStream(r.team))
	if err != nil {
		return err
	}
	cons, err := st.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return err
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(32))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, it.Stop)()
	defer it.Stop()
	for {
		m, err := it.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		md, err := m.Metadata()
		if err != nil {
			return err
		}
		var a advisory
		if err := json.Unmarshal(m.Data(), &a); err != nil {
			r.log.Warn("unusable advisory", "subject", m.Subject(), "error", err)
		} else if err := r.died(ctx, a); err != nil {
			return err // read again from the first
		}
		if err := st.DeleteMsg(ctx, md.Sequence.Stream); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
	}
}

// died keeps one letter that the broker has told of.
func (r *running) died(ctx context.Context, a advisory) error {
	name := consumerForm.FindStringSubmatch(a.Consumer)
	if name == nil || !slices.Contains(deadStreams(r.team), a.Stream) {
		return nil // of no member
	}
	d := natsbox.DeadLetter{
		Recipient: name[1], Stream: a.Stream, Seq: a.Seq, DiedAt: a.Time, Deliveries: a.Deliveries,
		Cause: natsbox.DeadMaxDeliveries, Reason: fmt.Sprintf("delivered %d times, and never acknowledged", maxDeliver),
	}
	if strings.HasSuffix(a.Type, ".terminated") {
		d.Cause, d.Reason = natsbox.DeadTerminated, a.Reason
	}
	return r.bury(ctx, d)
}

// bury puts a dead letter into the register, once.
func (r *running) bury(ctx context.Context, d natsbox.DeadLetter) error {
	m, err := r.storedAt(ctx, d.Stream, d.Seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // it was deleted: there is nothing to keep
	}
	if err != nil {
		return err
	}
	if _, seq, _, ok := mailbox.ParseRetry(m.Subject); ok { // it was dead before
		d.Seq = seq
		if m, err = r.storedAt(ctx, d.Stream, seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		} else if err != nil {
			return nil
		}
	}
	s, err := mailbox.ParseSubject(m.Subject)
	if who, ok := r.co.Charter().Member(d.Recipient); err != nil || !ok || !receives(who, s.To) {
		// A member may give up any number of a stream: what was never its own is not put to it by that.
		r.log.Debug("a member gives up what is not its mail", "member", d.Recipient, "stream", d.Stream, "seq", d.Seq)
		return nil //nolint:nilerr // nothing to keep
	}
	d.ID = deadID(d.Recipient, d.Stream, d.Seq)
	d.From, d.To, d.Kind, d.Bytes, d.StoredAt = s.From, s.To, s.Kind, len(m.Data), m.Time.UTC()
	d.State, d.EnvelopeID = natsbox.DeadOpen, s.Request
	if e, err := mailbox.Decode(m.Data); err == nil && s.Request == "" {
		d.EnvelopeID = e.ID
	}
	return r.keepDead(ctx, d)
}

func (r *running) storedAt(ctx context.Context, stream string, seq uint64) (*jetstream.RawStreamMsg, error) {
	st, err := r.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	return st.GetMsg(ctx, seq)
}

func (r *running) keepDead(ctx context.Context, d natsbox.DeadLetter) error {
	r.dead.mu.Lock()
	defer r.dead.mu.Unlock()
	old, known := r.dead.all[d.ID]
	if known && (old.State != natsbox.DeadRetried || d.DiedAt.Before(old.At)) {
		return nil // told before
	}
	d.Tries = old.Tries
	if r.dead.open(d.Recipient, d.From) >= maxDead {
		r.log.Warn("one more dead letter of a sender that has too many to list: it stays in the store", "letter", d.ID, "from", d.From)
		return nil
	}
	rec := deadLetter{DeadLetter: d}
	if err := r.register.putDead(ctx, rec); err != nil {
		return err
	}
	r.dead.all[d.ID] = rec
	r.log.Warn("dead letter: see swarm mail dead", "letter", d.ID, "from", d.From, "kind", string(d.Kind), "cause", string(d.Cause), "reason", d.Reason)
	r.ledger.note(audit.EventDead, d.Recipient, d.ID+" "+string(d.Cause))
	r.nudge(ctx, event{Kind: "dead", ID: d.ID, From: d.From})
	return nil
}

// open is how many letters of a sender to a recipient nobody has seen to. The caller holds the lock.
func (l *deadLetters) open(recipient, from string) (n int) {
	for _, d := range l.all {
		if d.State == natsbox.DeadOpen && d.Recipient == recipient && d.From == from {
			n++
		}
	}
	return n
}

// count is how many letters nobody has seen to.
func (l *deadLetters) count() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.all {
		if d.State == natsbox.DeadOpen {
			n++
		}
	}
	return n
}
