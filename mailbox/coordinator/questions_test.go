package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// question asks the leaders, and returns the id of its envelope.
func question(t testing.TB, c *natsbox.Conn, from, text string) string {
	t.Helper()
	id := natsbox.NewRequestID()
	mail(t, c, from, 1, mailbox.KindQuestion, id, mailbox.Question{QuestionID: "q-" + id, Text: text, Options: []string{"EUR", "USD"}})
	return id
}

// answer answers a question, as whoever holds the connection.
func answer(t testing.TB, c *natsbox.Conn, from, to, question, option string, change ...func(*mailbox.Envelope, *mailbox.Answer)) string {
	t.Helper()
	body := mailbox.Answer{QuestionID: "q-" + question, Option: option}
	var head mailbox.Envelope
	for _, f := range change {
		f(&head, &body)
	}
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindAnswer, "shop", from, to, 1, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	e.InReplyTo = question
	if head.InReplyTo != "" {
		e.InReplyTo = head.InReplyTo
	}
	if _, err := c.Send(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	return e.ID
}

func TestAQuestionWaitsUntilALeaderAnswers(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	id := question(t, api, "api", "Which currency?")
	r := row(t, anna, id, isOpen)
	if r.Question == nil || r.Question.Text != "Which currency?" || len(r.Question.Options) != 2 || r.From != "api" || r.Request != nil {
		t.Fatalf("row = %+v, want the question", r)
	}
	if got := pending(t, anna, 1); got[0] != id {
		t.Errorf("pending %v, want the question", got)
	}
	if got := pending(t, api, 1); got[0] != id {
		t.Errorf("api sees %v of its own, want the question", got)
	}
	pending(t, docs, 0)
	sent := answer(t, anna, "anna", "api", id, "EUR")
	r = row(t, anna, id, isSettled)
	if r.Answer == nil || r.Answer.By != "anna" || r.Answer.Answer.Option != "EUR" || r.Answer.EnvelopeID != sent || r.Answer.StoredAt.IsZero() {
		t.Fatalf("answer = %+v, want anna's", r.Answer)
	}
	if r.Question == nil || r.Question.Text != "Which currency?" {
		t.Errorf("the settled question is %+v, want its text again", r.Question)
	}
	pending(t, anna, 0)
}

// Only a leader's mail to the one who asked, about that very question, closes it.
func TestWhatClosesNoQuestion(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	id, other := question(t, api, "api", "Which?"), question(t, docs, "docs", "Where?")
	row(t, anna, other, isOpen)
	answer(t, docs, "docs", "api", id, "a teammate")
	answer(t, api, "api", "api", id, "itself")
	answer(t, anna, "anna", "docs", id, "to another")
	answer(t, anna, "anna", "api", id, "another question", func(_ *mailbox.Envelope, a *mailbox.Answer) { a.QuestionID = "q-" + other })
	answer(t, anna, "anna", "api", id, "to other mail", func(e *mailbox.Envelope, _ *mailbox.Answer) { e.InReplyTo = natsbox.NewID() })
	answer(t, anna, "anna", "api", id, " \u200b\n")
	mail(t, docs, "docs", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: id})
	answer(t, anna, "anna", "docs", other, "here") // a mark: what came before it has been taken in
	row(t, anna, other, isSettled)
	if r := row(t, anna, id, nil); !r.Open() {
		t.Errorf("the question is %+v, want it open", r)
	}
	mail(t, api, "api", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: id, Reason: planmode.WithdrawnInterrupt})
	if r := row(t, anna, id, isSettled); r.Withdrawn != "interrupted" || r.Answer != nil || r.Question == nil {
		t.Errorf("the question is %+v, want it withdrawn by its teammate", r)
	}
	answer(t, anna, "anna", "api", id, "too late")
	row(t, anna, question(t, api, "api", "a mark"), isOpen)
	if r := row(t, anna, id, isSettled); r.Answer != nil {
		t.Errorf("a withdrawn question is answered by %+v", r.Answer)
	}
}

// A question of a leader to its own mailbox is mail, not a row.
func TestALeadersQuestionIsNoRow(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	question(t, anna, "anna", "Anyone?")
	mark := question(t, api, "api", "a mark")
	row(t, anna, mark, isOpen)
	if got := pending(t, anna, 1); got[0] != mark {
		t.Errorf("pending %v, want the teammate's question alone", got)
	}
}

// Of two leaders who answer at once, the first that is stored is shown to both, also after a restart.
func TestTheFirstStoredAnswerIsTheAnswer(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("tom", charter.KindPerson)
	boxes := map[string]*natsbox.Conn{"anna": team.Connect("anna"), "tom": team.Connect("tom")}
	api := team.Connect("api")
	first := map[string]string{} // question -> who the teammate hears first
	var ids []string
	for range 10 {
		id := question(t, api, "api", "Which?")
		ids = append(ids, id)
		var wg sync.WaitGroup
		for name, box := range boxes {
			wg.Go(func() { answer(t, box, name, "api", id, name) })
		}
		wg.Wait()
	}
	ctx, cancel := context.WithCancel(t.Context())
	heard := 0
	_ = api.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		if first[m.Envelope.InReplyTo] == "" {
			first[m.Envelope.InReplyTo] = m.Subject.From
		}
		if heard++; heard == 2*len(ids) {
			cancel()
		}
		return nil
	})
	for _, restart := range []bool{false, true} {
		if restart {
			team.Stop()
			team.Start()
		}
		for _, id := range ids {
			r := row(t, boxes["anna"], id, isSettled)
			if r.Answer == nil || r.Answer.By != first[id] || r.Answer.Answer.Option != first[id] {
				t.Errorf("after a restart %t: answer = %+v, want that of %s, which the teammate hears first", restart, r.Answer, first[id])
			}
		}
	}
}

func TestQuestionsAfterARestart(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	open, done, gone := question(t, api, "api", "Open?"), question(t, api, "api", "Done?"), question(t, api, "api", "Gone?")
	row(t, anna, gone, isOpen)
	answer(t, docs, "docs", "api", open, "no leader")
	answer(t, anna, "anna", "api", done, "USD")
	mail(t, api, "api", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: gone, Reason: planmode.WithdrawnExit})
	row(t, anna, gone, isSettled)
	team.Retire("anna") // who answered remains who answered
	team.AddLeader("tom", charter.KindPerson)
	team.Stop()
	team.Start()
	boss := team.Connect("tom")
	if got := pending(t, boss, 1); !slices.Equal(got, []string{open}) {
		t.Errorf("pending %v, want the open question alone", got)
	}
	if r := row(t, boss, done, isSettled); r.Answer == nil || r.Answer.By != "anna" || r.Answer.Answer.Option != "USD" {
		t.Errorf("the answered question is %+v, want anna's answer", r.Answer)
	}
	if r := row(t, boss, gone, isSettled); r.Withdrawn != "exit" {
		t.Errorf("the withdrawn question is %+v", r)
	}
}

// Questions do not take the room of permission requests, and a teammate's own pile up to a limit.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	var ids []string
	for i := range 18 {
		ids = append(ids, question(t, api, "api", fmt.Sprint("q", i)))
	}
	perm := askPermission(t, api, "api", "ls")
	row(t, anna, perm, isOpen)
	if got, want := pending(t, anna, 17), append(slices.Clone(ids[2:]), perm); !slices.Equal(got, want) {
		t.Errorf("pending %v, want the newest 16 and the call", got)
	}
	if r := row(t, anna, ids[0], isSettled); r.Withdrawn == "" {
		t.Errorf("the oldest question is %+v, want it closed with a reason", r)
	}
}

// A leader compares a revision with the last one that was decided before it, or else with the one before.
func TestWhichRevisionCameBefore(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	revision := func(plan string, n int) string {
		return ask(t, api, "api", func(r *planmode.ApprovalRequest) { r.PlanID, r.Revision = plan, n })
	}
	one := revision("p1", 1)
	two := revision("p1", 2)
	if r := row(t, anna, two, isOpen); r.Previous != one {
		t.Errorf("before r2 came %q, want the undecided %s", r.Previous, one)
	}
	decide(t, team, anna, "anna", "api", two, planmode.OutcomeRejected, "")
	row(t, anna, two, isSettled)
	three := revision("p1", 3) // replaced before anybody decides
	four := revision("p1", 4)
	if r := row(t, anna, four, isOpen); r.Previous != two {
		t.Errorf("before r4 came %q, want the decided r2 %s, not r3 %s", r.Previous, two, three)
	}
	again := revision("p1", 4) // asked again under another id
	if r := row(t, anna, again, isOpen); r.Previous != two {
		t.Errorf("before r4 asked again came %q, want r2 %s", r.Previous, two)
	}
	if r := row(t, anna, revision("p2", 1), isOpen); r.Previous != "" {
		t.Errorf("before another plan came %q, want nothing", r.Previous)
	}
}
