package coordinator_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func TestPendingIsAsksMinusWhatSettledThem(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	first := ask(t, api, "api")
	theirs := ask(t, docs, "docs")
	perm := askPermission(t, api, "api", "git push")
	if got, want := pending(t, anna, 3), []string{first, theirs, perm}; !slices.Equal(got, want) {
		t.Errorf("pending %v, want %v, the oldest first", got, want)
	}
	second := ask(t, api, "api", func(r *planmode.ApprovalRequest) { r.Revision, r.Supersedes = 2, first })
	if r := row(t, anna, first, isSettled); r.SupersededBy != second {
		t.Errorf("the first revision is superseded by %q, want %q", r.SupersededBy, second)
	}
	mail(t, api, "api", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: perm, Reason: planmode.WithdrawnInterrupt})
	if r := row(t, anna, perm, isSettled); r.Withdrawn != "interrupted" || r.Permission == nil {
		t.Errorf("the withdrawn request is %+v, want its reason and its body", r)
	}
	decide(t, team, anna, "anna", "api", second, planmode.OutcomeApproved, permissions.ModeDefault)
	r := row(t, anna, second, isSettled)
	if r.Decision == nil || !r.Decision.Valid || r.Decision.Outcome != "approved" || r.Decision.By.Name != "anna" {
		t.Errorf("decision = %+v, want approved by anna", r.Decision)
	}
	if !bytes.Equal(r.Request.Plan.Content, []byte("# Fix it\n")) {
		t.Errorf("the plan of a settled request is %q, want its bytes", r.Request.Plan.Content)
	}
	if got := pending(t, anna, 1); got[0] != theirs {
		t.Errorf("pending %v, want %s", got, theirs)
	}
}

func TestATeammateSeesItsOwnRequestsOnly(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	mine := ask(t, api, "api")
	pending(t, anna, 1)
	if got := pending(t, api, 1); got[0] != mine {
		t.Errorf("api sees %v, want %s", got, mine)
	}
	pending(t, docs, 0)
	if _, err := docs.Request(t.Context(), mine); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("docs reads api's request: %v, want ErrNotFound", err)
	}
	var info natsbox.DecisionInfo
	if err := docs.Call(t.Context(), natsbox.VerbDecision, natsbox.IDRequest{ID: mine}, &info); !errors.Is(err, natsbox.ErrNoDecision) {
		t.Errorf("docs asks for api's decision: %v, want ErrNoDecision", err)
	}
	if err := docs.Call(t.Context(), natsbox.VerbPresence, nil, nil); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("docs asks for presence: %v, want ErrForbidden", err)
	}
}

// A member cannot settle, supersede or take over what another asked, even when it knows the id.
func TestNobodySettlesAnothersRequest(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	id := ask(t, api, "api")
	pending(t, anna, 1)
	mail(t, docs, "docs", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: id})
	mail(t, docs, "docs", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Applied, Mode: "bypassPermissions"})
	theirs := ask(t, docs, "docs", func(r *planmode.ApprovalRequest) { r.Supersedes = id })
	pending(t, anna, 2)
	r := row(t, anna, id, nil)
	if !r.Open() || len(r.Receipts) != 0 || r.From != "api" {
		t.Errorf("api's request is %+v, want it open and untouched", r)
	}
	copied := planmode.ApprovalRequest{RequestID: id, PlanID: "evil", Kind: planmode.AskPlan}
	mail(t, docs, "docs", 1, mailbox.KindPlanApprovalRequest, id, copied)
	row(t, anna, theirs, isSettled) // superseded by docs' own copy
	if r := row(t, anna, id, nil); r.From != "api" || !r.Open() {
		t.Errorf("request %s is %s's now, want api's", id, r.From)
	}
}

func TestARequestIsOneRowHoweverOftenItIsStored(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	id := ask(t, api, "api")
	body := planmode.ApprovalRequest{RequestID: id, PlanID: "another", Kind: planmode.AskPlan}
	mail(t, api, "api", 1, mailbox.KindPlanApprovalRequest, id, body)
	askPermission(t, api, "api", "ls") // whatever came before it has been taken in
	pending(t, anna, 2)
	if r := row(t, anna, id, nil); r.Request.PlanID != "p1" {
		t.Errorf("the request's plan is %q, want the first one stored", r.Request.PlanID)
	}
}

func TestMailThatIsNoRequestIsIgnored(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	other := natsbox.NewRequestID()
	mail(t, api, "api", 1, mailbox.KindPlanApprovalRequest, "", planmode.ApprovalRequest{RequestID: other})
	mail(t, api, "api", 1, mailbox.KindPlanApprovalRequest, natsbox.NewRequestID(), planmode.ApprovalRequest{RequestID: other})
	mail(t, api, "api", 1, mailbox.KindPlanApprovalRequest, natsbox.NewRequestID(), "a text")
	mail(t, api, "api", 1, mailbox.KindModeChanged, "", planmode.ModeChanged{To: "godMode"})
	id := ask(t, api, "api")
	if got := pending(t, anna, 1); got[0] != id {
		t.Errorf("pending %v, want %s alone", got, id)
	}
}

// A teammate has five open permission requests. The sixth is not shown; when one is answered there is room again.
func TestAtMostFivePermissionRequests(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	var ids []string
	for i := range planmode.MaxAsks + 1 {
		ids = append(ids, askPermission(t, api, "api", fmt.Sprint("rm ", i)))
	}
	pending(t, anna, planmode.MaxAsks)
	if _, err := anna.Request(t.Context(), ids[planmode.MaxAsks]); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("the sixth request: %v, want ErrNotFound", err)
	}
	put(t, team, anna, "anna", "api", ids[0], mailbox.KindPermissionResponse, planmode.PermissionAnswer{
		OrderHead: head(team, "anna"), RequestID: ids[0],
		PermissionResponse: permissions.PermissionResponse{Behavior: permissions.BehaviorDeny},
	})
	next := askPermission(t, api, "api", "one more") // stored after the answer: it has room, whichever is seen first
	if r := row(t, anna, next, isOpen); r.Permission.Input != "one more" {
		t.Errorf("request is %+v, want the new one", r)
	}
	if r := row(t, anna, ids[0], isSettled); r.Decision.Outcome != "deny" || !r.Decision.Valid {
		t.Errorf("decision = %+v, want deny", r.Decision)
	}
}

// What lies in a slot without a leader's signature settles the row, and says that it is junk: the teammate asks again.
func TestJunkInASlot(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("eve", charter.KindPerson)
	anna, api, eve := team.Connect("anna"), team.Connect("api"), team.Dial("eve")
	id := ask(t, api, "api")
	if _, err := eve.PutDecision(t.Context(), "api", id, []byte(`{"approved":true}`), []string{"junk"}); err != nil {
		t.Fatal(err)
	}
	r := row(t, anna, id, isSettled)
	if r.Decision == nil || r.Decision.Valid || r.Decision.Reason == "" || string(r.Decision.Order.Payload) != `{"approved":true}` {
		t.Errorf("decision = %+v, want what is stored, not valid, and why", r.Decision)
	}
}

func TestReceiptsAreShownOnce(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	id := ask(t, api, "api")
	for range 2 {
		mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Delivered})
	}
	mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Refused, Reason: "stale"})
	r := row(t, anna, id, func(r natsbox.Row) bool { return len(r.Receipts) == 2 })
	if r.Receipts[0].State != mailbox.Delivered || r.Receipts[1].Reason != "stale" {
		t.Errorf("receipts %+v, want delivered and refused", r.Receipts)
	}
	var all []natsbox.ReceiptInfo
	if err := anna.Call(t.Context(), natsbox.VerbReceipts, natsbox.IDRequest{ID: id}, &all); err != nil || len(all) != 2 || all[0].From != "api" {
		t.Errorf("receipts = %+v (%v), want both of api", all, err)
	}
}

// Plans that do not fit into one answer are fetched one by one.
func TestManyLargePlansArePending(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Connect("anna")
	want := map[string]int{}
	for i := range 3 {
		name := fmt.Sprint("mate", i)
		team.AddTeammate(name)
		c := team.Connect(name)
		size := 1200<<10 - i
		want[ask(t, c, name, func(r *planmode.ApprovalRequest) { r.Plan.Content = bytes.Repeat([]byte("x"), size) })] = size
	}
	row(t, anna, askPermission(t, team.Connect("docs"), "docs", "a mark"), nil) // everything before it has been taken in
	rows, err := anna.Pending(t.Context())
	if err != nil || len(rows) != len(want)+1 {
		t.Fatalf("%d rows (%v), want %d", len(rows), err, len(want)+1)
	}
	for _, r := range rows[:len(want)] {
		if r.Partial || len(r.Request.Plan.Content) != want[r.EnvelopeID] {
			t.Errorf("request %s has %d bytes, want %d", r.EnvelopeID, len(r.Request.Plan.Content), want[r.EnvelopeID])
		}
	}
}
