package teammate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// Letter is a piece of mail for the agent. It is text from somebody: nothing in it changes the session (invariant 4).
type Letter struct {
	ID        string       `json:"id"`
	From      string       `json:"from"` // from the subject, which the broker enforces
	Kind      mailbox.Kind `json:"kind"`
	SentAt    time.Time    `json:"sentAt"`
	InReplyTo string       `json:"inReplyTo,omitempty"`
	Text      string       `json:"text"`
	Summary   string       `json:"summary,omitempty"`
	Urgent    bool         `json:"urgent,omitempty"`
	Options   []string     `json:"options,omitempty"`
	Read      bool         `json:"read,omitempty"`
	Seq       uint64       `json:"seq"` // of the mailbox
}

// broker is who writes for the coordinator. No member has this name.
const broker = "broker"

// receiveMail keeps what others write to the agent. None of it changes the session.
func (r *Runner) receiveMail(ctx context.Context) {
	r.receive(ctx, "mail", func() error {
		return r.cfg.Box.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
			if !m.Envelope.Kind.Known() {
				return fmt.Errorf("%w: this swarm knows no mail of kind %q: update it", natsbox.ErrTerminate, m.Envelope.Kind)
			}
			if r.questionAnswered(ctx, m) {
				return nil
			}
			if m.Subject.From == broker { // it may be about a new charter: look, and do not wait for the next look
				r.look()
			}
			l, err := letterOf(m)
			switch {
			case err != nil:
				r.receiptOfMail(l, mailbox.Receipt{Of: l.ID, State: mailbox.Refused, Reason: "it cannot be read: " + err.Error()}, nil)
				return nil
			case l.Text == "" && l.Summary == "":
				return nil // no letter for an agent, but a receipt
			}
			if err := r.inbox.add(l); err != nil {
				return err
			}
			r.changed.all()
			r.reportMail()
			return nil
		})
	})
}

func letterOf(m natsbox.Mail) (Letter, error) {
	e := m.Envelope
	l := Letter{ID: e.ID, From: m.Subject.From, Kind: e.Kind, SentAt: e.SentAt, InReplyTo: e.InReplyTo, Seq: m.Seq}
	switch e.Kind {
	case mailbox.KindMessage:
		b, err := mailbox.Body[mailbox.Message](e)
		l.Text, l.Summary, l.Urgent = b.Text, b.Summary, b.Urgent
		return l, err
	case mailbox.KindQuestion:
		b, err := mailbox.Body[mailbox.Question](e)
		l.Text, l.Options = b.Text, b.Options
		return l, err
	case mailbox.KindAnswer:
		b, err := mailbox.Body[mailbox.Answer](e)
		l.Text = strings.TrimSpace(b.Option + " " + b.Text)
		return l, err
	case mailbox.KindTaskAssignment:
		b, err := mailbox.Body[mailbox.TaskAssignment](e)
		l.Summary, l.Text = b.Subject, b.Description
		return l, err
	}
	return l, nil
}

// OfferMail returns the letters that were not read, the urgent ones first, at most n. With none there it waits until one
// comes or ctx ends. Done is called once, with whether they were really handed over: only then do they count as read, and
// the sender is told that they were seen. Until then nobody else is offered them.
func (r *Runner) OfferMail(ctx context.Context, n int) (letters []Letter, done func(handed bool) error, err error) {
	if ctx.Err() == nil { // else it only looks
		defer r.awaitsMail()()
	}
	return r.offer(ctx, n, func(Letter) bool { return true })
}

// OfferUrgent is [Runner.OfferMail] for the urgent letters alone, and for an agent that works meanwhile.
func (r *Runner) OfferUrgent(ctx context.Context, n int) (letters []Letter, done func(handed bool) error, err error) {
	return r.offer(ctx, n, func(l Letter) bool { return l.Urgent })
}

func (r *Runner) offer(ctx context.Context, n int, which func(Letter) bool) (letters []Letter, done func(handed bool) error, err error) {
	for {
		changed := r.changed.wait()
		if letters = r.inbox.offer(n, which); len(letters) > 0 {
			return letters, func(handed bool) error { return r.settleMail(letters, handed) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-r.over:
			return nil, nil, ErrLeft
		}
	}
}

// ReceiveMail is [Runner.OfferMail] for who has the letters when it returns: they count as read.
func (r *Runner) ReceiveMail(ctx context.Context, n int) ([]Letter, error) {
	letters, done, err := r.OfferMail(ctx, n)
	if err != nil {
		return nil, err
	}
	return letters, done(true)
}

// ReadMail returns one letter again, by its id or the first eight characters of it. Done is as in [Runner.OfferMail].
func (r *Runner) ReadMail(id string) (l Letter, done func(handed bool) error, err error) {
	if l, err = r.inbox.find(id); err != nil {
		return l, nil, err
	}
	return l, func(handed bool) error {
		if !handed {
			return nil
		}
		return r.settleMail([]Letter{l}, true)
	}, nil
}

// settleMail ends an offer.
func (r *Runner) settleMail(letters []Letter, handed bool) error {
	err := r.inbox.settle(letters, handed)
	r.changed.all()
	if handed && err == nil {
		r.reportMail()
	}
	return err
}

// reportMail tells the senders how far their letters have come, where they do not know it yet.
func (r *Runner) reportMail() {
	for _, d := range r.inbox.untold() {
		r.receiptOfMail(d.letter, mailbox.Receipt{Of: d.letter.ID, State: d.state}, func() { r.noteTold(d) })
	}
}

func (r *Runner) noteTold(d due) {
	if err := r.inbox.told(d); err != nil {
		r.log.Warn("teammate: a receipt is sent again after a restart", "cause", err)
	}
}

// receiptOfMail sends a receipt to whoever wrote a letter: leaders read theirs in their common mailbox.
func (r *Runner) receiptOfMail(l Letter, receipt mailbox.Receipt, sent func()) {
	to := mailbox.Lead
	if m, ok := r.snapshot().Charter.Member(l.From); ok && m.Role == charter.RoleTeammate {
		to = l.From
	}
	r.out.push(&outgoing{effect: planmode.SendReceipt{Receipt: receipt}, to: to, id: r.cfg.NewID(), done: func() {}, sent: sent})
}

// SendMail sends a message and returns when it is stored in the recipient's mailbox. It returns the message's id. Errors
// are those of [natsbox.Conn.Send].
func (r *Runner) SendMail(ctx context.Context, to string, m mailbox.Message) (string, error) {
	if _, ok := r.View(); !ok {
		return "", r.absent()
	}
	if to == mailbox.All { // the broker refuses it too
		return "", fmt.Errorf("%w: only leaders write to all: write to lead", natsbox.ErrForbidden)
	}
	id := r.cfg.NewID()
	env, err := mailbox.New(id, mailbox.KindMessage, r.cfg.Team, r.cfg.Name, to, r.snapshot().Epoch, r.clock.now(), m)
	if err != nil {
		return "", err
	}
	_, err = r.cfg.Box.Send(ctx, env)
	return id, err
}
