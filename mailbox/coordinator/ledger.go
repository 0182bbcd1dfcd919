package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// ledger is the one writer of the team's audit chain. What is to be recorded waits in a queue, so that nobody waits for the
// disk; what a crash loses of the queue lies in the streams, and is recorded at the next start.
type ledger struct {
	js  jetstream.JetStream
	log *slog.Logger
	key nkeys.KeyPair
	ch  charter.Charter
	cfg string // the stream

	mu     sync.Mutex
	queue  []unrecorded
	queued map[string]uint64 // up to where each stream has been queued
	stands map[string]uint64 // up to where each stream is in the chain, on disk
	head   audit.Head        // of what is stored
	last   uint64            // number of the last message of the stream
	lost   uint64            // the last entry that says that something was lost
	more   chan struct{}     // holds one when something was queued
	stuck  bool              // the store took nothing the last time
}

// unrecorded is an entry that waits for the disk.
type unrecorded struct {
	audit.Entry
	stored chan struct{} // closed when it is there; nil: nobody waits
}

func auditStream(team string) string { return "AUDIT_" + team }

func auditSubject(team string, e audit.Event) string { return "swarm." + team + ".audit." + string(e) }

// openLedger reads where the chain ended. Nil when the coordinator has no key for it.
func openLedger(ctx context.Context, js jetstream.JetStream, cfg Config, ch charter.Charter) (*ledger, error) {
	if cfg.Ledger == nil {
		return nil, nil
	}
	l := &ledger{
		js: js, log: cfg.Logger, key: cfg.Ledger, ch: ch, cfg: auditStream(cfg.Team),
		queued: map[string]uint64{}, more: make(chan struct{}, 1),
	}
	st, err := js.Stream(ctx, l.cfg)
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the audit ledger: %w", err)
	}
	m, err := st.GetLastMsgForSubject(ctx, auditSubject(cfg.Team, ">"))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return l, l.compare(ctx)
	case err != nil:
		return nil, fmt.Errorf("coordinator: read the audit ledger: %w", err)
	}
	line := audit.Line{Entry: m.Data, Sig: m.Header.Get(charter.SigHeader)}
	e, _, err := audit.Open(line)
	if err == nil && e.TeamID != ch.TeamID {
		err = fmt.Errorf("it is of another team")
	}
	if err != nil {
		return nil, fmt.Errorf("coordinator: the last entry of the audit ledger (%d) was changed: %w: restore the store, or use another state folder", m.Sequence, err)
	}
	l.head, l.last, l.lost = audit.Head{Seq: e.Seq, Hash: line.Hash()}, m.Sequence, e.Lost
	maps.Copy(l.queued, e.Recorded)
	l.stands = e.Recorded
	return l, l.compare(ctx)
}

// compare records that a stream holds less than was recorded of it: its files were deleted, or are an older copy.
func (l *ledger) compare(ctx context.Context) error {
	for _, stream := range slices.Sorted(maps.Keys(l.queued)) {
		st, err := l.js.Stream(ctx, stream)
		if err != nil {
			return fmt.Errorf("coordinator: look at %s: %w", stream, err)
		}
		has := st.CachedInfo().State.LastSeq
		if has >= l.queued[stream] {
			continue
		}
		note := fmt.Sprintf("%s ends at number %d, and was recorded up to %d: its files were deleted, or are an older copy", stream, has, l.queued[stream])
		l.log.Error("the store has lost what was stored", "stream", stream, "has", has, "recorded", l.queued[stream])
		l.queued[stream] = has
		l.add(audit.Entry{Event: audit.EventLost, Note: note, At: time.Now()}, nil)
	}
	return l.drain(ctx) // members are told as they join
}

// stored records one message of a stream, once, with what it says in a word or two.
func (l *ledger) stored(stream string, event audit.Event, m message, note string) {
	if l == nil {
		return
	}
	digest := audit.Digest(m.data)
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.seq <= l.queued[stream] {
		return
	}
	l.queued[stream] = m.seq
	l.add(audit.Entry{Event: event, At: m.stored, Note: note, Source: &audit.Source{Stream: stream, Seq: m.seq, Subject: m.name, Digest: digest}}, nil)
}

// note records something that lies in no stream.
func (l *ledger) note(event audit.Event, name, text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(audit.Entry{Event: event, Name: name, Note: text, At: time.Now()}, nil)
}

// noted records something that lies in no stream, and returns when it is on disk: nobody could record it again.
func (l *ledger) noted(ctx context.Context, event audit.Event, name, text string) error {
	if l == nil {
		return nil
	}
	stored := make(chan struct{})
	l.mu.Lock()
	l.add(audit.Entry{Event: event, Name: name, Note: text, At: time.Now()}, stored)
	l.mu.Unlock()
	select {
	case <-stored:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("coordinator: write the audit ledger: %w", context.Cause(ctx))
	}
}

// add puts an entry into the queue; stored is closed when it is on disk, where it is not nil. The caller holds the lock.
func (l *ledger) add(e audit.Entry, stored chan struct{}) {
	e.TeamID, e.Recorded = l.ch.TeamID, maps.Clone(l.queued)
	l.queue = append(l.queue, unrecorded{Entry: e, stored: stored})
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// settleWait bounds how long a reader waits for what is queued.
const settleWait = 3 * time.Second

// settle waits, for a while, until what is queued now is on disk: what a leader has been answered, or has seen told, is then in
// the ledger. A store that takes nothing is not waited for.
func (l *ledger) settle(ctx context.Context) {
	if l == nil {
		return
	}
	l.mu.Lock()
	if len(l.queue) == 0 || l.stuck {
		l.mu.Unlock()
		return
	}
	last := &l.queue[len(l.queue)-1]
	if last.stored == nil {
		last.stored = make(chan struct{})
	}
	stored := last.stored
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	select {
	case <-stored:
	case <-ctx.Done(): // a store that takes nothing: what is on disk is told
	}
}

// run stores what is queued, until ctx ends.
func (l *ledger) run(ctx context.Context) {
	for {
		select {
		case <-l.more:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			err := l.drain(ctx)
			l.mu.Lock()
			l.stuck = err != nil
			l.mu.Unlock()
			if err == nil {
				break
			}
			l.log.Error("audit entry not stored, trying again", "error", err)
			sleep(ctx, time.Second)
		}
	}
}

// drain stores what is queued.
func (l *ledger) drain(ctx context.Context) error {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return nil
		}
		e := l.queue[0]
		l.mu.Unlock()
		if err := l.append(ctx, e.Entry); err != nil {
			return fmt.Errorf("coordinator: write the audit ledger: %w", err)
		}
		l.mu.Lock()
		stored := l.queue[0].stored // somebody may wait for it by now
		l.queue = l.queue[1:]
		l.mu.Unlock()
		if stored != nil {
			close(stored)
		}
	}
}

// append stores one entry at the end of the chain. The broker refuses it when the stream's end is not where we left it.
func (l *ledger) append(ctx context.Context, e audit.Entry) error {
	e.Lost = l.lost
	if e.Event == audit.EventLost {
		e.Lost = l.head.Seq + 1
	}
	line, head, err := audit.Sign(l.key, l.head, e)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: auditSubject(l.ch.Team, e.Event), Header: nats.Header{charter.SigHeader: {line.Sig}}, Data: line.Entry}
	ack, err := l.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequence(l.last), jetstream.WithMsgID(head.Hash))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.last, l.lost, l.stands = head, ack.Sequence, e.Lost, e.Recorded
	return nil
}

// recorded is up to where a stream is in the chain, on disk. What is beyond it must stay, or it would never be recorded.
func (l *ledger) recorded(stream string) uint64 {
	if l == nil {
		return math.MaxUint64
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stands[stream]
}

// end is where the chain ends, and what its entry of a number is now.
func (l *ledger) end(ctx context.Context, seen uint64) (natsbox.LedgerEnd, error) {
	if l == nil {
		return natsbox.LedgerEnd{}, nil
	}
	l.mu.Lock()
	e := natsbox.LedgerEnd{Head: l.head, LostAt: l.lost}
	l.mu.Unlock()
	if seen == 0 || seen > e.Head.Seq {
		return e, nil
	}
	e.Seen.Seq = seen
	st, err := l.js.Stream(ctx, l.cfg)
	if err != nil {
		return e, fmt.Errorf("coordinator: read the audit ledger: %w", err)
	}
	m, err := st.GetMsg(ctx, seen) // no entry is ever deleted: their numbers are those of the stream
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return e, nil
	case err != nil:
		return e, fmt.Errorf("coordinator: read the audit ledger: %w", err)
	}
	if entry, err := audit.Read(m.Data); err == nil && entry.Seq == seen {
		e.Seen.Hash = audit.Digest(m.Data)
	}
	return e, nil
}

// maxLines bounds one answer with lines of the ledger, in bytes.
const maxLines = 512 << 10

// ledgerHead answers natsbox.VerbHead.
func (r *running) ledgerHead(ctx context.Context, _ charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.HeadRequest](data)
	if err != nil {
		return nil, err
	}
	return r.ledger.end(ctx, q.Seen)
}

// ledgerLines answers natsbox.VerbAudit: leaders read the chain piece by piece.
func (r *running) ledgerLines(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.AuditRequest](data)
	if err != nil {
		return nil, err
	}
	if who.Role != charter.RoleLeader {
		return nil, refusal(natsbox.CodeForbidden, "", "the ledger is for leaders")
	}
	if q.From <= 1 { // once for each reading, not for each piece of it
		r.ledger.settle(ctx)
	}
	st, err := r.js.Stream(ctx, auditStream(r.team))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the audit ledger: %w", err)
	}
	answer := natsbox.AuditLines{Lines: []audit.Line{}}
	size := 0
	for next := max(q.From, 1); size < maxLines; next = answer.Next {
		m, err := st.GetMsg(ctx, next, jetstream.WithGetMsgSubject(auditSubject(r.team, ">")))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			answer.Next = 0
			break
		}
		if err != nil {
			return nil, fmt.Errorf("coordinator: read the audit ledger: %w", err)
		}
		l := audit.Line{Entry: m.Data, Sig: m.Header.Get(charter.SigHeader)}
		answer.Lines, size = append(answer.Lines, l), size+len(l.Entry)+len(l.Sig)+64
		answer.Next = m.Sequence + 1
	}
	return answer, nil
}
