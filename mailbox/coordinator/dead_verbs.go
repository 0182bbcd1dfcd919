package coordinator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// deadVerb answers natsbox.VerbDead.
func (r *running) deadVerb(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.DeadRequest](data)
	if err != nil {
		return nil, err
	}
	if who.Role != charter.RoleLeader {
		return nil, refusal(natsbox.CodeForbidden, "ask a leader", "dead letters are for leaders")
	}
	if len(q.Note) > mailbox.MaxText/64 {
		return nil, refusal(natsbox.CodeBadRequest, "say it in fewer words", "a note of %d bytes", len(q.Note))
	}
	if q.Action == natsbox.DeadList {
		return r.listDead(ctx, q.All)
	}
	if q.Action == natsbox.DeadDrop { // a letter can be dead before the index has it, and a request that waits stays
		if err := r.readMail(ctx); err != nil {
			return nil, err
		}
	}
	r.dead.mu.Lock() // one thing is done with dead letters at a time
	defer r.dead.mu.Unlock()
	d, ok := r.dead.all[q.ID]
	if !ok {
		e := refusal(natsbox.CodeNotFound, "swarm mail dead list shows them", `no dead letter "%s"`, q.ID)
		e.Near = mailbox.Nearest(q.ID, r.dead.ids())
		return nil, e
	}
	switch q.Action {
	case natsbox.DeadShow:
		m, err := r.storedAt(ctx, d.Stream, d.Seq)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, err
		}
		if err == nil {
			d.Data = m.Data
		}
	case natsbox.DeadRetry:
		err = r.retry(ctx, who, &d)
	case natsbox.DeadDrop:
		err = r.drop(ctx, who, &d, q.Note)
	default:
		err = refusal(natsbox.CodeBadRequest, "update the older of the two swarms", "unknown action %q", q.Action)
	}
	if err != nil {
		return nil, err
	}
	out := []natsbox.DeadLetter{d.DeadLetter}
	return out, r.markWaiting(ctx, out)
}

// ids are those of all letters. The caller holds the lock.
func (l *deadLetters) ids() []string {
	var ids []string
	for id := range l.all {
		ids = append(ids, id)
	}
	return ids
}

func (r *running) listDead(ctx context.Context, all bool) ([]natsbox.DeadLetter, error) {
	out := []natsbox.DeadLetter{}
	r.dead.mu.Lock()
	for _, d := range r.dead.all {
		if all || d.State == natsbox.DeadOpen {
			out = append(out, d.DeadLetter)
		}
	}
	r.dead.mu.Unlock()
	slices.SortFunc(out, func(a, b natsbox.DeadLetter) int {
		return cmp.Or(a.DiedAt.Compare(b.DiedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, r.markWaiting(ctx, out)
}

// markWaiting says which letters are requests that nobody has decided.
func (r *running) markWaiting(ctx context.Context, list []natsbox.DeadLetter) error {
	return r.owner.ask(ctx, func(x *index) {
		for i, d := range list {
			list[i].Waits = x.open[slot{d.From, d.EnvelopeID}] != nil
		}
	})
}

// opened refuses what somebody has seen to already.
func opened(d deadLetter) error {
	if d.State == natsbox.DeadOpen {
		return nil
	}
	return refusal(natsbox.CodeBadRequest, "swarm mail dead list --all shows it", "%s was %s by %s at %s", d.ID, d.State, d.By, d.At.UTC().Format(time.DateTime))
}

// drop marks a letter as seen to. A request that waits is decided, not dropped.
func (r *running) drop(ctx context.Context, who charter.Member, d *deadLetter, note string) error {
	if err := opened(*d); err != nil {
		return err
	}
	waits := []natsbox.DeadLetter{d.DeadLetter}
	if err := r.markWaiting(ctx, waits); err != nil {
		return err
	}
	if waits[0].Waits {
		h := mailbox.Handle(d.From, d.EnvelopeID, 4)
		return refusal(natsbox.CodeBadRequest, "decide it: swarm show "+h, "%s is a request that waits: nothing but a decision ends it", d.ID)
	}
	d.State, d.By, d.At, d.Note = natsbox.DeadDropped, who.Name, time.Now().UTC(), note
	return r.sawTo(ctx, *d)
}

// readMail returns when all mail that is stored now is in the index.
func (r *running) readMail(ctx context.Context) error {
	to, err := newest(ctx, r.js, mailStream(r.team))
	if err != nil {
		return err
	}
	var behind error
	err = r.owner.ask(ctx, func(*index) { // what is taken in is taken in whole, also when whoever asked has gone
		behind = r.owner.catchUpTo(context.WithoutCancel(ctx), r.owner.mail, to)
	})
	return errors.Join(err, behind)
}

// retry puts a letter to its recipient again: the same bytes, below the recipient's own mailbox, where nobody else reads
// and no member can publish. That it was put there is known before it is done, so that a crash does it once.
func (r *running) retry(ctx context.Context, who charter.Member, d *deadLetter) error {
	if err := opened(*d); err != nil {
		return err
	}
	if d.Stream == decisionStream(r.team) {
		return refusal(natsbox.CodeBadRequest, "its teammate asks again under a new id: swarm inbox", "%s lies in the slot of a request, which is written once", d.ID)
	}
	if m, ok := r.co.Charter().Member(d.Recipient); !ok || m.Retired {
		return refusal(natsbox.CodeBadRequest, "swarm mail dead drop "+d.ID, "%s is not in the team any more", d.Recipient)
	}
	before := *d
	d.State, d.By, d.At, d.Tries, d.Copy = natsbox.DeadRetried, who.Name, time.Now().UTC(), d.Tries+1, natsbox.NewID()
	if err := r.sawTo(ctx, *d); err != nil {
		return err
	}
	err := r.republish(ctx, *d)
	if err == nil {
		return nil
	}
	r.log.Warn("a dead letter could not be put again", "letter", d.ID, "error", err)
	before.At = d.At
	if err := r.sawTo(ctx, before); err != nil {
		return err
	}
	return refusal(natsbox.CodeBadRequest, "swarm doctor tells how full the store is, then try again", "%s was not put again: %v", d.ID, err)
}

// republish stores the bytes of a letter again.
func (r *running) republish(ctx context.Context, d deadLetter) error {
	m, err := r.storedAt(ctx, d.Stream, d.Seq)
	if err != nil {
		return err
	}
	s, err := mailbox.ParseSubject(m.Subject)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: mailbox.RetrySubject(d.Recipient, d.Seq, s), Data: m.Data, Header: nats.Header{}}
	if sigs := m.Header.Values(charter.SigHeader); len(sigs) > 0 {
		msg.Header[charter.SigHeader] = sigs
	}
	_, err = r.js.PublishMsg(ctx, msg, jetstream.WithMsgID(d.Copy))
	return err
}

// sawTo keeps what was done with a letter. The caller holds the lock.
func (r *running) sawTo(ctx context.Context, d deadLetter) error {
	if err := r.register.putDead(ctx, d); err != nil {
		return err
	}
	r.dead.all[d.ID] = d
	r.ledger.note(audit.EventDead, d.Recipient, d.ID+" "+string(d.State)+" by "+d.By)
	r.log.Info("dead letter seen to", "letter", d.ID, "state", string(d.State), "by", d.By)
	return nil
}

// finishRetries puts those again that a crash kept from it.
func (r *running) finishRetries(ctx context.Context) error {
	for _, d := range r.dead.all {
		if d.State != natsbox.DeadRetried || d.Copy == "" {
			continue
		}
		done, err := r.isCopied(ctx, d)
		if err == nil && !done {
			err = r.republish(ctx, d)
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			r.log.Warn("a dead letter could not be put again", "letter", d.ID, "error", err)
			d.State = natsbox.DeadOpen
			if err := r.sawTo(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// isCopied reports whether the last retry of a letter was stored.
func (r *running) isCopied(ctx context.Context, d deadLetter) (bool, error) {
	st, err := r.js.Stream(ctx, d.Stream)
	if err != nil {
		return false, err
	}
	m, err := st.GetMsg(ctx, d.Seq)
	if err != nil {
		return false, err
	}
	s, err := mailbox.ParseSubject(m.Subject)
	if err != nil {
		return false, err
	}
	last, err := st.GetLastMsgForSubject(ctx, mailbox.RetrySubject(d.Recipient, d.Seq, s))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil && last.Header.Get(jetstream.MsgIDHeader) == d.Copy, err
}

// nameDead says which requests are dead letters too. Only leaders are told.
func (r *running) nameDead(who charter.Member, rows []natsbox.Row) {
	if who.Role != charter.RoleLeader {
		return
	}
	r.dead.mu.Lock()
	defer r.dead.mu.Unlock()
	for id, d := range r.dead.all {
		i := slices.IndexFunc(rows, func(w natsbox.Row) bool { return w.From == d.From && w.EnvelopeID == d.EnvelopeID })
		if i >= 0 && d.State == natsbox.DeadOpen {
			rows[i].Dead = append(rows[i].Dead, id)
		}
	}
	for i := range rows {
		slices.Sort(rows[i].Dead)
	}
}
