package teammate

import (
	"context"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// AnswerSeen tells the leaders that the agent has had an answer of theirs in its hands. Call it when that is so.
func (r *Runner) AnswerSeen(a Answer) {
	if a.By != nil && r.answers.first(a.RequestID) {
		r.seenBy(a.RequestID)
	}
}

// ReplySeen is [Runner.AnswerSeen] for the answer to a question.
func (r *Runner) ReplySeen(a QuestionReply) {
	if a.Answered {
		r.seenBy(a.AnswerID)
	}
}

func (r *Runner) seenBy(of string) {
	r.mail(&record{}, planmode.SendReceipt{Receipt: mailbox.Receipt{Of: of, State: mailbox.Seen}})
}

// first reports whether the answer to a request is shown for the first time.
func (a *answers) first(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown == nil {
		a.shown = map[string]bool{}
	}
	before := a.shown[id]
	a.shown[id] = true
	return !before
}

// UrgentMail names who has written urgent mail that the agent has not read, or nobody.
func (r *Runner) UrgentMail() string {
	_, from := r.inbox.unread()
	return from
}

// Trace tells how far something has come that this teammate has sent or was sent.
func (r *Runner) Trace(ctx context.Context, id string) (natsbox.Trace, error) {
	var t natsbox.Trace
	err := r.cfg.Box.Call(ctx, natsbox.VerbTrace, natsbox.IDRequest{ID: id}, &t)
	return t, err
}
