//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

func (m *mate) asking(command string) teammate.Asking {
	v, _ := m.View()
	return teammate.Asking{
		Call: permissions.Call{Tool: "Bash", Command: command, Cwd: v.Tree},
		Decision: permissions.Decision{
			Verdict: permissions.Ask, Hash: "hash of " + command,
			Commands: []permissions.CommandVerdict{{Argv: []string{"git", "push"}, Verdict: permissions.Ask}},
		},
	}
}

type asked struct {
	answer permissions.PermissionResponse
	err    error
}

func (m *mate) ask(ctx context.Context, command string) <-chan asked {
	ch := make(chan asked, 1)
	go func() {
		a, err := m.Ask(ctx, m.asking(command))
		ch <- asked{a, err}
	}()
	return ch
}

// answer answers the open permission request as anna.
func (r *rig) answer(row natsbox.Row, behavior permissions.Behavior, scope permissions.Scope) {
	r.t.Helper()
	r.answerAs("anna", row, behavior, scope)
}

// answerAs signs as some leader; what its word counts for is for the teammate to say.
func (r *rig) answerAs(name string, row natsbox.Row, behavior permissions.Behavior, scope permissions.Scope) {
	r.t.Helper()
	a := planmode.PermissionAnswer{OrderHead: r.head(), RequestID: row.EnvelopeID}
	a.Epoch = row.Epoch
	if m, ok := r.team.Charter().Member(name); ok {
		a.DecidedBy.Name, a.DecidedBy.Kind = name, string(m.Kind)
	}
	a.CallHash, a.Behavior, a.Scope, a.Message = row.Permission.CallHash, behavior, scope, "well"
	subject := mailbox.DecisionSubject(r.team.Name, "api", row.EnvelopeID)
	payload, sig := r.sign(r.team.Key(name), name, subject, mailbox.KindPermissionResponse, row.Epoch, a)
	r.put(row.EnvelopeID, payload, sig)
}

// The same call asked twice is one question. Denied, both are; allowed once, one of them goes on, and the other is judged
// again.
func TestAskedCallIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	for _, behavior := range []permissions.Behavior{permissions.BehaviorAllow, permissions.BehaviorDeny} {
		first, second := m.ask(t.Context(), "git push"), m.ask(t.Context(), "git push")
		row := r.open()
		if row.Permission.Input != "git push" || len(row.Permission.Commands) != 1 {
			t.Fatalf("the leader sees %+v, want the call and its analysis", row.Permission)
		}
		until(t, "both wait", func() bool { return m.Waiting(row.EnvelopeID) == 2 })
		r.answer(row, behavior, permissions.ScopeOnce)
		moved := 0
		for _, ch := range []<-chan asked{first, second} {
			got := <-ch
			if errors.Is(got.err, teammate.ErrMoved) {
				moved++
			} else if got.err != nil || got.answer.Behavior != behavior || got.answer.Message != "well" {
				t.Fatalf("Ask = %+v, %v, want %s", got.answer, got.err, behavior)
			}
		}
		if want := map[permissions.Behavior]int{permissions.BehaviorAllow: 1, permissions.BehaviorDeny: 0}[behavior]; moved != want {
			t.Errorf("after %s %d of two are judged again, want %d", behavior, moved, want)
		}
		if rec := r.receipt(row.EnvelopeID); rec.State != mailbox.Applied {
			t.Errorf("receipt = %+v, want applied", rec)
		}
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// Allowed for the plan: the exact command is a grant of the plan before the call goes on.
func TestAnswerForThePlanIsAGrant(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m)
	answered := m.ask(t.Context(), "git push")
	r.answer(r.open(), permissions.BehaviorAllow, permissions.ScopePlan)
	if got := <-answered; got.err != nil || got.answer.Behavior != permissions.BehaviorAllow {
		t.Fatalf("Ask = %+v, want allow", got)
	}
	grants := m.status().Grants
	if len(grants) != 2 || fmt.Sprint(grants[1].Argv) != "[git push]" {
		t.Fatalf("grants = %+v, want the exact command besides", grants)
	}
}

// For the plan, where there is none: it cannot be applied, the question ends, and the call can be asked again at once.
func TestAnswerThatCannotBeAppliedIsVoid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	answered := m.ask(t.Context(), "git push")
	row := r.open()
	r.answer(row, permissions.BehaviorAllow, permissions.ScopePlan)
	if got := <-answered; !errors.Is(got.err, teammate.ErrAskVoid) || !strings.Contains(got.err.Error(), "no plan is being carried out") {
		t.Fatalf("Ask = %+v, want that the answer is void, and why", got)
	}
	answered = m.ask(t.Context(), "git push")
	if next := r.open(); next.EnvelopeID == row.EnvelopeID {
		t.Errorf("asked again under the id of the question that has ended")
	} else {
		r.answer(next, permissions.BehaviorAllow, permissions.ScopeOnce)
	}
	if got := <-answered; got.err != nil || got.answer.Behavior != permissions.BehaviorAllow {
		t.Errorf("asked again: %+v, want allowed", got)
	}
	if rec := r.receipt(row.EnvelopeID); rec.State != mailbox.Refused {
		t.Errorf("receipt = %+v, want refused", rec)
	}
}

func TestQuestionIsWithdrawnWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	ctx, cancel := context.WithCancel(t.Context())
	answered := m.ask(ctx, "git push")
	row := r.open()
	cancel()
	if got := <-answered; !errors.Is(got.err, context.Canceled) {
		t.Fatalf("Ask = %+v, want that it was cancelled", got)
	}
	until(t, "withdrawn", func() bool { return r.request(row.EnvelopeID).Withdrawn != "" })
	r.answer(row, permissions.BehaviorAllow, permissions.ScopeOnce)
	if rec := r.receipt(row.EnvelopeID); rec.State != mailbox.Refused {
		t.Errorf("receipt = %+v of an answer that comes too late, want refused", rec)
	}
}

// What was asked before plan mode is not let through in it.
func TestEnteringPlanModeDeniesWhatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	answered := m.ask(t.Context(), "git push")
	r.open()
	m.enter()
	if got := <-answered; !errors.Is(got.err, teammate.ErrAskEnded) || !strings.Contains(got.err.Error(), "replanned") {
		t.Fatalf("Ask = %+v, want that it is asked no more, and why", got)
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(func(c *teammate.Config) { c.Attended = false })
	if _, err := m.Ask(t.Context(), m.asking("git push")); !errors.Is(err, teammate.ErrUnattended) {
		t.Fatalf("Ask = %v, want ErrUnattended", err)
	}
}

func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting []<-chan asked
	for n := range planmode.MaxAsks {
		waiting = append(waiting, m.ask(ctx, fmt.Sprint("make ", n)))
	}
	until(t, "five questions", func() bool { s, _ := m.journal.Session(); return len(s.Asks) == planmode.MaxAsks })
	if _, err := m.Ask(ctx, m.asking("one more")); !errors.Is(err, planmode.ErrTooManyAsks) {
		t.Fatalf("Ask = %v, want ErrTooManyAsks", err)
	}
	cancel()
	for _, ch := range waiting {
		<-ch
	}
}

// A restart lets nobody wait for the answer: the question is withdrawn.
func TestQuestionsEndWithTheirProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	answered := m.ask(t.Context(), "git push")
	row := r.open()
	m.end(teammate.ErrDetach)
	if got := <-answered; got.err == nil {
		t.Fatalf("Ask = %+v after the end, want an error", got)
	}
	r.start()
	until(t, "withdrawn", func() bool { return r.request(row.EnvelopeID).Withdrawn != "" })
}

// A question that can never be sent does not let its call wait for ever.
func TestQuestionThatCannotBeSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	q := m.asking("touch x")
	q.Call.Change = strings.Repeat("\x01", 300<<10)
	if _, err := m.Ask(t.Context(), q); !errors.Is(err, teammate.ErrAskEnded) || !errors.Is(err, natsbox.ErrTooLarge) {
		t.Errorf("Ask = %v, want that it is too large", err)
	}
	until(t, "nothing is open", func() bool { return len(m.status().Asks) == 0 })
}
