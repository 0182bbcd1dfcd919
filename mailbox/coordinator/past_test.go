package coordinator_test

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
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func pastOf(t testing.TB, c *natsbox.Conn) []natsbox.Past {
	t.Helper()
	past, err := c.Past(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return past
}

// What has ended is listed with how, by whom and when, the newest end first, also after a restart.
func TestPastRequests(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	first := ask(t, api, "api")
	second := ask(t, api, "api", func(r *planmode.ApprovalRequest) { r.Revision, r.Supersedes = 2, first })
	row(t, anna, second, isOpen)
	gone := ask(t, docs, "docs")
	mail(t, docs, "docs", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: gone, Reason: planmode.WithdrawnInterrupt})
	row(t, anna, gone, isSettled)
	decide(t, team, anna, "anna", "api", second, planmode.OutcomeApproved, permissions.ModeDefault)
	row(t, anna, second, isSettled)
	asked := question(t, docs, "docs", "Which currency?")
	row(t, anna, asked, isOpen)
	answer(t, anna, "anna", "docs", asked, "EUR")
	row(t, anna, asked, isSettled)
	open := askPermission(t, api, "api", "ls")
	row(t, anna, open, isOpen)

	for _, restart := range []bool{false, true} {
		if restart {
			team.Stop()
			team.Start()
			row(t, anna, open, isOpen)
		}
		past := pastOf(t, anna)
		var got []string
		for i, p := range past {
			what := fmt.Sprintf("%s %s %s", p.EnvelopeID, p.Kind, p.Title)
			switch {
			case p.Decision != nil:
				what += fmt.Sprintf(" %s by %s r%d", p.Decision.Outcome, p.Decision.By.Name, p.Revision)
			case p.Answer != nil:
				what += " answered by " + p.Answer.By
			}
			got = append(got, what+" "+p.Withdrawn+p.SupersededBy)
			if p.EndedAt.IsZero() || p.Request != nil || p.Question != nil || p.Decision != nil && len(p.Decision.Order.Payload) > 0 {
				t.Errorf("row %d is %+v, want the time of its end and no bodies", i, p)
			}
			if i > 0 && p.EndedAt.After(past[i-1].EndedAt) {
				t.Errorf("row %d ended after the one before it", i)
			}
		}
		want := []string{
			asked + " question Which currency? answered by anna ", second + " plan Fix it approved by anna r2 ",
			gone + " plan Fix it interrupted", first + " plan Fix it " + second,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("after a restart %t:\n%s\nwant\n%s", restart, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if past := pastOf(t, api); len(past) != 2 {
		t.Errorf("api is shown %d past requests, want its own two", len(past))
	}
}

// A name is its teammate's newest request, whatever became of it, and nothing that another calls so.
func TestARequestByItsTeammatesName(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	if _, err := anna.Request(t.Context(), "api"); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("a teammate that has asked nothing: %v, want ErrNotFound", err)
	}
	old := ask(t, api, "api")
	row(t, anna, old, isOpen)
	decide(t, team, anna, "anna", "api", old, planmode.OutcomeRejected, "")
	row(t, anna, old, isSettled)
	mail(t, docs, "docs", 1, mailbox.KindQuestion, "api", mailbox.Question{QuestionID: "q", Text: "I call myself api"})
	row(t, anna, "docs", isOpen)
	r, err := anna.Request(t.Context(), "api")
	if err != nil || r.EnvelopeID != old || r.Decision == nil || len(r.Decision.Order.Payload) == 0 || r.Request == nil {
		t.Errorf("Request(api) = %+v, %v; want the rejected plan with its decision", r, err)
	}
	if _, err := docs.Request(t.Context(), "api"); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("docs reads api's newest: %v, want ErrNotFound", err)
	}
	next := ask(t, api, "api")
	if r := row(t, anna, "api", isOpen); r.EnvelopeID != next || r.Seq == 0 {
		t.Errorf("Request(api) = %+v, want the one that waits, with its place in the stream", r)
	}
}

// Leaders read what was sent to lead, and to themselves, also after a restart; teammates do not.
func TestMailToLeaders(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("tom", charter.KindPerson)
	anna, tom, api := team.Connect("anna"), team.Connect("tom"), team.Connect("api")
	text := strings.Repeat("<\u2028", 35<<10) // too much for one answer, as JSON
	for i := range 24 {
		mail(t, api, "api", 1, mailbox.KindMessage, "", mailbox.Message{Text: fmt.Sprint(i) + text, Urgent: i == 3})
	}
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", "anna", 1, time.Now(), mailbox.Message{Text: "for anna"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	mark := ask(t, api, "api")
	for _, restart := range []bool{false, true} {
		if restart {
			team.Stop()
			team.Start()
		}
		row(t, anna, mark, isOpen)
		got, err := anna.Mail(t.Context())
		if err != nil || len(got) != 25 || got[0].Text != "for anna" || got[0].To != "anna" || got[0].ID != e.ID {
			t.Fatalf("after a restart %t: anna has %d letters, %v; want 25, her own first", restart, len(got), err)
		}
		for i, m := range got[1:] {
			if n := 23 - i; m.Text != fmt.Sprint(n)+text || m.From != "api" || m.To != mailbox.Lead || m.Urgent != (n == 3) || m.At.IsZero() || m.Partial {
				t.Errorf("letter %d: %d bytes from %s, urgent %t, partial %t", n, len(m.Text), m.From, m.Urgent, m.Partial)
			}
		}
		if got, err := tom.Mail(t.Context()); err != nil || len(got) != 24 {
			t.Errorf("tom has %d letters, %v; want the 24 to lead", len(got), err)
		}
	}
	if _, err := api.Mail(t.Context()); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a teammate reads it: %v, want ErrForbidden", err)
	}
}

func TestTheLastHundredLettersAreKept(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	for i := range 103 {
		mail(t, api, "api", 1, mailbox.KindMessage, "", mailbox.Message{Text: fmt.Sprint(i)})
	}
	row(t, anna, ask(t, api, "api"), isOpen)
	got, err := anna.Mail(t.Context())
	if err != nil || len(got) != 100 || got[0].Text != "102" || got[99].Text != "3" {
		t.Errorf("%d letters, %v; want 100, from 102 to 3", len(got), err)
	}
}
