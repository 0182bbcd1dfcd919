package leader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/facts"
)

// question asks as a teammate does, and returns the id of its mail.
func (c *crew) question(box *natsbox.Conn, from, text string, options ...string) string {
	c.t.Helper()
	id := natsbox.NewRequestID()
	c.send(box, from, id, mailbox.KindQuestion, mailbox.Question{QuestionID: id, Text: text, Options: options})
	return id
}

// answers reads the answers in a teammate's mailbox: n of them, in its order.
func (c *crew) answers(box *natsbox.Conn, n int) []natsbox.Mail {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var got []natsbox.Mail
	_ = box.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		if m.Envelope.Kind == mailbox.KindAnswer {
			got = append(got, m)
		}
		if len(got) == n {
			cancel()
		}
		return nil
	})
	if len(got) != n {
		c.t.Fatalf("%d answers came, want %d", len(got), n)
	}
	return got
}

func bodyOf(t testing.TB, m natsbox.Mail) mailbox.Answer {
	t.Helper()
	a, err := mailbox.Body[mailbox.Answer](m.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// replier answers every question with one text.
type replier struct {
	leader.Nobody
	answer mailbox.Answer
	err    error
}

func (r replier) Reply(context.Context, leader.Request) (mailbox.Answer, error) {
	return r.answer, r.err
}

func TestDeskAnswersQuestions(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Seats: []leader.Seat{
		{Decider: leader.Nobody{}},
		{Decider: replier{err: fmt.Errorf("%w: not my subject", leader.ErrAbstain)}},
		{Decider: replier{answer: mailbox.Answer{}}}, // says nothing, so that it has not answered
		{Decider: replier{answer: mailbox.Answer{Option: "2", Text: "as on the invoices"}}},
		{Decider: replier{answer: mailbox.Answer{Text: "too late"}}},
	}})
	id := c.question(api, "api", "Which currency is the default?", "USD", "EUR")
	e := d.wait(leader.EventQuestion)
	if e.Row == nil || e.Row.Kind != leader.RowQuestion || e.Question.Text != "Which currency is the default?" || e.Teammate != "api" || e.RequestID != id {
		t.Errorf("question: %+v", e)
	}
	e = d.wait(leader.EventReplied)
	if e.Reply == nil || e.Reply.Option != "EUR" || e.Reply.Text != "as on the invoices" || e.By != "rules" || !e.Here || e.RequestID != id {
		t.Errorf("replied: %+v", e)
	}
	m := c.answers(api, 1)[0]
	if a := bodyOf(t, m); m.Subject.From != "rules" || m.Envelope.InReplyTo != id || a.QuestionID != id || a.Option != "EUR" {
		t.Errorf("the teammate reads %+v from %s in reply to %s", a, m.Subject.From, m.Envelope.InReplyTo)
	}
	if rows := d.Waiting(); len(rows) != 0 {
		t.Errorf("%d requests wait after the answer", len(rows))
	}
}

func TestUnattendedDeskAnswersThatNobodyIsHere(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: leader.Nobody{}}}, Unattended: true})
	begin := time.Now()
	c.question(api, "api", "Which?")
	e := d.wait(leader.EventReplied)
	if e.Reply.Text != "nobody is here to answer: decide from what you have" || e.Reply.Option != "" {
		t.Errorf("replied: %+v", e.Reply)
	}
	if a := bodyOf(t, c.answers(api, 1)[0]); a.Text != leader.NobodyHere {
		t.Errorf("the teammate reads %+v", a)
	}
	t.Logf("after %v", time.Since(begin))
}

// A question that a person answers elsewhere, or that its teammate withdraws, leaves the desk, and whoever thinks about it
// is told.
func TestQuestionsLeaveTheDesk(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	b := thinker{ended: make(chan error, 2)}
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: b}}})
	id := c.question(api, "api", "Which?")
	d.wait(leader.EventQuestion)
	tom := c.Connect("tom")
	if _, err := leader.Reply(context.Background(), tom, c.Charter(), "tom", c.find(tom, id), "", "this one", time.Now()); err != nil {
		t.Fatal(err)
	}
	if e := d.wait(leader.EventReplied); e.By != "tom" || e.Here || e.Reply.Text != "this one" || e.RequestID != id {
		t.Errorf("replied: %+v", e)
	}
	<-b.ended
	gone := c.question(api, "api", "And this?")
	d.wait(leader.EventQuestion)
	c.send(api, "api", natsbox.NewID(), mailbox.KindPlanWithdrawn, planmode.Withdrawn{RequestID: gone, Reason: planmode.WithdrawnInterrupt})
	if e := d.wait(leader.EventWithdrawn); e.RequestID != gone || e.Reason != "interrupted" {
		t.Errorf("withdrawn: %+v", e)
	}
	<-b.ended
}

// thinker thinks about a question until it is asked no more.
type thinker struct {
	leader.Nobody
	ended chan error
}

func (b thinker) Reply(ctx context.Context, _ leader.Request) (mailbox.Answer, error) {
	<-ctx.Done()
	b.ended <- context.Cause(ctx)
	return mailbox.Answer{}, context.Cause(ctx)
}

// A desk that starts again finds the questions that nobody has answered.
func TestQuestionsWaitForADesk(t *testing.T) {
	c := newCrew(t)
	api, mia := c.Connect("api"), c.Connect("mia")
	done, open := c.question(api, "api", "Done?"), c.question(api, "api", "Open?")
	if _, err := leader.Reply(context.Background(), mia, c.Charter(), "mia", c.find(mia, done), "", "yes", time.Now()); err != nil {
		t.Fatal(err)
	}
	c.find(mia, open)
	d := c.startDesk(leader.Config{})
	for e := d.wait(leader.EventUndecided); ; e = d.wait(leader.EventUndecided) {
		if e.RequestID == open && e.Row.Kind == leader.RowQuestion {
			break
		}
	}
	rows := d.Waiting()
	for end := time.Now().Add(time.Minute); len(rows) != 1 && time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		rows = d.Waiting() // the answered one comes with the mail, and leaves when the coordinator has said that it is
	}
	if len(rows) != 1 || rows[0].EnvelopeID != open || rows[0].Question == nil {
		t.Errorf("waiting: %+v, want the open question", rows)
	}
}

func TestDeskRefusesOddQuestions(t *testing.T) {
	c := newCrew(t)
	api, mia := c.Connect("api"), c.Connect("mia")
	d := c.startDesk(leader.Config{Unattended: true})
	for name, q := range map[string]mailbox.Question{
		"it asks nothing":   {QuestionID: "q", Text: " \n"},
		"has 17000 bytes":   {QuestionID: "q", Text: strings.Repeat("x", 17000)},
		"has 5 options":     {QuestionID: "q", Text: "Which?", Options: []string{"a", "b", "c", "d", "e"}},
		"an option is empt": {QuestionID: "q", Text: "Which?", Options: []string{"a", ""}},
		"has no id":         {Text: "Which?"},
	} {
		c.send(api, "api", natsbox.NewRequestID(), mailbox.KindQuestion, q)
		if e := d.wait(leader.EventOdd); !strings.Contains(e.Reason, name) {
			t.Errorf("odd: %q, want %q", e.Reason, name)
		}
	}
	c.send(mia, "mia", natsbox.NewID(), mailbox.KindQuestion, mailbox.Question{QuestionID: "q", Text: "Anyone?"})
	if e := d.wait(leader.EventQuestion); e.Teammate != "mia" || e.Question.Text != "Anyone?" || e.Row != nil {
		t.Errorf("a leader's question: %+v", e)
	}
}

// questionRow is a question as a leader sees it.
func (s shop) questionRow(t testing.TB, text string, options ...string) leader.Row {
	t.Helper()
	id := natsbox.NewRequestID()
	r, err := leader.NewRow(natsbox.Row{
		Question: &mailbox.Question{QuestionID: id, Text: text, Options: options}, From: "api", EnvelopeID: id, StoredAt: noon.Add(-3 * time.Minute),
	}, leader.RowConfig{Charter: s.Charter, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPrepareReply(t *testing.T) {
	s := newShop(t)
	r := s.questionRow(t, "Which currency?", "USD", "2", "EUR\x1b[2J")
	plain := s.questionRow(t, "Why?")
	if r.Kind != leader.RowQuestion || r.Goal != "Which currency?" || r.Risk.Level != facts.Low || r.IsHigh() {
		t.Fatalf("row = %+v", r)
	}
	answered, withdrawn, odd := r, r, r
	answered.Answer = &natsbox.AnswerInfo{By: "tom", StoredAt: noon}
	withdrawn.Withdrawn = "interrupted"
	odd.Problem = errors.New("odd")
	for _, c := range []struct {
		name         string
		row          leader.Row
		option, text string
		want         mailbox.Answer
		err, says    string
		code         int
	}{
		{name: "text", row: plain, text: "because", want: mailbox.Answer{Text: "because"}},
		{name: "a label", row: r, option: "USD", want: mailbox.Answer{Option: "USD"}},
		{name: "a label before a number", row: r, option: "2", want: mailbox.Answer{Option: "2"}},
		{name: "a number, and text", row: r, option: "3", text: "so", want: mailbox.Answer{Option: "EUR\x1b[2J", Text: "so"}},
		{name: "nothing", row: r, text: " \n\u200b", err: leader.NameBadChoice, says: "is empty", code: 2},
		{name: "a number that is another's label", row: s.questionRow(t, "Which?", "2", "1"), option: "1", err: leader.NameBadChoice, says: `"1" is the number of one option`, code: 2},
		{name: "no such option", row: r, option: "4", err: leader.NameBadChoice, says: `has no option "4": choose 1 USD, 2 2, 3 EUR<1B>[2J`, code: 2},
		{name: "no options", row: plain, option: "1", err: leader.NameBadChoice, says: "answer it with text", code: 2},
		{name: "too long", row: plain, text: strings.Repeat("x", 65<<10), err: leader.NameBadChoice, says: "bytes", code: 2},
		{name: "bytes", row: plain, text: "\xff", err: leader.NameBadChoice, says: "UTF-8", code: 2},
		{name: "a plan", row: s.row(t, ask{from: "api"}), text: "yes", err: leader.NameBadChoice, says: "is a plan, not a question", code: 2},
		{name: "a call", row: s.call(t, "Bash", "ls"), text: "yes", err: leader.NameBadChoice, says: "is a request, not a question", code: 2},
		{name: "answered", row: answered, text: "yes", err: leader.NameAlreadyDecided, says: "tom answered " + r.Handle, code: 13},
		{name: "withdrawn", row: withdrawn, text: "yes", err: leader.NameWithdrawn, says: "interrupted", code: 6},
		{name: "odd", row: odd, text: "yes", err: leader.NameOddRequest, says: "odd", code: 6},
	} {
		got, err := leader.PrepareReply(c.row, c.option, c.text)
		if c.err == "" {
			c.want.QuestionID = c.row.Question.QuestionID
			if err != nil || got != c.want {
				t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
			}
			continue
		}
		var e *leader.Error
		if !errors.As(err, &e) || e.Name != c.err || e.Code != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %d %s with %q", c.name, err, c.code, c.err, c.says)
		}
	}
}

// Nothing about a question can be approved or rejected.
func TestAQuestionIsNotDecided(t *testing.T) {
	s := newShop(t)
	r := s.questionRow(t, "May I push to main?")
	want := r.Handle + " is a question: there is nothing to approve: answer it with swarm answer " + r.Handle + " TEXT"
	for name, err := range map[string]error{
		"plan": func() error {
			_, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved}, s.Charter, noon)
			return err
		}(),
		"call": func() error {
			_, err := leader.PrepareAnswer(r, leader.Choice{Outcome: planmode.OutcomeApproved}, noon)
			return err
		}(),
		"published": func() error {
			_, err := leader.Publish(context.Background(), slots{t}, s.signer(t, "mia"), s.Charter, r, planmode.Decision{})
			return err
		}(),
		"published answer": func() error {
			a := planmode.PermissionAnswer{}
			a.Behavior = permissions.BehaviorAllow
			_, err := leader.PublishAnswer(context.Background(), slots{t}, s.signer(t, "mia"), s.Charter, r, a)
			return err
		}(),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// Two leaders who answer at once: the teammate hears one first, that one is told nothing, and the other who was first.
func TestTwoLeadersAnswer(t *testing.T) {
	leader.LookLonger(t)
	c := newCrew(t)
	api := c.Connect("api")
	boxes := map[string]*natsbox.Conn{"mia": c.Connect("mia"), "tom": c.Connect("tom")}
	const rounds = 20
	told := map[string]string{} // question -> who was told nothing
	for range rounds {
		id := c.question(api, "api", "Which?")
		row := c.find(boxes["mia"], id)
		var mu sync.Mutex
		var wg sync.WaitGroup
		errs := map[string]error{}
		for name, box := range boxes {
			wg.Go(func() {
				_, err := leader.Reply(context.Background(), box, c.Charter(), name, row, "", "from "+name, time.Now())
				mu.Lock()
				defer mu.Unlock()
				errs[name] = err
			})
		}
		wg.Wait()
		winner, loser := "mia", "tom"
		if errs["mia"] != nil {
			winner, loser = "tom", "mia"
		}
		var lost *leader.DecidedError
		if errs[winner] != nil || !errors.As(errs[loser], &lost) || lost.By != winner {
			t.Fatalf("mia: %v, tom: %v; want one winner, named to the other", errs["mia"], errs["tom"])
		}
		told[id] = winner
	}
	heard := map[string]bool{}
	for _, m := range c.answers(api, 2*rounds) {
		if id := m.Envelope.InReplyTo; !heard[id] {
			heard[id] = true
			if m.Subject.From != told[id] {
				t.Errorf("the teammate hears %s first, and %s was told that it won", m.Subject.From, told[id])
			}
		}
	}
}

// Without a coordinator an answer is sent all the same, and nobody is said to have been first.
func TestReplyWithoutACoordinator(t *testing.T) {
	c := newCrew(t)
	api, mia := c.Connect("api"), c.Connect("mia")
	id := c.question(api, "api", "Which?")
	row := c.find(mia, id)
	ch := c.Charter()
	c.StopCoordinator()
	if _, err := leader.Reply(context.Background(), mia, ch, "mia", row, "", "this", time.Now()); err != nil {
		t.Errorf("Reply = %v", err)
	}
	if a := bodyOf(t, c.answers(api, 1)[0]); a.Text != "this" {
		t.Errorf("the teammate reads %+v", a)
	}
}

func TestWrite(t *testing.T) {
	c := newCrew(t)
	mia, api := c.Connect("mia"), c.Connect("api")
	for _, to := range []string{"api", mailbox.All, "tom", mailbox.Lead} {
		if id, err := leader.Write(context.Background(), mia, c.Charter(), "mia", to, mailbox.Message{Text: "mind the tests", Urgent: true}, time.Now()); err != nil || id == "" {
			t.Errorf("to %s: %q, %v", to, id, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var got []mailbox.Message
	_ = api.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		b, err := mailbox.Body[mailbox.Message](m.Envelope)
		if got = append(got, b); len(got) == 2 {
			cancel()
		}
		return err
	})
	if len(got) != 2 || got[0].Text != "mind the tests" || !got[0].Urgent {
		t.Errorf("api reads %+v", got)
	}
	s := newShop(t)
	for name, c := range map[string]struct{ to, text, says string }{
		"nobody":    {"apy", "hello", "did you mean api"},
		"no leader": {"mai", "hello", "did you mean mia"},
		"not lead":  {"leed", "hello", "did you mean lead"},
		"nothing":   {"api", " \t", "is empty"},
		"too long":  {"api", strings.Repeat("x", 65<<10), "bytes"},
		"bytes":     {"api", "\xfe", "UTF-8"},
	} {
		_, err := leader.Write(context.Background(), nobodySends{t}, s.Charter, "mia", c.to, mailbox.Message{Text: c.text}, noon)
		var e *leader.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// nobodySends is where no mail may arrive.
type nobodySends struct{ t *testing.T }

func (n nobodySends) Send(context.Context, mailbox.Envelope) (natsbox.Stored, error) {
	n.t.Error("mail was sent")
	return natsbox.Stored{}, errors.New("sent")
}
