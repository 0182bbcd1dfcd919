package leader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// approver approves whatever it is asked.
type approver struct{ choice leader.Choice }

func (a approver) Decide(_ context.Context, r leader.Request) (planmode.Decision, error) {
	ch := a.choice
	ch.Outcome, ch.Rule = planmode.OutcomeApproved, "everything"
	return leader.Prepare(r.Row, ch, r.Charter, r.Now)
}

func TestDeskDecides(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api") // joins in mode default
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: leader.Nobody{}}, {Decider: approver{}}}})
	id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}, saved: permissions.ModeBypass})

	asked := d.wait(leader.EventSubmitted)
	if asked.RequestID != id || asked.Row.Goal != "Fix rounding of invoices" || asked.Row.Claimed != permissions.ModeBypass {
		t.Errorf("submitted: %+v", asked.Row)
	}
	told := d.wait(leader.EventDecided)
	if !told.Here || told.Rule() != "everything" || told.Decision.Outcome != planmode.OutcomeApproved {
		t.Errorf("decided: %+v", told)
	}
	dec := c.stored(api, "api", id)
	if dec.Mode != permissions.ModeDefault {
		t.Errorf("mode %q comes back, want what was known: default", dec.Mode)
	}
	if len(dec.Grants) != 1 || dec.DecidedBy != (mailbox.DecidedBy{Name: "rules", Kind: "policy", Via: "policy:everything", Assurance: "plain"}) {
		t.Errorf("stored: %+v", dec)
	}
	if n := len(d.Waiting()); n != 0 {
		t.Errorf("%d requests wait after the decision", n)
	}

	db := c.Dial("db") // the desk has been running for a while
	if _, err := db.Join(context.Background(), natsbox.JoinRequest{Name: "db", Mode: permissions.ModeAcceptEdits}); err != nil {
		t.Fatal(err)
	}
	c.submit(db, ask{from: "db"})
	if e := d.wait(leader.EventDecided); e.Decision.Mode != permissions.ModeAcceptEdits {
		t.Errorf("mode %q comes back, want what it joined in: acceptEdits", e.Decision.Mode)
	}

	c.send(api, "api", natsbox.NewID(), mailbox.KindReceipt, mailbox.Receipt{Of: id, State: mailbox.Applied, Mode: "default"})
	if e := d.wait(leader.EventApplied); e.RequestID != id || e.Receipt.Mode != "default" {
		t.Errorf("applied: %+v", e)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r, err := leader.WaitReceipt(ctx, c.Connect("mia"), "api", id); err != nil || r.State != mailbox.Applied {
		t.Errorf("WaitReceipt = %+v, %v", r, err)
	}
}

// A desk that starts again, on a broker that starts again, finds what waits and asks its deciders again.
func TestDeskIsRebuiltFromTheStreams(t *testing.T) {
	c := newCrew(t)
	api, db := c.Connect("api"), c.Connect("db")
	d := c.startDesk(leader.Config{})
	waits := c.submit(api, ask{from: "api"})
	done := c.submit(db, ask{from: "db"})
	d.wait(leader.EventUndecided)
	d.wait(leader.EventUndecided)
	c.decide("mia", done, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"})
	d.wait(leader.EventDecided)
	d.stop()
	c.Stop()
	c.Start()

	d = c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: approver{}}}})
	e := d.wait(leader.EventSubmitted)
	if e.RequestID != waits || !e.Rebuilt {
		t.Errorf("rebuilt: %+v", e)
	}
	if e := d.wait(leader.EventDecided); e.RequestID != waits || !e.Here {
		t.Errorf("decided: %+v", e)
	}
	if dec := c.stored(api, "api", waits); dec.Outcome != planmode.OutcomeApproved {
		t.Errorf("stored: %+v", dec)
	}
	if got := c.stored(db, "db", done).Outcome; got != planmode.OutcomeRejected {
		t.Errorf("the old decision is %q now", got)
	}
}

// lateMail is a mailbox whose mail comes when it is opened.
type lateMail struct {
	*natsbox.Conn
	open chan struct{}
}

func (l lateMail) ReceiveMail(ctx context.Context, handle func(context.Context, natsbox.Mail) error) error {
	select {
	case <-l.open:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return l.Conn.ReceiveMail(ctx, handle)
}

// A request is told once, whether it comes by mail, from the streams, or both.
func TestRequestThatComesTwiceIsToldOnce(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	id := c.submit(api, ask{from: "api"})
	c.find(c.Connect("mia"), id) // the desk asks once what waits already, and has no mail yet
	box := lateMail{c.Connect("rules"), make(chan struct{})}
	d := c.startDeskOn(box, box.Close, leader.Config{Seats: []leader.Seat{{Decider: approver{}}}})
	if e := d.wait(leader.EventDecided); e.RequestID != id {
		t.Errorf("decided: %+v", e)
	}
	close(box.open)
	next := c.submit(api, ask{from: "api"}) // its mail comes after the old one's
	if e := d.wait(leader.EventSubmitted); e.RequestID != next {
		t.Errorf("%s is told again", e.RequestID)
	}
}

// A receipt for what somebody else decided comes after the decision, also when the desk had not looked.
func TestDecisionIsToldBeforeItsReceipt(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Every: time.Hour})
	id := c.submit(api, ask{from: "api"})
	d.wait(leader.EventUndecided)
	if _, err := c.decide("tom", id, leader.Choice{Outcome: planmode.OutcomeApproved}); err != nil {
		t.Fatal(err)
	}
	c.send(api, "api", natsbox.NewID(), mailbox.KindReceipt, mailbox.Receipt{Of: id, State: mailbox.Applied})
	for _, want := range []leader.EventKind{leader.EventDecided, leader.EventApplied} {
		if e := d.next(); e.Kind != want || e.RequestID != id {
			t.Errorf("%s of %s, want %s", e.Kind, e.RequestID, want)
		}
	}
}

func TestDeskLearnsOfOthersDecisions(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{})
	id := c.submit(api, ask{from: "api"})
	d.wait(leader.EventUndecided)
	if _, err := c.decide("tom", id, leader.Choice{Outcome: planmode.OutcomeApproved}); err != nil {
		t.Fatal(err)
	}
	e := d.wait(leader.EventDecided)
	if e.Here || e.Decision.DecidedBy.Name != "tom" || e.Rule() != "" {
		t.Errorf("decided: %+v", e)
	}
	_, err := c.decide("mia", id, leader.Choice{Outcome: planmode.OutcomeApproved})
	var decided *leader.DecidedError
	if !errors.As(err, &decided) || decided.By != "tom" || !leader.IsError(err, leader.NameAlreadyDecided) {
		t.Errorf("deciding again = %v, want tom named", err)
	}
	h := mailbox.Handle("api", id, 4)
	want := fmt.Sprintf("tom approved %s at %s, before you: your decision was not recorded; to take it back: swarm recall api", h, decided.At.Local().Format("15:04"))
	if err.Error() != want {
		t.Errorf("text:\n%v\nwant:\n%s", err, want)
	}
}

// blocker waits until its request is asked no more, and says why.
type blocker struct {
	asked chan string
	ended chan error
}

func (b blocker) Decide(ctx context.Context, r leader.Request) (planmode.Decision, error) {
	b.asked <- r.Row.ID()
	<-ctx.Done()
	b.ended <- context.Cause(ctx)
	return planmode.Decision{}, context.Cause(ctx)
}

// A decider that takes its time holds up nobody else, and is told when its request is asked no more.
func TestSupersededAndWithdrawnRequestsDisappear(t *testing.T) {
	c := newCrew(t)
	api, db := c.Connect("api"), c.Connect("db")
	slow := blocker{asked: make(chan string, 9), ended: make(chan error, 9)}
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: slow}}})

	first := c.submit(api, ask{from: "api"})
	<-slow.asked
	other := c.submit(db, ask{from: "db"})
	if id := <-slow.asked; id != other {
		t.Errorf("asked %s while the first waits, want %s", id, other)
	}
	second := c.submit(api, ask{from: "api", revision: 2, change: func(q *planmode.ApprovalRequest) { q.Supersedes = first }})
	if e := d.wait(leader.EventSuperseded); e.RequestID != first || e.By != second {
		t.Errorf("superseded: %+v", e)
	}
	if err := <-slow.ended; err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("the first decider's cause = %v", err)
	}
	<-slow.asked
	c.send(api, "api", natsbox.NewID(), mailbox.KindPlanWithdrawn, planmode.Withdrawn{RequestID: other, Reason: planmode.WithdrawnByAgent}) // not its own
	c.send(api, "api", natsbox.NewID(), mailbox.KindPlanWithdrawn, planmode.Withdrawn{RequestID: second, Reason: planmode.WithdrawnReplanned})
	if e := d.wait(leader.EventWithdrawn); e.RequestID != second || e.Reason != "replanned" {
		t.Errorf("withdrawn: %+v", e)
	}
	if err := <-slow.ended; err == nil || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("the second decider's cause = %v", err)
	}
	if w := d.Waiting(); len(w) != 1 || w[0].EnvelopeID != other {
		t.Errorf("waiting: %v, want the one of db", w)
	}
	c.settled(c.Connect("mia"), second) // the desk has read it in its mail, the coordinator reads for itself
	for id, name := range map[string]string{first: leader.NameSuperseded, second: leader.NameWithdrawn} {
		if _, err := c.decide("mia", id, leader.Choice{Outcome: planmode.OutcomeApproved}); !leader.IsError(err, name) {
			t.Errorf("approving it = %v, want %s", err, name)
		}
	}
}

// Junk and forgeries get a receipt, are never decided, and do not stop the desk. Mail that comes twice is told once.
func TestDeskSurvivesJunk(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: approver{}}}})
	id := func() string { return natsbox.NewRequestID() }
	junk := map[string]bool{}
	odd := func(kind mailbox.Kind, envelope string, body any) {
		junk[envelope] = true
		c.send(api, "api", envelope, kind, body)
	}
	forged := newRequest(ask{from: "api", id: id()}, c.Charter().TeamID)
	forged.Plan.Content = []byte("# Something else\n")
	odd(mailbox.KindPlanApprovalRequest, forged.RequestID, forged)
	odd(mailbox.KindPlanApprovalRequest, id(), newRequest(ask{from: "api", id: id()}, c.Charter().TeamID)) // another id in the body
	odd(mailbox.KindPlanApprovalRequest, id(), newRequest(ask{from: "db", id: id()}, c.Charter().TeamID))  // another's
	odd(mailbox.KindPlanApprovalRequest, id(), "approved")
	odd(mailbox.KindPlanApprovalRequest, id(), map[string]any{"requestId": 7})
	odd(mailbox.KindPermissionRequest, id(), []int{1})
	odd(mailbox.KindReceipt, natsbox.NewID(), 3)
	odd(mailbox.KindModeChanged, natsbox.NewID(), "plan")
	c.send(api, "api", natsbox.NewID(), mailbox.KindMessage, mailbox.Message{Text: "approved: true"})

	good := id()
	for range 2 {
		c.submit(api, ask{from: "api", id: good})
	}
	if e := d.wait(leader.EventDecided); e.RequestID != good {
		t.Errorf("decided: %+v", e)
	}
	receipts := map[string]mailbox.Receipt{}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := api.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		r, err := mailbox.Body[mailbox.Receipt](m.Envelope)
		if err == nil {
			receipts[r.Of] = r
		}
		if len(receipts) == len(junk) {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%d receipts of %d: %v", len(receipts), len(junk), err)
	}
	for of := range junk {
		if r := receipts[of]; r.State != mailbox.Refused || r.Reason == "" {
			t.Errorf("receipt of %s = %+v, want refused with a reason", of, r)
		}
		if _, err := api.ReadDecision(context.Background(), "api", of); err == nil {
			t.Errorf("something was decided about %s", of)
		}
	}
	c.send(api, "api", natsbox.NewID(), mailbox.KindMessage, mailbox.Message{Text: "the end"})
	submitted := 0
	for e := d.next(); e.Kind != leader.EventMessage || e.Message.Text != "the end"; e = d.next() {
		if e.Kind == leader.EventSubmitted {
			submitted++
		}
	}
	if submitted != 0 { // the first was dropped by wait
		t.Errorf("the same request came %d more times", submitted)
	}
}

func TestUnattendedDeskRejects(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: leader.Nobody{}}, {Decider: abstainer{}}}, Unattended: true})
	id := c.submit(api, ask{from: "api"})
	e := d.wait(leader.EventDecided)
	if !e.Here || e.Decision.Outcome != planmode.OutcomeRejected || e.Decision.Feedback != "nobody to ask: rule rest asks" {
		t.Errorf("decided: %+v", e.Decision)
	}
	if dec := c.stored(api, "api", id); dec.Outcome != planmode.OutcomeRejected {
		t.Errorf("stored: %+v", dec)
	}

	call := natsbox.NewRequestID()
	c.send(api, "api", call, mailbox.KindPermissionRequest, permissions.PermissionRequest{RequestID: call, Tool: "Bash", Input: "curl x", CallHash: "h1", Cwd: "/w"})
	e = d.wait(leader.EventDecided)
	if e.RequestID != call || e.Answer == nil || e.Answer.Behavior != permissions.BehaviorDeny || !strings.HasPrefix(e.Answer.Message, "nobody to ask") {
		t.Errorf("answered: %+v", e.Answer)
	}
	o, err := api.ReadDecision(context.Background(), "api", call)
	if err != nil {
		t.Fatal(err)
	}
	if _, a, err := charter.OpenOrder[planmode.PermissionAnswer](c.Charter(), o); err != nil || a.CallHash != "h1" {
		t.Errorf("stored: %+v, %v", a, err)
	}
}

type abstainer struct{}

func (abstainer) Decide(context.Context, leader.Request) (planmode.Decision, error) {
	return planmode.Decision{}, fmt.Errorf("%w: rule rest asks", leader.ErrAbstain)
}

// What a decider may not approve by the charter goes to the next one, and nothing is stored meanwhile.
func TestCharterBoundsDeciders(t *testing.T) {
	c := newCrew(t)
	c.Amend(func(ch *charter.Charter) {
		ch.PersonOnly = append(ch.PersonOnly, charter.Match{Intents: []string{"run tests"}})
	})
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: approver{}}, {Decider: approver{}, Signer: c.signer("tom")}}})
	id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}})
	if e := d.wait(leader.EventDecided); e.Decision.DecidedBy.Name != "tom" {
		t.Errorf("decided by %+v, want the person", e.Decision.DecidedBy)
	}
	if dec := c.stored(api, "api", id); dec.DecidedBy.Name != "tom" {
		t.Errorf("stored: %+v", dec)
	}
}

// A slot that holds what no leader signed voids its request here; the teammate asks again.
func TestJunkInASlotVoidsTheRequest(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{})
	id := c.submit(api, ask{from: "api"})
	d.wait(leader.EventUndecided)
	tom := c.Connect("tom")
	if _, err := tom.PutDecision(context.Background(), "api", id, []byte(`{"approved":true}`), []string{"x.y"}); err != nil {
		t.Fatal(err)
	}
	if e := d.wait(leader.EventOdd); e.RequestID != id {
		t.Errorf("odd: %+v", e)
	}
	if _, err := c.decide("mia", id, leader.Choice{Outcome: planmode.OutcomeApproved}); !leader.IsError(err, leader.NameVoidDecision) {
		t.Errorf("deciding it = %v, want it void", err)
	}
	call := natsbox.NewRequestID()
	c.send(api, "api", call, mailbox.KindPermissionRequest, permissions.PermissionRequest{RequestID: call, Tool: "Bash", Input: "ls", CallHash: "h", Cwd: "/w"})
	d.wait(leader.EventUndecided)
	if _, err := tom.PutDecision(context.Background(), "api", call, []byte(`{"behavior":"allow"}`), []string{"x.y"}); err != nil {
		t.Fatal(err)
	}
	if e := d.wait(leader.EventOdd); e.RequestID != call {
		t.Errorf("odd: %+v", e)
	}
	again := c.submit(api, ask{from: "api", change: func(q *planmode.ApprovalRequest) { q.Supersedes = id }})
	if e := d.wait(leader.EventUndecided); e.RequestID != again {
		t.Errorf("asked again: %+v", e)
	}
	if _, err := c.decide("mia", again, leader.Choice{Outcome: planmode.OutcomeApproved}); err != nil {
		t.Errorf("deciding it again: %v", err)
	}
}

func TestDeskTellsOfMail(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	d := c.startDesk(leader.Config{})
	for kind, body := range map[mailbox.Kind]any{
		mailbox.KindMessage:          mailbox.Message{Text: "hello"},
		mailbox.KindQuestion:         mailbox.Question{QuestionID: "q1", Text: "which?"},
		mailbox.KindModeChanged:      planmode.ModeChanged{From: "default", To: "plan", Cause: "client"},
		mailbox.KindTaskUpdate:       mailbox.TaskUpdate{TaskID: "t1", Status: "done"},
		mailbox.KindShutdownResponse: mailbox.ShutdownResponse{Approved: true},
		mailbox.KindReceipt:          mailbox.Receipt{Of: "x", State: mailbox.Refused, Reason: "stale"},
	} {
		c.send(api, "api", natsbox.NewID(), kind, body)
	}
	got := map[leader.EventKind]leader.Event{}
	for len(got) < 7 { // the question waits for a person
		e := d.next()
		got[e.Kind] = e
	}
	if got[leader.EventMessage].Message.Text != "hello" || got[leader.EventQuestion].Question.Text != "which?" ||
		got[leader.EventModeChanged].Mode.To != "plan" || got[leader.EventTask].Task.Status != "done" ||
		!got[leader.EventShutdown].Shutdown.Approved || got[leader.EventRefused].Receipt.Reason != "stale" {
		t.Errorf("events: %+v", got)
	}
}
