package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// give stores a signed order of a kind with a counter.
func give(t testing.TB, team *mailboxtest.Team, c *natsbox.Conn, leader, to string, kind mailbox.Kind, counter uint64) {
	t.Helper()
	var body any
	switch h := head(team, leader); kind {
	case mailbox.KindModeSetRequest:
		body = planmode.ModeSet{OrderHead: h, Counter: counter, Mode: permissions.ModePlan}
	case mailbox.KindGrantRevoked:
		body = planmode.GrantRevoked{OrderHead: h, Counter: counter, All: true}
	default:
		body = mailbox.ShutdownRequest{OrderHead: h, Counter: counter}
	}
	payload, sig := sign(t, team, leader, to, natsbox.NewID(), mailbox.OrderSubject("shop", to, leader, kind), kind, body)
	if _, err := c.PutOrder(context.Background(), to, kind, payload, []string{sig}); err != nil {
		t.Fatal(err)
	}
}

func counterOf(t testing.TB, c *natsbox.Conn, to string) uint64 {
	t.Helper()
	var info natsbox.CounterInfo
	if err := c.Call(context.Background(), natsbox.VerbCounter, natsbox.CounterRequest{To: to}, &info); err != nil {
		t.Fatal(err)
	}
	return info.Counter
}

// The counter is the asking leader's own highest one to that teammate, at once after an order and after a restart.
func TestCountersOfOrders(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("tom", charter.KindPerson)
	anna, tom := team.Connect("anna"), team.Connect("tom")
	if n := counterOf(t, anna, "api"); n != 0 {
		t.Errorf("counter %d before any order, want 0", n)
	}
	kinds := []mailbox.Kind{mailbox.KindModeSetRequest, mailbox.KindGrantRevoked, mailbox.KindShutdownRequest}
	for i := range uint64(30) { // no waiting in between: the answer includes what was stored before it
		give(t, team, anna, "anna", "api", kinds[i%3], i+1)
		if n := counterOf(t, anna, "api"); n != i+1 {
			t.Fatalf("counter %d after order %d (%s)", n, i+1, kinds[i%3])
		}
	}
	give(t, team, anna, "anna", "api", mailbox.KindModeSetRequest, 7) // an old one lowers nothing
	give(t, team, tom, "tom", "api", mailbox.KindGrantRevoked, 90)
	if _, err := anna.PutOrder(t.Context(), "api", mailbox.KindModeSetRequest, []byte(`{"body":{"counter":500}}`), []string{"junk"}); err != nil {
		t.Fatal(err)
	}
	for _, restart := range []bool{false, true} {
		if restart {
			team.Stop()
			team.Start()
		}
		if a, d, b := counterOf(t, anna, "api"), counterOf(t, anna, "docs"), counterOf(t, tom, "api"); a != 30 || d != 0 || b != 90 {
			t.Errorf("after a restart %t: anna to api %d, anna to docs %d, tom to api %d; want 30, 0, 90", restart, a, d, b)
		}
	}
}

func TestOnlyLeadersAskForCounters(t *testing.T) {
	t.Parallel()
	team := shop(t)
	var info natsbox.CounterInfo
	err := team.Connect("api").Call(t.Context(), natsbox.VerbCounter, natsbox.CounterRequest{To: "docs"}, &info)
	if !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a teammate asks: %v, want ErrForbidden", err)
	}
}

// Who recalled a teammate after its plan was approved stands in that plan's row, also after a restart.
func TestARecallIsShownWithThePlan(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("tom", charter.KindPerson)
	anna, tom, api := team.Connect("anna"), team.Connect("tom"), team.Connect("api")
	give(t, team, tom, "tom", "api", mailbox.KindModeSetRequest, 1) // before the plan
	counterOf(t, tom, "api")
	id := ask(t, api, "api")
	row(t, anna, id, isOpen)
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeDefault)
	if r := row(t, anna, id, isSettled); r.Recalled != nil {
		t.Errorf("recalled %+v before anybody did", r.Recalled)
	}
	give(t, team, tom, "tom", "docs", mailbox.KindModeSetRequest, 1)
	give(t, team, tom, "tom", "api", mailbox.KindGrantRevoked, 2)
	give(t, team, anna, "anna", "api", mailbox.KindModeSetRequest, 1)
	give(t, team, tom, "tom", "api", mailbox.KindModeSetRequest, 3)
	counterOf(t, tom, "api")
	for _, restart := range []bool{false, true} {
		if restart {
			team.Stop()
			team.Start()
		}
		r := row(t, anna, id, isSettled)
		if r.Recalled == nil || r.Recalled.By != "anna" || !r.Recalled.At.After(r.Decision.StoredAt) {
			t.Errorf("after a restart %t: recalled %+v, want by anna", restart, r.Recalled)
		}
	}
}

// A leader's key is sealed, and the coordinator starts anew: her orders go on counting, and what she decided stays decided.
func TestASealedKeyKeepsItsHistory(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	for n := range uint64(3) {
		give(t, team, anna, "anna", "api", mailbox.KindGrantRevoked, n+1)
	}
	plan, call := ask(t, api, "api"), askPermission(t, api, "api", "ls")
	decide(t, team, anna, "anna", "api", plan, planmode.OutcomeApproved, permissions.ModeDefault)
	answer := planmode.PermissionAnswer{OrderHead: head(team, "anna"), RequestID: call, PermissionResponse: permissions.PermissionResponse{CallHash: "h", Behavior: permissions.BehaviorAllow}}
	put(t, team, anna, "anna", "api", call, mailbox.KindPermissionResponse, answer)
	for _, id := range []string{plan, call} {
		if r := row(t, anna, id, isSettled); !r.Decision.Valid {
			t.Fatalf("%s: %s", id, r.Decision.Reason)
		}
	}
	for _, kept := range []charter.Assurance{charter.Sealed, charter.Confirm} {
		team.Amend(func(c *charter.Charter) {
			c.Members = slices.Clone(c.Members)
			c.Members[slices.IndexFunc(c.Members, func(m charter.Member) bool { return m.Name == "anna" })].Assurance = kept
		})
		team.Stop()
		team.Start()
		if n := counterOf(t, anna, "api"); n != 3 {
			t.Errorf("%s: counter %d after a restart, want 3", kept, n)
		}
		for _, id := range []string{plan, call} {
			if d := row(t, anna, id, isSettled).Decision; !d.Valid || d.By == nil || d.By.Assurance != string(charter.Plain) {
				t.Errorf("%s: after a restart %s is decided by %+v (%s), want by a key that was plain", kept, id, d.By, d.Reason)
			}
		}
	}
	lie := ask(t, api, "api")
	body := planmode.Decision{OrderHead: head(team, "anna"), RequestID: lie, Revision: 1, Outcome: planmode.OutcomeApproved, Approved: true, Mode: permissions.ModeDefault, PlanDigest: "d"}
	body.DecidedBy.Assurance = string(charter.Plain)
	put(t, team, anna, "anna", "api", lie, mailbox.KindPlanApprovalResponse, body)
	if d := row(t, anna, lie, isSettled).Decision; d.Valid {
		t.Error("a new decision that shows the key as it is not kept is valid")
	}
}
