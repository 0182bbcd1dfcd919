package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// maxQuestions is how many questions of one teammate are open. One more takes the place of the oldest: who asked that has
// most likely ended without saying so.
const maxQuestions = 16

// maxQuestionID bounds the ids of a question, which are kept.
const maxQuestionID = 128

// answered says which mail answered a question. The answer itself is read from the stream when somebody asks for it.
type answered struct {
	by       string
	envelope string
	seq      uint64
	stored   time.Time
}

// info is the answer as rows show it, without its body; nil where there is none.
func (a *answered) info() *natsbox.AnswerInfo {
	if a == nil {
		return nil
	}
	return &natsbox.AnswerInfo{By: a.by, EnvelopeID: a.envelope, StoredAt: a.stored}
}

// asksQuestion opens a question of a teammate to its leaders. Mail of this kind between others is only mail.
func (x *index) asksQuestion(m message, e mailbox.Envelope) (event, error) {
	who, ok := x.charter().Member(e.From)
	if e.To != mailbox.Lead || !ok || who.Role != charter.RoleTeammate {
		return event{Kind: "mail", ID: e.ID, From: e.From}, nil
	}
	body, err := mailbox.Body[mailbox.Question](e)
	switch {
	case err != nil:
		return event{}, err
	case len(m.data) > mailbox.MaxText:
		return event{}, fmt.Errorf("a question of %d bytes", len(m.data))
	case body.QuestionID == "" || len(body.QuestionID) > maxQuestionID || len(e.ID) > maxQuestionID:
		return event{}, errors.New("a question without an id, or with too long a one")
	}
	r := &request{question: &body, isQuestion: true, questionID: body.QuestionID, title: titleOf(body.Text)}
	if err := x.add(m, e, e.ID, r); err != nil {
		return event{}, err
	}
	x.forgetQuestion(m, e.From)
	return event{Kind: "request", ID: e.ID, From: e.From}, nil
}

// forgetQuestion closes a teammate's oldest question when it has too many.
func (x *index) forgetQuestion(m message, teammate string) {
	var oldest *request
	n := 0
	for s, r := range x.open {
		if s.teammate != teammate || !r.isQuestion {
			continue
		}
		n++
		if oldest == nil || r.seq < oldest.seq {
			oldest = r
		}
	}
	if n > maxQuestions {
		oldest.withdrawn, oldest.ended = fmt.Sprintf("%d newer questions are open", maxQuestions), m.stored
		x.settle(oldest.slot)
	}
}

// answers closes a question with the first answer that a leader has stored for it. Another teammate's answer closes
// nothing, nor one that names another question. Answers to other mail are only mail.
func (x *index) answers(m message, e mailbox.Envelope) (event, error) {
	ev := event{Kind: "mail", ID: e.ID, From: e.From}
	r := x.requests[slot{e.To, e.InReplyTo}]
	if r == nil || !r.isQuestion {
		return ev, nil
	}
	body, err := mailbox.Body[mailbox.Answer](e)
	if err != nil {
		return event{}, err
	}
	// A leader that has been retired since was one when the broker took its mail.
	who, ok := x.charter().Member(e.From)
	switch {
	case !ok || who.Role != charter.RoleLeader || who.NotAfter != nil && m.stored.After(*who.NotAfter):
		return event{}, errors.New("an answer to a question by no leader")
	case blank(body.Option) && blank(body.Text):
		return event{}, errors.New("an answer that says nothing")
	case body.QuestionID != r.questionID:
		return event{}, errors.New("an answer to another question than its envelope")
	case r.answer != nil || r.withdrawn != "":
		return ev, nil
	}
	r.answer = &answered{by: e.From, envelope: e.ID, seq: m.seq, stored: m.stored}
	x.settle(r.slot)
	return event{Kind: "answered", ID: r.id, From: r.teammate}, nil
}

// blank reports whether nothing can be seen in a text: no teammate takes that for an answer.
func blank(text string) bool { return errors.Is(plans.Check([]byte(text)), plans.ErrEmpty) }

// previous is the id of the revision that a leader compares a plan with: the last one before it that was decided, or else
// the one before it.
func (x *index) previous(r *request) string {
	if r.previous == nil {
		return ""
	}
	for p := r.previous; p != nil; p = p.previous {
		if d, ok := x.decisions[p.slot]; ok && d.Valid {
			return p.id
		}
	}
	return r.previous.id
}
