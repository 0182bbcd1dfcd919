package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// posts sends mail to somebody and returns its id.
func posts(t testing.TB, c *natsbox.Conn, from, to string, kind mailbox.Kind, body any) string {
	t.Helper()
	e, err := mailbox.New(natsbox.NewID(), kind, "shop", from, to, 1, time.Now(), body)
	if err == nil {
		_, err = c.Send(context.Background(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// way is a trace in short: "stored api; delivered policy | seen anna away".
func way(tr natsbox.Trace) string {
	var steps, waits []string
	for _, s := range tr.Steps {
		steps = append(steps, strings.TrimSpace(strings.Join([]string{s.State, s.By, s.Of, s.Outcome}, " ")))
	}
	for _, w := range tr.Waits {
		there := "away"
		if w.Live {
			there = "there"
		}
		waits = append(waits, w.For+" "+w.Who+" "+there)
	}
	return strings.Join(strings.Fields(strings.Join(steps, "; ")+" | "+strings.Join(waits, "; ")), " ")
}

// wantWay waits until the trace of an id is as it is wanted.
func wantWay(t testing.TB, c *natsbox.Conn, id, want string) natsbox.Trace {
	t.Helper()
	var tr natsbox.Trace
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		if tr, err = c.Trace(context.Background(), id); err == nil && way(tr) == strings.TrimSpace(want) {
			return tr
		}
	}
	t.Fatalf("the trace of %s is\n%s (%v), want\n%s", id, way(tr), err, want)
	return tr
}

// The way of mail, of a request and of an order is told from what is stored, also by a coordinator that has just started.
func TestTrace(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Connect("anna")
	letter := posts(t, anna, "anna", "api", mailbox.KindMessage, mailbox.Message{Text: "mind the tests", Urgent: true})
	tr := wantWay(t, anna, letter, "stored anna | delivered api away")
	if s := tr.Steps[0]; s.Stream != "MB_shop" || s.Seq == 0 || s.At.IsZero() || !tr.Urgent || tr.Kind != mailbox.KindMessage {
		t.Errorf("trace %+v, want where and when it is stored", tr)
	}
	api := team.Dial("api")
	join(t, api, inMode(permissions.ModeDefault))
	wantWay(t, anna, letter, "stored anna | delivered api there")
	receipt := func(c *natsbox.Conn, from, to, of string, state mailbox.ReceiptState) {
		posts(t, c, from, to, mailbox.KindReceipt, mailbox.Receipt{Of: of, State: state})
	}
	receipt(team.Connect("docs"), "docs", "lead", letter, mailbox.Seen) // about mail that is not its own
	receipt(api, "api", "lead", letter, mailbox.Delivered)
	wantWay(t, anna, letter, "stored anna; delivered api | seen api there")
	receipt(api, "api", "lead", letter, mailbox.Seen)

	asked := ask(t, api, "api")
	wantWay(t, anna, asked, "stored api | decided lead there")
	receipt(anna, "anna", "api", asked, mailbox.Seen)
	wantWay(t, anna, mailbox.Handle("api", asked, 4), "stored api; seen anna | decided lead there")
	decide(t, team, anna, "anna", "api", asked, planmode.OutcomeApproved, permissions.ModeDefault)
	wantWay(t, anna, asked, "stored api; seen anna; decided anna approved | applied api there")
	receipt(api, "api", "lead", asked, mailbox.Applied)

	order := orderMode(t, team, anna, "anna", "api", permissions.ModePlan)
	wantWay(t, anna, order, "stored anna | applied api there")
	posts(t, api, "api", "lead", mailbox.KindReceipt, mailbox.Receipt{Of: order, State: mailbox.Refused, Reason: "not now"})
	gone := ask(t, api, "api")
	mail(t, api, "api", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: gone, Reason: planmode.WithdrawnByAgent})
	toLead := posts(t, api, "api", "lead", mailbox.KindMessage, mailbox.Message{Text: "done"})

	want := map[string]string{
		letter: "stored anna; delivered api; seen api |",
		asked:  "stored api; seen anna; decided anna approved; applied api decision |",
		order:  "stored anna; refused api |",
		gone:   "stored api; withdrawn api |",
		toLead: "stored api | delivered lead there",
	}
	for id, way := range want {
		wantWay(t, anna, id, way)
	}
	before, _ := anna.Trace(t.Context(), asked)
	team.StopCoordinator()
	team.Stop()
	team.Start()
	again := team.Connect("anna")
	for id, way := range want {
		wantWay(t, again, id, way)
	}
	if after, err := again.Trace(t.Context(), asked); err != nil || fmt.Sprint(after.Steps) != fmt.Sprint(before.Steps) {
		t.Errorf("after a restart the trace is\n%+v (%v), it was\n%+v", after.Steps, err, before.Steps)
	}
}

// Mail to everybody waits for each teammate, and mail to the leaders for one of them.
func TestTraceOfMailToMany(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	all := posts(t, anna, "anna", mailbox.All, mailbox.KindMessage, mailbox.Message{Text: "stop"})
	wantWay(t, anna, all, "stored anna | delivered api there; delivered docs there")
	for name, c := range map[string]*natsbox.Conn{"api": api, "docs": docs} {
		posts(t, c, name, "lead", mailbox.KindReceipt, mailbox.Receipt{Of: all, State: mailbox.Delivered})
	}
	posts(t, api, "api", "lead", mailbox.KindReceipt, mailbox.Receipt{Of: all, State: mailbox.Seen})
	until := func() bool {
		tr, err := anna.Trace(t.Context(), all)
		return err == nil && len(tr.Steps) == 4 && len(tr.Waits) == 1 && tr.Waits[0].Who == "docs" && tr.Waits[0].For == "seen"
	}
	for end := time.Now().Add(time.Minute); !until(); time.Sleep(15 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("docs alone is not waited for")
		}
	}
}

// What a word names, and who may ask about it.
func TestTraceNames(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	one := posts(t, anna, "anna", "api", mailbox.KindMessage, mailbox.Message{Text: "one"})
	two := posts(t, anna, "anna", "api", mailbox.KindMessage, mailbox.Message{Text: "two"})
	for one[:8] != two[:8] { // they begin with the time, which another minute may have begun of in between
		one, two = two, posts(t, anna, "anna", "api", mailbox.KindMessage, mailbox.Message{Text: "three"})
	}
	asked := ask(t, api, "api")
	wantWay(t, anna, "api", "stored api | decided lead there") // its newest request
	for _, id := range []string{one, one[:len(one)-4], two} {
		if tr, err := api.Trace(t.Context(), id); err != nil || tr.From != "anna" || !strings.HasPrefix(tr.ID, id) {
			t.Errorf("api traces %s: %+v, %v", id, tr, err)
		}
	}
	var refused *natsbox.ServiceError
	if _, err := anna.Trace(t.Context(), one[:8]); !errors.As(err, &refused) || refused.Code != natsbox.CodeBadRequest || !strings.Contains(err.Error(), two) {
		t.Errorf("Trace(%s) = %v, want both ids", one[:8], err)
	}
	near := mailbox.Handle("api", asked, 4)
	if _, err := anna.Trace(t.Context(), near[:len(near)-1]+"u"); !errors.As(err, &refused) || !slices.Contains(refused.Near, near) {
		t.Errorf("Trace of a misspelt handle = %v, want %s as near", err, near)
	}
	old := natsbox.IDOf(time.Now().Add(-15*day), "old")
	if at, ok := natsbox.TimeOf(old); !ok || time.Since(at).Round(time.Hour) != 15*day {
		t.Errorf("TimeOf(%s) = %v, %v, want 15 days ago", old, at, ok)
	}
	if _, err := api.Trace(t.Context(), old); !errors.Is(err, natsbox.ErrNotFound) || !strings.Contains(err.Error(), "by its id it is of 20") || !strings.Contains(err.Error(), "deleted after 14 days") {
		t.Errorf("the trace of an old id: %v, want that it may have been deleted", err)
	}
	if _, err := api.Trace(t.Context(), natsbox.NewID()); !errors.Is(err, natsbox.ErrNotFound) || strings.Contains(err.Error(), "deleted") {
		t.Errorf("the trace of a new id: %v, want that it is not known, and no more", err)
	}
	for _, id := range []string{one, asked, one[:20], "nothing", "", "\x1b", strings.Repeat("x", 5000)} {
		if _, err := docs.Trace(t.Context(), id); !errors.Is(err, natsbox.ErrNotFound) {
			t.Errorf("docs traces %.20q: %v, want ErrNotFound", id, err)
		}
	}
}
