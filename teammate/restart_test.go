//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

func inMode(m permissions.Mode) func(*teammate.Config) {
	return func(c *teammate.Config) { c.Mode = m }
}

// From every mode: enter, rejected, revised, approved: the same mode comes back, with the runner started again in between
// at every place, and grants that are the same before and after.
func TestSavedModeComesBack(t *testing.T) {
	t.Parallel()
	for _, mode := range permissions.Modes() {
		if mode == permissions.ModePlan {
			continue
		}
		for _, restarts := range []bool{false, true} {
			name := string(mode)
			if restarts {
				name += " with restarts"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				m := r.start(inMode(mode))
				again := func() {
					if restarts {
						m = r.again(m, inMode(mode))
					}
				}
				m.wantState(planmode.Working, mode)
				m.enter()
				m.wantState(planmode.Planning, permissions.ModePlan)
				again()
				m.wantState(planmode.Planning, permissions.ModePlan)
				p := m.submit("# Fix it\n")
				again()
				m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
				r.decide(r.rejection(r.request(p.RequestID), "Say how you will test it."))
				if a := m.wait(); a.Outcome != planmode.OutcomeRejected || a.Feedback != "Say how you will test it." {
					t.Fatalf("WaitDecision = %+v, want rejected with the feedback", a)
				}
				again()
				m.wantState(planmode.Planning, permissions.ModePlan)
				if last := m.status().Last; last == nil || last.Feedback == "" {
					t.Fatalf("the feedback is not there any more: %+v", last)
				}
				p = m.submit("# Fix it\n\nwith a test\n", "run tests")
				again()
				row := r.request(p.RequestID)
				if row.KnownMode != mode {
					t.Fatalf("the desk knows mode %s, want %s", row.KnownMode, mode)
				}
				r.decide(r.approval(row))
				m.wait()
				again()
				m.wantState(planmode.Working, mode)
				s := m.status()
				if len(s.Grants) != 1 || s.Grants[0].Root != r.tree || s.Saved != "" {
					t.Fatalf("after approval: %+v, want one grant", s)
				}
			})
		}
	}
}

// The mode that the decision names wins over what the teammate claims.
func TestNamedModeWins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(inMode(permissions.ModeAuto))
	p := m.plans()
	d := r.approval(r.request(p.RequestID))
	d.Mode = permissions.ModeDontAsk
	r.decide(d)
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDontAsk)
	if m.agent.mode != permissions.ModeDontAsk {
		t.Errorf("the client is in mode %s, want dontAsk", m.agent.mode)
	}
}

func TestRejectedAndExitGrantsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(inMode(permissions.ModeAcceptEdits))
	p := m.plans()
	d := r.approval(r.request(p.RequestID))
	d.Outcome, d.Approved, d.Grants = planmode.OutcomeRejectedAndExit, false, nil
	r.decide(d)
	if a := m.wait(); a.Outcome != planmode.OutcomeRejectedAndExit {
		t.Fatalf("WaitDecision = %+v, want rejectedAndExit", a)
	}
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	if s := m.status(); len(s.Grants) > 0 || s.Approved != nil {
		t.Errorf("status %+v, want no grant and no plan", s)
	}
}

// Decided while no runner was there: the next one applies it once.
func TestDecidedWhileAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(inMode(permissions.ModeAcceptEdits))
	p := m.plans()
	m.end(teammate.ErrDetach)
	r.decide(r.approval(r.request(p.RequestID)))
	m = r.start(inMode(permissions.ModeAcceptEdits))
	if a := m.wait(); a.Outcome != planmode.OutcomeApproved || a.RequestID != p.RequestID {
		t.Fatalf("WaitDecision = %+v, want approved", a)
	}
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	m.wantEvent("plan.approved")
	if n := m.log.count("plan.approved"); n != 1 {
		t.Errorf("applied %d times, want once", n)
	}
	if rec := r.receipt(p.RequestID); rec.State != mailbox.Applied {
		t.Errorf("receipt = %+v, want applied", rec)
	}
	m = r.again(m)
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	if len(m.status().Grants) != 1 {
		t.Errorf("grants after another restart: %+v, want one", m.status().Grants)
	}
}

// Submitted while the broker is away: it is said so, and it is stored when the broker is back.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.enter()
	r.team.Stop()
	p := m.submit("# Fix it\n")
	if p.Published {
		t.Fatalf("Submit = %+v without a broker, want not published", p)
	}
	m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
	r.team.Start()
	until(t, "published", func() bool { s := m.status(); return s.Pending != nil && s.Pending.Published })
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// Killed before the request was stored: the next runner's mail has another epoch, so it asks anew, and is decided.
func TestRestartBeforePublished(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.enter()
	r.team.Stop()
	p := m.submit("# Fix it\n")
	m.end(teammate.ErrDetach)
	r.team.Start()
	m = r.start()
	row := r.open()
	if row.EnvelopeID == p.RequestID || row.Request.Supersedes != p.RequestID {
		t.Fatalf("open is %s, superseding %q, want a new request that replaces %s", row.EnvelopeID, row.Request.Supersedes, p.RequestID)
	}
	r.decide(r.approval(row))
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// No journal, or a damaged one, where the team has known this teammate: plan mode, no grants, and the leaders are told.
func TestLostJournalPlans(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"damaged": func(path string) error {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, append([]byte("x"), raw...), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			p := m.plans()
			r.decide(r.approval(r.request(p.RequestID)))
			m.wait()
			before := r.head() // given, and perhaps applied, before the journal was lost with its counters
			m.end(teammate.ErrDetach)
			if err := spoil(filepath.Join(r.dir, "journal.jsonl")); err != nil {
				t.Fatal(err)
			}
			m, _ = r.startsPlanning("What api remembers cannot be relied on")
			old := r.order(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: before, Counter: 1, Mode: permissions.ModeBypass})
			if rec := r.receipt(old); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "older") {
				t.Errorf("receipt of an old order = %+v, want refused", rec)
			}
			if rec := r.receipt(r.modeOrder(permissions.ModeAuto, 1)); rec.State != mailbox.Applied {
				t.Errorf("receipt of a new order = %+v, want applied", rec)
			}
			r.again(m) // the next process does not know of the loss by itself
			old = r.order(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: before, Counter: 2, Mode: permissions.ModeBypass})
			if rec := r.receipt(old); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "older") {
				t.Errorf("receipt of an old order after another start = %+v, want refused", rec)
			}
		})
	}
}

// startsPlanning starts a runner that cannot prove what was decided: it plans, without grants, and tells the leaders why.
func (r *rig) startsPlanning(why string) (m *mate, told chan string) {
	r.t.Helper()
	told = make(chan string, 8)
	r.listen(told)
	m = r.start()
	m.wantState(planmode.Planning, permissions.ModePlan)
	if s := m.status(); len(s.Grants) > 0 {
		r.t.Errorf("grants %+v, want none", s.Grants)
	}
	for text := <-told; !strings.Contains(text, why); { // others may have something to tell too
		select {
		case text = <-told:
		case <-time.After(patience):
			r.t.Fatalf("the leaders were told %q, want %q", text, why)
		}
	}
	return m, told
}

// listen receives anna's messages.
func (r *rig) listen(texts chan<- string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		_ = r.anna.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
			if m.Envelope.Kind == mailbox.KindMessage {
				b, err := mailbox.Body[mailbox.Message](m.Envelope)
				if err != nil {
					return err
				}
				select {
				case texts <- b.Text:
				case <-ctx.Done(): // nobody reads any more
				}
			}
			return nil
		})
	}()
}

// An orderly end withdraws what waits and ends the grants; a detached runner ends nothing.
func TestExitIsNotRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	if err := m.end(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v, want the cause of its end", err)
	}
	if !slices.Contains(m.agent.all(), "stop exit") {
		t.Errorf("the agent did %v, want that it was stopped", m.agent.all())
	}
	if _, ok := m.View(); ok {
		t.Error("there is a view after the end")
	}
	until(t, "withdrawn because of exit", func() bool { return r.request(p.RequestID).Withdrawn == "exit" })
	m = r.start()
	m.wantState(planmode.Working, permissions.ModeDefault)
	if _, err := m.WaitDecision(t.Context(), 0); !errors.Is(err, teammate.ErrNothingAsked) {
		t.Errorf("WaitDecision in a new session: %v, want ErrNothingAsked", err)
	}
}

// An end without a broker: what waited is withdrawn as soon as there is one again.
func TestLastWordsAreSentLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start(func(c *teammate.Config) { c.Drain = 50 * time.Millisecond })
	if m.Resumed() {
		t.Error("a new session says that it was resumed")
	}
	p := m.plans()
	r.team.Stop()
	m.end(context.Canceled)
	r.team.Start()
	m = r.start()
	until(t, "withdrawn", func() bool { return r.request(p.RequestID).Withdrawn == "exit" })
	m = r.again(m)
	if !m.Resumed() {
		t.Error("a session that was taken up says that it was not")
	}
}

// Another instance takes the name: the first one says nothing any more and its gate is shut.
func TestFencedRunnerEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.plans()
	cfg := r.team.Config("api")
	cfg.Instance = "api-other"
	other, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Join(t.Context(), natsbox.JoinRequest{Instance: "api-other", Mode: permissions.ModeDefault}); !errors.Is(err, natsbox.ErrNameTaken) {
		t.Fatalf("join under a live name: %v, want ErrNameTaken", err)
	}
	if _, err := other.Join(t.Context(), natsbox.JoinRequest{Instance: "api-other", Mode: permissions.ModeDefault, Takeover: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-m.ended:
		m.ended <- err
	case <-t.Context().Done():
	}
	if !errors.Is(err, natsbox.ErrFenced) {
		t.Fatalf("Run = %v, want ErrFenced", err)
	}
	if _, ok := m.View(); ok {
		t.Error("there is a view after the name was lost")
	}
	if s, _ := m.journal.Session(); s.State != planmode.Left {
		t.Errorf("the session is %s, want left", s.State)
	}
}

func TestSecondInstanceDoesNotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	dir := t.TempDir()
	first := r.dir
	r.dir = dir
	cfg := r.team.Config("api")
	cfg.Instance = "api-other"
	conn, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	m := r.begin(func(c *teammate.Config) { c.Instance, c.Box = "api-other", conn })
	r.dir = first
	err = <-m.ended
	m.ended <- err
	if !errors.Is(err, natsbox.ErrNameTaken) {
		t.Fatalf("Run = %v, want ErrNameTaken", err)
	}
}

func TestOtherJournalIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.end(teammate.ErrDetach)
	m = r.begin(func(c *teammate.Config) { c.Tree = t.TempDir() })
	err := <-m.ended
	m.ended <- err
	if !errors.Is(err, teammate.ErrOtherJournal) {
		t.Fatalf("Run = %v, want ErrOtherJournal", err)
	}
}
