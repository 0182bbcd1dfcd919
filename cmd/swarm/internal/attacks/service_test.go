package attacks_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
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

// call is something that a member asks the coordinator and that is not its to ask. Right may, with may's question.
type call struct {
	name  string
	by    []string
	verb  string
	in    any
	want  string
	right string
	may   any // nil: the same question
}

// The coordinator answers each member by its role, and by its own name.
func TestAttackTheCoordinator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Amend(func(c *charter.Charter) { c.Caps.Mode = permissions.ModeAcceptEdits })
	asked := ask(t, w.Dial("other"), "other", 1, w.Charter().TeamID)
	until(t, "the request", func() bool {
		_, err := w.Dial("anna").Request(t.Context(), asked)
		return err == nil
	})
	id := natsbox.IDRequest{ID: asked}
	if _, err := w.Dial("anna").PutDecision(t.Context(), "other", asked, []byte("no"), []string{"x"}); err != nil {
		t.Fatal(err)
	}
	until(t, "the decision", func() bool { return w.Dial("anna").Call(t.Context(), natsbox.VerbDecision, id, nil) == nil })
	key := public(t, userKey(t))
	inviting := natsbox.InviteRequest{Key: key, Name: "friend", Role: charter.RoleLeader, Kind: charter.KindPerson, Expires: time.Now().Add(time.Minute)}
	good, altered := w.amendment(t), w.amendment(t)
	altered.Charter.Payload = bytes.Replace(altered.Charter.Payload, []byte(`"role":"observer"`), []byte(`"role":"leader"`), 1)
	for _, c := range []call{
		{"join as another", []string{"mate", "bob", "wall"}, natsbox.VerbJoin, natsbox.JoinRequest{Name: "other", Instance: "i"}, "cannot join as other", "other", natsbox.JoinRequest{Name: "other", Instance: "other-test"}},
		{"join in a mode above the cap", []string{"mate"}, natsbox.VerbJoin, natsbox.JoinRequest{Instance: "mate-test", Mode: permissions.ModeBypass}, "above the team's cap", "mate", natsbox.JoinRequest{Instance: "mate-test", Mode: permissions.ModeAcceptEdits}},
		{"join in a mode that nobody knows", []string{"mate"}, natsbox.VerbJoin, natsbox.JoinRequest{Instance: "mate-test", Mode: "root"}, "unknown mode", "mate", natsbox.JoinRequest{Instance: "mate-test"}},
		{"join as an instance that is a path", []string{"mate", "bob", "wall"}, natsbox.VerbJoin, natsbox.JoinRequest{Instance: "../other-test"}, "bad instance", "mate", natsbox.JoinRequest{Instance: "mate-test"}},
		{"ask for another's standing", []string{"mate"}, natsbox.VerbStanding, natsbox.StandingRequest{Instance: "other-test", Epoch: 2}, "runs elsewhere", "other", nil},
		{"read another's request", []string{"mate"}, natsbox.VerbRequest, id, "no request", "anna", nil},
		{"read another's newest request by its name", []string{"mate"}, natsbox.VerbRequest, natsbox.IDRequest{ID: "other"}, "no request", "anna", nil},
		{"read another's decision", []string{"mate"}, natsbox.VerbDecision, id, "has no decision", "anna", nil},
		{"see who is there", []string{"mate"}, natsbox.VerbPresence, nil, "shown to leaders and observers", "wall", nil},
		{"read the leaders' mail", []string{"mate"}, natsbox.VerbMail, natsbox.MailRequest{}, "shown to leaders and observers", "wall", nil},
		{"read the audit ledger", []string{"mate", "wall"}, natsbox.VerbAudit, natsbox.AuditRequest{From: 1}, "for leaders", "anna", nil},
		{"count a leader's orders", []string{"mate", "wall"}, natsbox.VerbCounter, natsbox.CounterRequest{To: "other"}, "only leaders give orders", "anna", nil},
		{"look at the broker's health", []string{"mate"}, natsbox.VerbHealth, nil, "not told how the broker is", "anna", nil},
		{"list invitations", []string{"mate"}, natsbox.VerbInvites, nil, "shown to leaders and observers", "wall", nil},
		{"invite a leader", []string{"mate", "wall", "bot"}, natsbox.VerbInvite, inviting, "persons who lead", "anna", nil},
		{"take an invitation back", []string{"mate", "wall", "bot"}, natsbox.VerbUninvite, natsbox.UninviteRequest{Name: "friend"}, "persons who lead", "anna", nil},
		{"bring a charter without leading", []string{"mate", "wall"}, natsbox.VerbAmend, good, "brought by a leader", "", nil},
		{"bring a charter that the owner has not signed", []string{"anna", "bot"}, natsbox.VerbAmend, altered, "owner", "anna", good},
		{"ask with a megabyte", []string{"mate", "bob", "wall"}, natsbox.VerbResolve, natsbox.ResolveRequest{Name: strings.Repeat("x", 1<<20)}, "bytes, at most", "mate", natsbox.ResolveRequest{Name: "other"}},
		{"ask for a name that is a subject", []string{"mate", "bob", "wall"}, natsbox.VerbResolve, natsbox.ResolveRequest{Name: "other.>"}, "nobody is called", "mate", natsbox.ResolveRequest{Name: "other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, me := range c.by {
				w.refusedCall(t, c, me)
			}
			if c.may == nil {
				c.may = c.in
			}
			if c.right == "" {
				return
			}
			if err := w.Dial(c.right).Call(t.Context(), c.verb, c.may, nil); err != nil {
				t.Errorf("%s, who may: %v", c.right, err)
			}
		})
	}
}

func (w *world) refusedCall(t *testing.T, c call, me string) {
	t.Helper()
	before, serial := w.snapshot(), w.Charter().Serial
	err := w.Dial(me).Call(t.Context(), c.verb, c.in, nil)
	var refusal *natsbox.ServiceError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want) {
		t.Fatalf("%s: %v, want %q", me, err, c.want)
	}
	w.unchanged(t, before)
	if now := w.Charter().Serial; now != serial {
		t.Errorf("the charter's serial is %d, and was %d", now, serial)
	}
	mailboxtest.Refused(t, c.name, roles[me], mailboxtest.ByCoordinator, strings.TrimPrefix(err.Error(), "coordinator: "))
}

// amendment is the owner's next charter, for the coordinator.
func (w *world) amendment(t *testing.T) natsbox.AmendRequest {
	t.Helper()
	now, c := w.Coordinator().Signed(), w.Charter()
	c.Serial++
	signed, err := charter.Sign(w.Owner(), c)
	if err != nil {
		t.Fatal(err)
	}
	return natsbox.AmendRequest{FromSig: now.Sig, FromAdditions: len(now.Additions), Charter: signed}
}

// ask has a teammate ask for the approval of a plan, by mail of its own making, and returns the request's id.
func ask(t *testing.T, conn *natsbox.Conn, from string, epoch uint64, teamID string, change ...func(*planmode.ApprovalRequest)) string {
	t.Helper()
	content := []byte("# Fix it\n\n- [ ] change `a.go`\n")
	r := planmode.ApprovalRequest{
		RequestID: natsbox.NewRequestID(), PlanID: natsbox.NewID(), Revision: 1, Kind: planmode.AskPlan, Plan: plans.New("plan.md", "plan.md", content),
		AllowedPrompts: []permissions.Prompt{permissions.ResolvePrompt("Bash", "run tests")}, SavedMode: permissions.ModeDefault,
	}
	r.Digest = r.ComputeDigest(teamID, from)
	for _, f := range change {
		f(&r)
	}
	send(t, conn, from, mailbox.Lead, epoch, r.RequestID, mailbox.KindPlanApprovalRequest, r)
	return r.RequestID
}

// send puts a piece of mail of any kind into a mailbox.
func send(t testing.TB, conn *natsbox.Conn, from, to string, epoch uint64, id string, kind mailbox.Kind, body any) {
	t.Helper()
	e, err := mailbox.New(id, kind, "shop", from, to, epoch, time.Now(), body)
	if err == nil {
		_, err = conn.Send(context.Background(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(15 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}
