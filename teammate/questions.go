package teammate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// What may be asked.
const (
	MaxQuestions      = 5        // of one teammate, open at once
	MaxQuestionBytes  = 16 << 10 // of a question's text
	MaxQuestionChoice = 4        // options of one question
	maxChoiceBytes    = 256      // of one option
)

// nobodyHere is the answer where nobody can be asked.
const nobodyHere = "nobody is here to answer: decide from what you have"

// QuestionReply is the answer to a question. It changes nothing but what the agent reads (invariant 4).
type QuestionReply struct {
	QuestionID string // empty: nobody was asked
	Answered   bool
	Option     string // the chosen one, where options were given
	Text       string
	By         string // the leader, from the subject, which the broker enforces
	AnswerID   string // of the leader's mail
}

const questionsFile = "questions.json"

// questions are those that somebody waits for an answer to. Their ids are on disk until they are answered or known to be
// withdrawn, so that the next process can take back what this one leaves open.
type questions struct {
	mu      sync.Mutex
	keep    keep
	waiting map[string]chan QuestionReply // by question id, which is the envelope's
	unasked []string                      // nobody waits, and that they are withdrawn is not stored yet
}

func (q *questions) load(k keep) error {
	q.keep, q.waiting = k, map[string]chan QuestionReply{}
	return k.get(questionsFile, &q.unasked)
}

// open begins to wait, before the question can have an answer.
func (q *questions) open(id string) (chan QuestionReply, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= MaxQuestions {
		return nil, ErrTooManyQuestions
	}
	ch := make(chan QuestionReply, 1)
	q.waiting[id] = ch
	if err := q.save(); err != nil {
		delete(q.waiting, id)
		return nil, err
	}
	return ch, nil
}

// close ends the wait. An answer that came at the last moment is returned; else the question is to be withdrawn.
func (q *questions) close(id string) (reply QuestionReply, came bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	answers, open := q.waiting[id]
	select {
	case reply = <-answers:
		came = true
	default:
		if open {
			q.unasked = append(q.unasked, id)
		}
	}
	delete(q.waiting, id)
	return reply, came, q.save()
}

// answered forgets a question that has its answer.
func (q *questions) answered(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
	return q.save()
}

// withdrawn forgets a question that is known to be withdrawn.
func (q *questions) withdrawn(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unasked = slices.DeleteFunc(q.unasked, func(old string) bool { return old == id })
	return q.save()
}

// answer hands an answer to who waits for it, and reports whether somebody does.
func (q *questions) answer(id string, reply QuestionReply) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.waiting[id] <- reply:
		return true
	default: // nobody waits, or it has its answer
		return false
	}
}

func (q *questions) isOpen(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting[id] != nil
}

// abandon ends every wait, and returns what is to be withdrawn, also of an earlier process.
func (q *questions) abandon() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unasked = append(q.unasked, slices.Sorted(maps.Keys(q.waiting))...)
	clear(q.waiting)
	return slices.Clone(q.unasked)
}

func (q *questions) save() error {
	ids := append(slices.Clone(q.unasked), slices.Sorted(maps.Keys(q.waiting))...)
	return q.keep.put(questionsFile, ids)
}

func blank(text string) bool { return errors.Is(plans.Check([]byte(text)), plans.ErrEmpty) }

// checkQuestion says why something cannot be asked.
func checkQuestion(text string, options []string) error {
	switch {
	case blank(text):
		return fmt.Errorf("%w: it is blank: say what you want to know", ErrBadQuestion)
	case len(text) > MaxQuestionBytes:
		return fmt.Errorf("%w: it has %d bytes, and %d are allowed: ask for one thing", ErrBadQuestion, len(text), MaxQuestionBytes)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: it is not UTF-8: save it as UTF-8", ErrBadQuestion)
	case len(options) > MaxQuestionChoice:
		return fmt.Errorf("%w: %d options, and %d are allowed: leave some out", ErrBadQuestion, len(options), MaxQuestionChoice)
	}
	for i, o := range options {
		switch {
		case blank(o) || len(o) > maxChoiceBytes || !utf8.ValidString(o):
			return fmt.Errorf("%w: option %d is blank, not UTF-8, or longer than %d bytes: give it a short name", ErrBadQuestion, i+1, maxChoiceBytes)
		case slices.Contains(options[:i], o):
			return fmt.Errorf("%w: option %q stands there twice: give each another name", ErrBadQuestion, o)
		}
	}
	return nil
}

// AskQuestion asks the leaders something and waits for the answer, for as long as ctx lives. When nobody waits any more
// the question is withdrawn. Unattended, the answer comes at once: nobody is here. [ErrBadQuestion] and
// [ErrTooManyQuestions] say what cannot be asked; other errors are those of [natsbox.Conn.Send].
func (r *Runner) AskQuestion(ctx context.Context, text string, options []string) (QuestionReply, error) {
	if err := checkQuestion(text, options); err != nil {
		return QuestionReply{}, err
	}
	if _, ok := r.View(); !ok {
		return QuestionReply{}, r.absent()
	}
	if !r.cfg.Attended {
		return QuestionReply{Text: nobodyHere}, nil
	}
	id := r.cfg.NewRequestID()
	answers, err := r.questions.open(id)
	if err != nil {
		return QuestionReply{}, err
	}
	if err := r.sendQuestion(ctx, mailbox.Question{QuestionID: id, Text: text, Options: options}); err != nil {
		return r.unasked(id, err)
	}
	r.emit("question.asked", map[string]string{"questionId": id})
	select {
	case reply := <-answers:
		if err := r.questions.answered(id); err != nil {
			r.log.Warn("teammate: an answered question is still on disk", "cause", err)
		}
		return reply, nil
	case <-ctx.Done():
		return r.unasked(id, context.Cause(ctx))
	case <-r.over:
		return QuestionReply{}, ErrLeft // the end has withdrawn it
	}
}

// unasked gives a question up, unless its answer has just come. It may be stored already, also where sending it failed.
func (r *Runner) unasked(id string, cause error) (QuestionReply, error) {
	reply, came, err := r.questions.close(id)
	if came {
		return reply, nil
	}
	if err != nil {
		r.log.Warn("teammate: a question that nobody waits for is not on disk", "cause", err)
	}
	r.withdrawQuestion(id, planmode.WithdrawnInterrupt)
	return QuestionReply{}, cause
}

func (r *Runner) withdrawQuestion(id string, why planmode.WithdrawReason) {
	r.out.push(&outgoing{
		effect: planmode.PublishWithdrawn{RequestID: id, Reason: why}, id: r.cfg.NewID(), done: func() {},
		sent: func() {
			if err := r.questions.withdrawn(id); err != nil {
				r.log.Warn("teammate: a question is withdrawn again after a restart", "cause", err)
			}
		},
	})
}

// withdrawQuestions withdraws whatever is open: of an earlier process at the beginning, of this one at the end.
func (r *Runner) withdrawQuestions(why planmode.WithdrawReason) {
	for _, id := range r.questions.abandon() {
		r.withdrawQuestion(id, why)
	}
}

// sendQuestion sends until the question is stored, the broker refuses it, or nobody waits any more.
func (r *Runner) sendQuestion(ctx context.Context, q mailbox.Question) error {
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := r.post(ctx, q.QuestionID, mailbox.KindQuestion, q)
		if !errors.Is(err, natsbox.ErrUnreachable) {
			return err
		}
		r.log.Debug("teammate: the question is not stored yet", "cause", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.over:
			return ErrLeft
		}
	}
}

// questionAnswered takes mail that answers an open question of ours. Whatever else it is, or whoever else it is from, is
// left to be mail.
func (r *Runner) questionAnswered(ctx context.Context, m natsbox.Mail) bool {
	id := m.Envelope.InReplyTo
	if m.Envelope.Kind != mailbox.KindAnswer || !r.questions.isOpen(id) {
		return false
	}
	a, err := mailbox.Body[mailbox.Answer](m.Envelope)
	if err != nil || a.QuestionID != id || blank(a.Option) && blank(a.Text) || !r.isLeader(ctx, m.Subject.From) {
		return false
	}
	reply := QuestionReply{QuestionID: id, Answered: true, Option: a.Option, Text: a.Text, By: m.Subject.From, AnswerID: m.Envelope.ID}
	if !r.questions.answer(id, reply) {
		return false
	}
	r.emit("question.answered", map[string]string{"questionId": id, "by": reply.By})
	return true
}

// isLeader reports whether a name is a leader's, by the charter of now: a leader may have come since, or gone.
func (r *Runner) isLeader(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, charterWait)
	defer cancel()
	r.RefreshCharter(ctx)
	m, ok := r.snapshot().Charter.Member(name)
	return ok && m.Role == charter.RoleLeader && m.Active(r.clock.now())
}

// emit has an event observed that is no step.
func (r *Runner) emit(event string, fields map[string]string) {
	r.work.push(&record{effects: []planmode.Effect{planmode.Emit{Event: event, Fields: fields}}, local: make(chan struct{})})
}
