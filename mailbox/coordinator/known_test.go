package coordinator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// knows waits until the coordinator knows a teammate's mode before planning.
func knows(t testing.TB, leader *natsbox.Conn, teammate string, want permissions.Mode) {
	t.Helper()
	var got permissions.Mode
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		var all []natsbox.Presence
		if err := leader.Call(context.Background(), natsbox.VerbPresence, nil, &all); err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Name == teammate {
				got = p.KnownMode
			}
		}
		if got == want {
			return
		}
	}
	t.Fatalf("the known mode of %s is %q, want %q", teammate, got, want)
}

// taken waits until everything that api sent before has been taken in, and returns the known mode then.
func taken(t testing.TB, leader, api *natsbox.Conn) permissions.Mode {
	t.Helper()
	id := askPermission(t, api, "api", "a mark")
	r := row(t, leader, id, nil)
	mail(t, api, "api", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: id})
	return r.KnownMode
}

func TestTheKnownModeFollowsLeadersAndNotClaims(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Dial("api")
	join(t, api, inMode(permissions.ModeAcceptEdits))
	changed := func(to permissions.Mode) {
		mail(t, api, "api", 1, mailbox.KindModeChanged, "", planmode.ModeChanged{To: to})
	}
	applied := func(of string, mode permissions.Mode) {
		mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: of, State: mailbox.Applied, Mode: string(mode)})
	}
	check := func(after string, want permissions.Mode) {
		t.Helper()
		if got := taken(t, anna, api); got != want {
			t.Fatalf("after %s the known mode is %s, want %s", after, got, want)
		}
	}
	check("joining", permissions.ModeAcceptEdits)
	changed(permissions.ModePlan)
	check("going to plan", permissions.ModeAcceptEdits)
	changed(permissions.ModeBypass)
	check("a claim of more", permissions.ModeAcceptEdits)
	changed(permissions.ModeDefault)
	check("narrowing", permissions.ModeDefault)
	applied(natsbox.NewRequestID(), permissions.ModeBypass)
	check("a receipt for nothing", permissions.ModeDefault)

	order := orderMode(t, team, anna, "anna", "api", permissions.ModeAuto)
	check("an order that was not applied", permissions.ModeDefault)
	applied(order, permissions.ModeAuto)
	check("an order that was applied", permissions.ModeAuto)

	id := ask(t, api, "api")
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeRejected, "")
	applied(id, permissions.ModeBypass)
	check("a rejection", permissions.ModeAuto)
	id = ask(t, api, "api")
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeBypass)
	check("an approval that was not applied", permissions.ModeAuto)
	applied(id, permissions.ModeBypass)
	check("an approval that was applied", permissions.ModeBypass)
	id = ask(t, api, "api")
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeRejectedAndExit, permissions.ModeDefault)
	applied(id, permissions.ModeDefault)
	check("being let out", permissions.ModeDefault)
}

// The decision and its receipt come by two streams: the receipt waits for the decision, however far behind that is.
func TestTheKnownModeWaitsForTheDecision(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	id := ask(t, api, "api")
	crowd(t, team, 16)
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeBypass)
	mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Applied, Mode: "bypassPermissions"})
	mail(t, api, "api", 1, mailbox.KindModeChanged, "", planmode.ModeChanged{To: permissions.ModeAuto})
	if got := taken(t, anna, api); got != permissions.ModeAuto {
		t.Errorf("the known mode is %s, want auto: widened by the decision, then narrowed", got)
	}
}

// crowd puts so many large decisions about nothing before what comes next: each takes a while to verify.
func crowd(t *testing.T, team *mailboxtest.Team, n int) {
	t.Helper()
	nc := team.Raw("anna")
	for range n {
		id := natsbox.NewRequestID()
		subject := mailbox.DecisionSubject("shop", "docs", id)
		payload, sig := sign(t, team, "anna", "docs", id, subject, mailbox.KindPlanApprovalResponse, strings.Repeat("x", 256<<10))
		m := nats.NewMsg(subject)
		m.Data = payload
		m.Header.Add(charter.SigHeader, sig)
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// What was known when a member joined counts after a restart, and not what it had before.
func TestTheKnownModeAfterATakeoverAndARestart(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, one := team.Connect("anna"), instance(t, team, "api", "one")
	join(t, one)
	order := orderMode(t, team, anna, "anna", "api", permissions.ModeAuto)
	mail(t, one, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: order, State: mailbox.Applied, Mode: "auto"})
	knows(t, anna, "api", permissions.ModeAuto)
	join(t, instance(t, team, "api", "two"), takeover)
	knows(t, anna, "api", permissions.ModeDefault)
	team.Stop()
	team.Start()
	knows(t, anna, "api", permissions.ModeDefault)
}

// A mode order that is signed by somebody who is no leader changes nothing, whatever the teammate says.
func TestTheKnownModeNeedsALeadersSignature(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("eve", charter.KindPerson)
	anna, api, eve := team.Connect("anna"), team.Connect("api"), team.Dial("eve")
	id := natsbox.NewID()
	subject := mailbox.OrderSubject("shop", "api", "eve", mailbox.KindModeSetRequest)
	e, err := mailbox.New(id, mailbox.KindModeSetRequest, "shop", "eve", "api", 1, time.Now(),
		planmode.ModeSet{OrderHead: head(team, "eve"), Counter: 1, Mode: permissions.ModeBypass})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := mailbox.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := charter.SignOrder(team.Key("api"), subject, payload) // the teammate's own hand
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eve.PutOrder(t.Context(), "api", mailbox.KindModeSetRequest, payload, []string{sig}); err != nil {
		t.Fatal(err)
	}
	mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Applied, Mode: "bypassPermissions"})
	if got := taken(t, anna, api); got != permissions.ModeDefault {
		t.Errorf("the known mode is %s, want default", got)
	}
}

// Joining again widens nothing, in the same instance or another.
func TestTheKnownModeOverJoins(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, one := team.Connect("anna"), instance(t, team, "api", "one")
	join(t, one, inMode(permissions.ModeAcceptEdits))
	join(t, one, inMode(permissions.ModeBypass))
	knows(t, anna, "api", permissions.ModeAcceptEdits)
	join(t, one, inMode(permissions.ModeDefault)) // the same instance goes on with its journal
	knows(t, anna, "api", permissions.ModeAcceptEdits)
	two := instance(t, team, "api", "two")
	join(t, two, takeover, inMode(permissions.ModeBypass))
	knows(t, anna, "api", permissions.ModeAcceptEdits)
	join(t, instance(t, team, "api", "three"), takeover, inMode(permissions.ModeDefault))
	knows(t, anna, "api", permissions.ModeDefault)
	join(t, team.Dial("docs"), inMode(permissions.ModePlan))
	knows(t, anna, "docs", permissions.ModeDefault)
}

func TestTheKnownModeIsUnderTheCap(t *testing.T) {
	t.Parallel()
	team := mailboxtest.Server(t)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	join(t, team.Dial("api"), inMode(permissions.ModeBypass))
	anna := team.Connect("anna")
	knows(t, anna, "api", permissions.ModeBypass)
	team.Amend(func(c *charter.Charter) { c.Caps.Mode = permissions.ModeDefault })
	knows(t, anna, "api", permissions.ModeDefault)
}
