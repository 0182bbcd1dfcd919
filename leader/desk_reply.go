package leader

import (
	"context"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

// NobodyHere is the answer to a question that nobody is there to answer.
const NobodyHere = "nobody is here to answer: decide from what you have"

func replyOf(ctx context.Context, d Decider, q Request) (mailbox.Answer, error) {
	if r, ok := d.(Replier); ok {
		return r.Reply(ctx, q)
	}
	return mailbox.Answer{}, ErrAbstain
}

// reply sends the answer to a question, as long as it takes to reach the broker. It is mail of the desk's own member,
// whichever seat has answered: mail is not signed.
func (d *Desk) reply(ctx context.Context, k key, row Row, a mailbox.Answer) (done bool, reason string) {
	a, err := PrepareReply(row, a.Option, a.Text)
	if err != nil {
		return false, err.Error()
	}
	return d.keepTrying(ctx, k, row, func() error {
		err := sendReply(ctx, d.box, d.charter(), d.signer.Member.Name, &row, a, time.Now())
		if err == nil {
			d.replied(k, a, d.signer.Member.Name)
		}
		return err
	})
}

// replied takes a question off the desk that has its answer, and tells of it once, whoever finds it first.
func (d *Desk) replied(k key, a mailbox.Answer, by string) bool {
	return d.take(k, Event{Kind: EventReplied, Reply: &a, By: by, Here: d.signsAs(by)}, errDecidedWork)
}

// lookReplied asks the coordinator whether a question waits no more: answers go to the teammate's mailbox, not to ours.
func (d *Desk) lookReplied(ctx context.Context, k key) bool {
	known, err := d.box.Request(ctx, k.id)
	if err != nil || known.From != k.from || known.Question == nil {
		return false
	}
	switch {
	case known.Answer != nil:
		return d.replied(k, known.Answer.Answer, known.Answer.By)
	case known.Withdrawn != "":
		return d.take(k, Event{Kind: EventWithdrawn, Reason: known.Withdrawn}, errWithdrawnWork)
	}
	return false
}
