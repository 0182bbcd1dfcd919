package coordinator

import (
	"context"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// maxLetters is how many messages to leaders are kept at hand. The stream has them all.
const maxLetters = 100

// letter is one message to the leaders, or to one of them.
type letter struct {
	id, from, to string
	stored       time.Time
	text         string
	urgent       bool
}

// letter takes a message in. What is not for leaders is only mail.
func (x *index) letter(m message, e mailbox.Envelope) (event, error) {
	ev := event{Kind: "mail", ID: e.ID, From: e.From}
	if who, ok := x.charter().Member(e.To); e.To != mailbox.Lead && (!ok || who.Role != charter.RoleLeader) {
		return ev, nil
	}
	body, err := mailbox.Body[mailbox.Message](e)
	if err != nil {
		return event{}, err
	}
	for _, l := range x.letters {
		if l.from == e.From && l.id == e.ID {
			return event{}, errKnown
		}
	}
	x.escalation(m, e, body)
	x.letters = append(x.letters, letter{e.ID, e.From, e.To, m.stored, body.Text, body.Urgent})
	if n := len(x.letters) - maxLetters; n > 0 {
		x.letters = append([]letter(nil), x.letters[n:]...)
	}
	return ev, nil
}

// escalation keeps to whom a desk has handed a request.
func (x *index) escalation(m message, e mailbox.Envelope, body mailbox.Message) {
	who, ok := x.charter().Member(e.From)
	if !ok || who.Role != charter.RoleLeader || who.Kind != charter.KindPolicy || body.Summary != natsbox.Escalated {
		return
	}
	for _, s := range x.byID[e.InReplyTo] {
		if r := x.open[s]; r != nil && len(r.escalated) < maxEndorsed {
			r.escalated = append(r.escalated, natsbox.EscalationInfo{To: e.To, At: m.stored})
		}
	}
}

// mailFor returns the messages to lead and to one member, the newest first.
func (x *index) mailFor(me string) []natsbox.MailInfo {
	out, room := []natsbox.MailInfo{}, maxAnswer/6 // one byte takes up to six as JSON
	for i := len(x.letters) - 1; i >= 0; i-- {
		l := x.letters[i]
		if l.to != mailbox.Lead && l.to != me {
			continue
		}
		info := natsbox.MailInfo{ID: l.id, From: l.from, To: l.to, At: l.stored, Text: l.text, Urgent: l.urgent, Seen: x.hasSeen(me, l.id)}
		if room -= len(l.text); room < 0 {
			info.Text, info.Partial = "", true
		}
		out = append(out, info)
	}
	return out
}

func (r *running) mail(ctx context.Context, who charter.Member, data []byte) (any, error) {
	if own(who) != "" {
		return nil, refusal(natsbox.CodeForbidden, "your own mail: swarm mail recv", "the leaders' mail is shown to leaders and observers")
	}
	q, err := read[natsbox.MailRequest](data)
	if err != nil {
		return nil, err
	}
	if q.ID != "" || q.Unread {
		return r.lettersOf(ctx, who, q)
	}
	var out []natsbox.MailInfo
	err = r.owner.ask(ctx, func(x *index) { out = x.mailFor(who.Name) })
	return out, err
}

// hasSeen reports whether a member has said that it saw something.
func (x *index) hasSeen(me, id string) bool {
	return slices.ContainsFunc(x.receipts[id], func(r natsbox.ReceiptInfo) bool { return r.From == me && r.Receipt.State == mailbox.Seen })
}

// lettersOf reads messages to a leader from the stream: the one of an id, or those that it has not seen.
func (r *running) lettersOf(ctx context.Context, who charter.Member, q natsbox.MailRequest) (any, error) {
	most := q.Max
	if most <= 0 || most > maxLetters {
		most = maxLetters
	}
	mine := func(p post) bool {
		return p.kind == mailbox.KindMessage && p.from != who.Name && (p.to == mailbox.Lead || p.to == who.Name || p.to == mailbox.All)
	}
	var found []post
	seen := map[string]bool{}
	err := r.owner.ask(ctx, func(x *index) {
		if q.ID != "" {
			found = x.posts.called(q.ID, mine)
		} else {
			found = x.posts.unread(most, func(p post) bool {
				return mine(p) && !x.hasSeen(who.Name, p.id) && (p.to != mailbox.All || p.seq > x.since(who.Name))
			})
		}
		for _, p := range found {
			seen[p.id] = x.hasSeen(who.Name, p.id)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case q.ID != "" && len(found) == 0:
		return nil, refusal(natsbox.CodeNotFound, "swarm inbox --mail lists what has come", "no message %q to %s", q.ID, who.Name)
	case q.ID != "" && len(found) > 1:
		return nil, refusal(natsbox.CodeBadRequest, "write more of it", "%q begins several ids: %s, %s", q.ID, found[0].id, found[1].id)
	}
	out, room := []natsbox.MailInfo{}, maxAnswer/6 // one byte takes up to six as JSON
	for _, p := range found {
		e, err := r.mailAt(ctx, p.seq)
		if err != nil {
			return nil, err
		}
		body, err := mailbox.Body[mailbox.Message](e)
		if err != nil {
			continue // it was ignored as it came
		}
		if room -= len(body.Text); room < 0 && len(out) > 0 {
			break // the rest comes the next time
		}
		out = append(out, natsbox.MailInfo{
			ID: p.id, From: p.from, To: p.to, At: p.stored, Text: body.Text, Urgent: body.Urgent, Seq: p.seq, Seen: seen[p.id],
		})
	}
	return out, nil
}
