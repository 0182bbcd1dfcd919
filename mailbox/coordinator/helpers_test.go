package coordinator_test

import (
	"context"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// shop is a team of one leader and two teammates.
func shop(t testing.TB, opts ...mailboxtest.Option) *mailboxtest.Team {
	t.Helper()
	team := mailboxtest.Server(t, opts...)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	team.AddTeammate("docs")
	return team
}

// mail sends a body to the leaders, under an id of its own or the one that is given.
func mail(t testing.TB, c *natsbox.Conn, from string, epoch uint64, kind mailbox.Kind, id string, body any) {
	t.Helper()
	if id == "" {
		id = natsbox.NewID()
	}
	e, err := mailbox.New(id, kind, "shop", from, mailbox.Lead, epoch, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

// ask submits a plan and returns its request id.
func ask(t testing.TB, c *natsbox.Conn, from string, change ...func(*planmode.ApprovalRequest)) string {
	t.Helper()
	id := natsbox.NewRequestID()
	content := []byte("# Fix it\n")
	r := planmode.ApprovalRequest{
		RequestID: id, PlanID: "p1", Revision: 1, Kind: planmode.AskPlan, SavedMode: permissions.ModeDefault,
		Plan: plans.Plan{Name: "fix.md", Content: content, Bytes: len(content)},
	}
	for _, f := range change {
		f(&r)
	}
	mail(t, c, from, 1, mailbox.KindPlanApprovalRequest, id, r)
	return id
}

// askPermission submits a permission request and returns its id.
func askPermission(t testing.TB, c *natsbox.Conn, from, line string) string {
	t.Helper()
	id := natsbox.NewRequestID()
	mail(t, c, from, 1, mailbox.KindPermissionRequest, id, permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: line})
	return id
}

func head(team *mailboxtest.Team, leader string) mailbox.OrderHead {
	ch := team.Charter()
	m, _ := ch.Member(leader)
	return mailbox.OrderHead{
		TeamID: ch.TeamID, CharterSerial: ch.Serial, Epoch: 1, DecidedAt: time.Now().UTC().Round(0),
		DecidedBy: mailbox.DecidedBy{Name: leader, Kind: string(m.Kind), Via: "command", Assurance: string(m.Assurance)},
	}
}

// decide puts a signed decision into the slot of a request.
func decide(t testing.TB, team *mailboxtest.Team, c *natsbox.Conn, leader, to, id string, outcome planmode.Outcome, mode permissions.Mode) {
	t.Helper()
	body := planmode.Decision{
		OrderHead: head(team, leader), RequestID: id, Revision: 1, Outcome: outcome,
		Approved: outcome == planmode.OutcomeApproved, Mode: mode, PlanDigest: "d",
	}
	put(t, team, c, leader, to, id, mailbox.KindPlanApprovalResponse, body)
}

func put(t testing.TB, team *mailboxtest.Team, c *natsbox.Conn, leader, to, id string, kind mailbox.Kind, body any) {
	t.Helper()
	payload, sig := sign(t, team, leader, to, id, mailbox.DecisionSubject("shop", to, id), kind, body)
	if _, err := c.PutDecision(context.Background(), to, id, payload, []string{sig}); err != nil {
		t.Fatal(err)
	}
}

// orderMode puts a signed mode_set_request, and returns its id.
func orderMode(t testing.TB, team *mailboxtest.Team, c *natsbox.Conn, leader, to string, mode permissions.Mode) string {
	t.Helper()
	id := natsbox.NewID()
	subject := mailbox.OrderSubject("shop", to, leader, mailbox.KindModeSetRequest)
	body := planmode.ModeSet{OrderHead: head(team, leader), Counter: 1, Mode: mode}
	payload, sig := sign(t, team, leader, to, id, subject, mailbox.KindModeSetRequest, body)
	if _, err := c.PutOrder(context.Background(), to, mailbox.KindModeSetRequest, payload, []string{sig}); err != nil {
		t.Fatal(err)
	}
	return id
}

func sign(t testing.TB, team *mailboxtest.Team, leader, to, id, subject string, kind mailbox.Kind, body any) (payload []byte, sig string) {
	t.Helper()
	e, err := mailbox.New(id, kind, "shop", leader, to, 1, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	if payload, err = mailbox.Encode(e); err != nil {
		t.Fatal(err)
	}
	if sig, err = charter.SignOrder(team.Key(leader), subject, payload); err != nil {
		t.Fatal(err)
	}
	return payload, sig
}

// row waits until the coordinator shows a request as it is wanted, and returns it.
func row(t testing.TB, c *natsbox.Conn, id string, want func(natsbox.Row) bool) natsbox.Row {
	t.Helper()
	var r natsbox.Row
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		r, err = c.Request(context.Background(), id)
		if err == nil && (want == nil || want(r)) {
			return r
		}
	}
	t.Fatalf("request %s is %+v (%v) after 30 s", id, r, err)
	return r
}

func isOpen(r natsbox.Row) bool    { return r.Open() }
func isSettled(r natsbox.Row) bool { return !r.Open() }

// pending waits until the coordinator shows so many open requests, and returns their ids.
func pending(t testing.TB, c *natsbox.Conn, n int) []string {
	t.Helper()
	var ids []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		var rows []natsbox.Row // as they come, not completed
		if err := c.Call(context.Background(), natsbox.VerbPending, nil, &rows); err != nil {
			t.Fatal(err)
		}
		ids = nil
		for _, r := range rows {
			ids = append(ids, r.EnvelopeID)
		}
		if len(ids) == n {
			return ids
		}
	}
	t.Fatalf("%d requests pending (%v), want %d", len(ids), ids, n)
	return nil
}
