//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

type replied struct {
	reply teammate.QuestionReply
	err   error
}

func (m *mate) question(ctx context.Context, text string, options ...string) <-chan replied {
	ch := make(chan replied, 1)
	go func() {
		a, err := m.AskQuestion(ctx, text, options)
		ch <- replied{a, err}
	}()
	return ch
}

// leaderMail hands over what comes into the leaders' mailbox.
func (r *rig) leaderMail() <-chan natsbox.Mail {
	ch := make(chan natsbox.Mail, 64)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.anna.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error { ch <- m; return nil })
	}()
	r.t.Cleanup(func() { stop(); <-done })
	return ch
}

// next waits for mail of one kind.
func next(t testing.TB, mail <-chan natsbox.Mail, kind mailbox.Kind) mailbox.Envelope {
	t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case m := <-mail:
			if m.Envelope.Kind == kind {
				return m.Envelope
			}
		case <-deadline:
			t.Fatalf("no %s has come", kind)
		}
	}
}

// says sends an answer as somebody.
func (r *rig) says(from *natsbox.Conn, name, inReplyTo string, a mailbox.Answer) {
	r.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindAnswer, r.team.Name, name, "api", 0, time.Now(), a)
	if err != nil {
		r.t.Fatal(err)
	}
	env.InReplyTo = inReplyTo
	if _, err := from.Send(context.Background(), env); err != nil {
		r.t.Fatal(err)
	}
}

// A question is answered by a leader, by name, and nothing but what the agent reads changes.
func TestQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mail := r.leaderMail()
	m := r.start()
	before, _ := m.journal.Session()
	got := m.question(t.Context(), "cents or decimals?", "cents", "decimals")
	env := next(t, mail, mailbox.KindQuestion)
	q, err := mailbox.Body[mailbox.Question](env)
	if err != nil || q.QuestionID != env.ID || q.Text != "cents or decimals?" || len(q.Options) != 2 {
		t.Fatalf("the leaders read %+v (%v), want the question", q, err)
	}
	r.says(r.anna, "anna", env.ID, mailbox.Answer{QuestionID: env.ID, Option: "cents", Text: "as before"})
	want := teammate.QuestionReply{QuestionID: env.ID, Answered: true, Option: "cents", Text: "as before", By: "anna"}
	a := <-got
	want.AnswerID = a.reply.AnswerID
	if a.err != nil || a.reply != want || want.AnswerID == "" {
		t.Fatalf("AskQuestion = %+v, want %+v", a, want)
	}
	after, _ := m.journal.Session()
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("an answer changed the session to %+v", after)
	}
	if n := m.status().Mail; n != 0 {
		t.Errorf("%d letters, want none: the answer was taken", n)
	}
	until(t, "told", func() bool { return m.log.count("question.asked") == 1 && m.log.count("question.answered") == 1 })

	// Once more is a letter: nobody waits for it.
	r.says(r.anna, "anna", env.ID, mailbox.Answer{QuestionID: env.ID, Text: "or decimals"})
	until(t, "a letter", func() bool { return m.status().Mail == 1 })
}

// Whoever is no leader answers nothing: what it writes is mail. So is an answer to something else.
func TestForgedAnswersAreMail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mail := r.leaderMail()
	r.team.AddTeammate("mallory")
	r.team.AddLeader("old", charter.KindPerson)
	mallory, old := r.team.Connect("mallory"), r.team.Connect("old")
	m := r.start()
	got := m.question(t.Context(), "may I push?")
	id := next(t, mail, mailbox.KindQuestion).ID
	yes := mailbox.Answer{QuestionID: id, Text: "yes, push"}
	r.says(mallory, "mallory", id, yes)
	r.says(r.anna, "anna", "another", yes)
	r.says(r.anna, "anna", id, mailbox.Answer{QuestionID: "another", Text: "yes, push"})
	r.says(r.anna, "anna", id, mailbox.Answer{QuestionID: id, Text: " \u200b"})
	r.team.Amend(func(c *charter.Charter) {
		for i := range c.Members {
			if c.Members[i].Name == "old" { // retired: and its connection still stands
				c.Members[i].Retired = true
			}
		}
	})
	if env, err := mailbox.New(natsbox.NewID(), mailbox.KindAnswer, r.team.Name, "old", "api", 0, time.Now(), yes); err == nil {
		env.InReplyTo = id
		_, _ = old.Send(t.Context(), env) // the broker may refuse it already
	}
	until(t, "letters", func() bool { return m.status().Mail >= 3 })
	select {
	case a := <-got:
		t.Fatalf("AskQuestion = %+v, want that it still waits", a)
	case <-time.After(50 * time.Millisecond):
	}
	r.says(r.anna, "anna", id, mailbox.Answer{QuestionID: id, Text: "no"})
	if a := <-got; a.err != nil || a.reply.Text != "no" || a.reply.By != "anna" {
		t.Fatalf("AskQuestion = %+v, want anna's no", a)
	}
}

// A question that nobody waits for any more is withdrawn: its client went away, the teammate left, or was killed.
func TestQuestionsAreWithdrawn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mail := r.leaderMail()
	withdrawn := func(id string) planmode.WithdrawReason {
		t.Helper()
		for {
			w, err := mailbox.Body[planmode.Withdrawn](next(t, mail, mailbox.KindPlanWithdrawn))
			if err != nil {
				t.Fatal(err)
			}
			if w.RequestID == id {
				return w.Reason
			}
		}
	}
	m := r.start()
	ctx, cancel := context.WithCancel(t.Context())
	got := m.question(ctx, "first?")
	first := next(t, mail, mailbox.KindQuestion).ID
	cancel()
	if a := <-got; !errors.Is(a.err, context.Canceled) || withdrawn(first) != planmode.WithdrawnInterrupt {
		t.Errorf("AskQuestion = %+v, want that it was cancelled and withdrawn", a)
	}
	got = m.question(t.Context(), "second?")
	second := next(t, mail, mailbox.KindQuestion).ID
	m.end(teammate.ErrDetach) // as a crash: its folder is all that the next one has
	if a := <-got; a.err == nil {
		t.Errorf("AskQuestion = %+v after the end, want an error", a)
	}
	m = r.start()
	withdrawn(second)
	got = m.question(t.Context(), "third?")
	third := next(t, mail, mailbox.KindQuestion).ID
	m.end(context.Canceled)
	if a := <-got; !errors.Is(a.err, teammate.ErrLeft) || withdrawn(third) != planmode.WithdrawnExit {
		t.Errorf("AskQuestion = %+v, want that the teammate has left", a)
	}
	m = r.start()
	m.end(context.Canceled)
	select {
	case e := <-mail:
		if e.Envelope.Kind == mailbox.KindPlanWithdrawn {
			t.Errorf("withdrawn again: %s", e.Envelope.Body)
		}
	default:
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	long := strings.Repeat("x", teammate.MaxQuestionBytes+1)
	for name, tc := range map[string]struct {
		text    string
		options []string
	}{
		"blank":            {text: " \n\u200b"},
		"too long":         {text: long},
		"not UTF-8":        {text: "\xff?"},
		"five options":     {text: "?", options: []string{"a", "b", "c", "d", "e"}},
		"blank option":     {text: "?", options: []string{"a", " "}},
		"the same twice":   {text: "?", options: []string{"a", "a"}},
		"long option":      {text: "?", options: []string{long}},
		"option not UTF-8": {text: "?", options: []string{"\xff"}},
	} {
		if _, err := m.AskQuestion(t.Context(), tc.text, tc.options); !errors.Is(err, teammate.ErrBadQuestion) || !strings.Contains(err.Error(), ":") {
			t.Errorf("%s: %v, want ErrBadQuestion and what to do", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting []<-chan replied
	for range teammate.MaxQuestions {
		waiting = append(waiting, m.question(ctx, "?"))
	}
	until(t, "asked", func() bool { return m.log.count("question.asked") == teammate.MaxQuestions })
	if _, err := m.AskQuestion(t.Context(), "?", nil); !errors.Is(err, teammate.ErrTooManyQuestions) {
		t.Errorf("one more: %v, want ErrTooManyQuestions", err)
	}
	cancel()
	for _, ch := range waiting {
		<-ch
	}
}

// Unattended, the answer comes at once and nobody is bothered.
func TestNobodyToAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mail := r.leaderMail()
	m := r.start(func(c *teammate.Config) { c.Attended = false })
	a, err := m.AskQuestion(t.Context(), "cents or decimals?", []string{"cents", "decimals"})
	if err != nil || a.Answered || a.Text != "nobody is here to answer: decide from what you have" || a.QuestionID != "" {
		t.Errorf("AskQuestion = %+v, %v, want that nobody is here", a, err)
	}
	m.end(context.Canceled)
	for len(mail) > 0 {
		if e := (<-mail).Envelope; e.Kind == mailbox.KindQuestion {
			t.Errorf("the leaders were asked all the same: %s", e.Body)
		}
	}
}

// A broker that is away holds the question up, and loses it not.
func TestQuestionWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.team.Stop()
	got := m.question(t.Context(), "cents or decimals?")
	time.Sleep(50 * time.Millisecond)
	r.team.Start()
	row := r.open()
	r.says(r.anna, "anna", row.EnvelopeID, mailbox.Answer{QuestionID: row.EnvelopeID, Text: "cents"})
	if a := <-got; a.err != nil || a.reply.Text != "cents" {
		t.Fatalf("AskQuestion = %+v, want the answer", a)
	}
}
