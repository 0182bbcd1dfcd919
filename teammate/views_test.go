//go:build linux

package teammate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// A step that widens opens the gate only when the agent's client has taken the mode; the receipt comes after that.
func TestGateOpensAfterTheClient(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(inMode(permissions.ModeAcceptEdits))
	p := m.plans()
	asked, goOn := make(chan struct{}), make(chan struct{})
	m.agent.mu.Lock()
	m.agent.answer = func(mode permissions.Mode) (permissions.Mode, error) {
		close(asked)
		<-goOn
		return mode, nil
	}
	m.agent.mu.Unlock()
	r.decide(r.approval(r.request(p.RequestID)))
	<-asked
	if s, _ := m.journal.Session(); s.State != planmode.Working {
		t.Errorf("the journal says %s, want that the decision was applied", s.State)
	}
	m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
	v, _ := m.View()
	if _, _, err := m.Begin(t.Context(), v, permissions.Decision{Verdict: permissions.Allow}); !errors.Is(err, teammate.ErrMoved) {
		t.Errorf("Begin: %v, want ErrMoved", err)
	}
	if row := r.request(p.RequestID); slices.ContainsFunc(row.Receipts, func(x mailbox.Receipt) bool { return x.State != mailbox.Delivered }) {
		t.Errorf("receipts %+v before the client has the mode, want at most that it was delivered", row.Receipts)
	}
	close(goOn)
	m.wait()
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	r.receipt(p.RequestID)
	if got := m.agent.all(); slices.Index(got, "mode acceptEdits") > slices.Index(got, "notify approved") {
		t.Errorf("the agent was told before it had the mode: %v", got)
	}
}

// A client that shows another mode than it was given is not believed to have the one it was given.
func TestModeIsReadBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(inMode(permissions.ModeAuto))
	p := m.plans()
	m.agent.mu.Lock()
	m.agent.answer = func(permissions.Mode) (permissions.Mode, error) { return permissions.ModeDefault, nil }
	m.agent.mu.Unlock()
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	until(t, "the client's mode", func() bool { return m.status().Mode == permissions.ModeDefault })
	if rec := r.receipt(p.RequestID); !strings.Contains(rec.Reason, "shows mode default") {
		t.Errorf("receipt = %+v, want that it says what the client shows", rec)
	}
}

// A client that will not plan is put back, twice; then it is stopped and the leaders are told.
func TestDriftingClientIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	told := make(chan string, 8)
	r.listen(told)
	m := r.begin(func(c *teammate.Config) {
		c.StartInPlan = true
		c.Agent.(*agent).answer = func(permissions.Mode) (permissions.Mode, error) { return permissions.ModeAcceptEdits, nil }
	})
	<-m.Ready()
	until(t, "stopped", func() bool { return slices.Contains(m.agent.all(), "stop drift") })
	m.wantState(planmode.Planning, permissions.ModePlan)
	if text := <-told; !strings.Contains(text, "left plan mode by itself") {
		t.Errorf("the leaders were told %q", text)
	}
}

func TestClientThatCannotPlanIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(func(c *teammate.Config) {
		c.Agent.(*agent).answer = func(permissions.Mode) (permissions.Mode, error) { return "", errors.New("no such mode") }
	})
	m.enter()
	m.wantState(planmode.Planning, permissions.ModePlan)
	if got := m.agent.all(); !slices.Contains(got, "stop it cannot be put into plan mode") {
		t.Errorf("the agent did %v, want that it was stopped", got)
	}
}

func TestInterruptAndLoss(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	for reason, happens := range map[string]func() error{
		"interrupted": func() error { return m.Interrupt(t.Context()) },
		"agentLost":   func() error { return errors.Join(m.AgentLost(true), m.AgentLost(false)) },
	} {
		m.enter()
		p := m.submit("# " + reason + "\n")
		if err := happens(); err != nil {
			t.Fatal(err)
		}
		m.wantState(planmode.Planning, permissions.ModePlan)
		until(t, "withdrawn", func() bool { return r.request(p.RequestID).Withdrawn == reason })
	}
}

// A decision and its withdrawal, or a revision, at the same moment: the teammate's order decides, and the leader is told
// which it was. Nothing in between ever happens.
func TestRacesHaveOneOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	outcomes := map[string]int{}
	for n := range 20 {
		m.enter()
		p := m.submit(fmt.Sprintf("# Plan %d\n", n), "run tests")
		row := r.request(p.RequestID)
		raced := make(chan error, 1)
		go func() {
			time.Sleep(rand.N(6 * time.Millisecond))
			if n%2 == 0 {
				err := m.Withdraw(t.Context())
				if errors.Is(err, teammate.ErrNothingOpen) {
					err = nil // it was decided before
				}
				raced <- err
				return
			}
			_, err := m.Submit(t.Context(), teammate.Submission{Prompts: []string{"run tests"}, RequestedMode: permissions.ModeDefault})
			if errors.Is(err, planmode.ErrNotPlanning) {
				err = nil
			}
			raced <- err
		}()
		r.decide(r.approval(row))
		if err := <-raced; err != nil {
			t.Fatal(err)
		}
		rec := r.receipt(p.RequestID)
		s := m.status()
		switch {
		case rec.State == mailbox.Applied && s.State == planmode.Working && len(s.Grants) == 1:
			outcomes["applied"]++
			if err := m.Done(t.Context()); err != nil {
				t.Fatal(err)
			}
		case rec.State == mailbox.Refused && s.State != planmode.Working && len(s.Grants) == 0:
			outcomes["refused: "+rec.Reason]++
			r.letOut(m)
		default:
			t.Fatalf("receipt %+v, and the session is %+v", rec, s)
		}
	}
	t.Log(outcomes)
}

// letOut brings a teammate that still plans back to work.
func (r *rig) letOut(m *mate) {
	r.t.Helper()
	p := m.status().Pending
	if p == nil {
		s := m.submit("# let me out\n")
		p = &s
	}
	r.decide(r.approval(r.request(p.RequestID)))
	until(r.t, "working", func() bool { return m.status().State == planmode.Working })
}

// A leader who is retired decides nothing any more, also before the teammate has heard of it.
func TestRetiredLeaderIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	kp := r.team.AddLeader("old", charter.KindPerson)
	m := r.start()
	p := m.plans()
	d := r.approval(r.request(p.RequestID))
	d.DecidedBy.Name = "old"
	r.team.Retire("old")
	payload, sig := r.sign(kp, "old", mailbox.DecisionSubject(r.team.Name, "api", p.RequestID), mailbox.KindPlanApprovalResponse, d.Epoch, d)
	r.put(p.RequestID, payload, sig)
	if rec := r.receipt(p.RequestID); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "retired") {
		t.Fatalf("receipt = %+v, want refused", rec)
	}
	m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
}
