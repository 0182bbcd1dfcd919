package attacks_test

import (
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
	"github.com/planswarm/swarm/teammate"
)

type callAnswer struct {
	answer permissions.PermissionResponse
	err    error
}

// asks has api ask about a command. It returns the answer to come, and the request as a leader reads it.
func (r *rig) asks(t *testing.T, m *runner, command string) (<-chan callAnswer, natsbox.Row) {
	t.Helper()
	v, _ := m.View()
	call := permissions.Call{Tool: "Bash", Command: command, Cwd: v.Tree}
	d := m.Decide(v, call)
	if d.Verdict != permissions.Ask {
		t.Fatalf("%s is %s (%s), want ask", command, d.Verdict, d.Reason)
	}
	ch := make(chan callAnswer, 1)
	go func() {
		a, err := m.Ask(t.Context(), teammate.Asking{Call: call, Decision: d})
		ch <- callAnswer{a, err}
	}()
	var open []natsbox.Row
	until(t, "the question", func() bool {
		var err error
		if open, err = r.anna.Pending(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(open) == 1 && open[0].EnvelopeID != r.asked // the one before may be on its way out
	})
	r.asked = open[0].EnvelopeID
	return ch, open[0]
}

// An answer to a single call that is wrong in one thing lets nothing pass, and grants nothing.
func TestAttackAnswersToCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.team.Amend(func(c *charter.Charter) {
		c.PersonOnly = []charter.Match{{Classes: []permissions.Class{permissions.ClassNetwork}}}
	})
	m := r.start()
	r.counts(t, m, r.plans(m, "run tests"), "bob")
	var earlier []byte
	for _, a := range []struct {
		name, by, command, want string
		change                  func(*planmode.PermissionAnswer)
		kind                    mailbox.Kind
		bytes                   func([]byte) []byte
		signed                  func(*rig, string, []byte) []string
	}{
		{name: "an allow that nobody signed", by: operator, want: "not signed", signed: signedBy()},
		{name: "an allow by another teammate", by: operator, want: "mate is teammate", signed: signedBy("mate")},
		{name: "an allow by the asking teammate", by: operator, want: "api is teammate", signed: signedBy("api")},
		{name: "an allow by a removed leader", by: "removed member", want: "eva is retired", signed: signedBy("eva")},
		{name: "an agent allows what is for persons", by: "lead agent", command: "curl https://example.com", want: "only a person", signed: signedBy("bot"), change: func(a *planmode.PermissionAnswer) { a.DecidedBy = r.head("bot").DecidedBy }},
		{name: "an allow for another call", by: "leader", want: "call", change: func(a *planmode.PermissionAnswer) { a.CallHash = strings.Repeat("0", 64) }},
		{name: "an allow for another question", by: "leader", want: "in the slot of", change: func(a *planmode.PermissionAnswer) { a.RequestID = natsbox.NewRequestID() }},
		{name: "an answer that nobody knows", by: "leader", want: "maybe", change: func(a *planmode.PermissionAnswer) { a.Behavior = "maybe" }},
		{name: "an allow for a scope that nobody knows", by: "leader", want: "ever", change: func(a *planmode.PermissionAnswer) { a.Scope = "ever" }},
		{name: "a grant of more words than were asked", by: "leader", want: "not the one simple command", change: func(a *planmode.PermissionAnswer) {
			a.Scope, a.Argv = permissions.ScopePlan, []string{"git", "push", "--force"}
		}},
		{name: "a grant of an intent in an answer to a call", by: "leader", want: "only the exact command", change: func(a *planmode.PermissionAnswer) {
			a.Scope, a.Argv = permissions.ScopePlan, []string{"git", "push"}
			a.Grant = &permissions.GrantTerms{Prompt: "push", Intent: "push", Tree: ".", ExpiresAt: time.Now().Add(time.Hour), MaxUses: 1}
		}},
		{name: "a plan's approval in a call's slot", by: "leader", want: "answers no permission request", kind: mailbox.KindPlanApprovalResponse},
		{name: "an allow that says deny beside it", by: "leader", want: "Behavior", bytes: edited(`"behavior":"allow"`, `"behavior":"deny","Behavior":"allow"`)},
		{name: "an earlier allow for the same command", by: operator, want: "is not over this order", bytes: func([]byte) []byte { return earlier }},
	} {
		t.Run(a.name, func(t *testing.T) {
			command := a.command
			if command == "" {
				command = "git push"
			}
			waits, row := r.asks(t, m, command)
			body := planmode.PermissionAnswer{OrderHead: r.head("bob"), RequestID: row.EnvelopeID}
			body.Epoch, body.CallHash, body.Behavior, body.Scope = row.Epoch, row.Permission.CallHash, permissions.BehaviorAllow, permissions.ScopeOnce
			if a.change != nil {
				a.change(&body)
			}
			kind := a.kind
			if kind == "" {
				kind = mailbox.KindPermissionResponse
			}
			payload := r.wire(t, body.DecidedBy.Name, "api", kind, body.Epoch, body)
			if a.bytes != nil {
				payload = a.bytes(payload)
			}
			subject := mailbox.DecisionSubject("shop", "api", row.EnvelopeID)
			signed := a.signed
			if signed == nil {
				signed = signedBy("bob")
			}
			sigs := signed(r, subject, payload)
			if a.name == "an earlier allow for the same command" {
				sigs = signedBy("bob")(r, mailbox.DecisionSubject("shop", "api", natsbox.NewRequestID()), payload)
			}
			r.store(t, subject, payload, sigs...)
			if got := <-waits; !errors.Is(got.err, teammate.ErrAskVoid) {
				t.Errorf("Ask = %+v, %v, want that it is void", got.answer, got.err)
			}
			rec := r.receipt(t, row.EnvelopeID)
			if rec.State != mailbox.Refused || !strings.Contains(rec.Reason, a.want) {
				t.Errorf("receipt = %+v, want refused because of %q", rec, a.want)
			}
			m.is(t, planmode.Working, permissions.ModeDefault, 1)
			mailboxtest.Refused(t, a.name, a.by, mailboxtest.ByTeammate, rec.Reason)
			if earlier != nil {
				return
			}
			waits, row = r.asks(t, m, command)
			body.RequestID, body.CallHash = row.EnvelopeID, row.Permission.CallHash
			earlier = r.wire(t, "bob", "api", kind, body.Epoch, body)
			subject = mailbox.DecisionSubject("shop", "api", row.EnvelopeID)
			r.store(t, subject, earlier, sign(t, r.keys["bob"], subject, earlier))
			if got := <-waits; got.err != nil || got.answer.Behavior != permissions.BehaviorAllow {
				t.Errorf("the same without a mistake: %+v", got)
			}
		})
	}
	waits, row := r.asks(t, m, "curl https://example.com")
	body := planmode.PermissionAnswer{OrderHead: r.head("bob"), RequestID: row.EnvelopeID}
	body.Epoch, body.CallHash, body.Behavior, body.Scope = row.Epoch, row.Permission.CallHash, permissions.BehaviorAllow, permissions.ScopeOnce
	payload, subject := r.wire(t, "bob", "api", mailbox.KindPermissionResponse, body.Epoch, body), mailbox.DecisionSubject("shop", "api", row.EnvelopeID)
	r.store(t, subject, payload, sign(t, r.keys["bob"], subject, payload))
	if got := <-waits; got.err != nil || got.answer.Behavior != permissions.BehaviorAllow {
		t.Errorf("a person allows it: %+v", got)
	}
}
