//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
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

func (r *rig) modeOrder(mode permissions.Mode, counter uint64) string {
	return r.order(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: r.head(), Counter: counter, Mode: mode})
}

// A mode order changes the mode while working, only what comes back while planning, is applied once, and never twice.
func TestModeOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeAuto, PlanRequired: true}))
	m := r.start()
	if rec := r.receipt(r.modeOrder(permissions.ModeAcceptEdits, 1)); rec.State != mailbox.Applied || rec.Mode != "acceptEdits" {
		t.Fatalf("receipt = %+v, want applied in acceptEdits", rec)
	}
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
	if rec := r.receipt(r.modeOrder(permissions.ModeDefault, 1)); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "old") {
		t.Fatalf("receipt = %+v, want refused as old", rec)
	}
	if rec := r.receipt(r.modeOrder(permissions.ModeBypass, 2)); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "cap") {
		t.Fatalf("receipt = %+v, want refused above the cap", rec)
	}
	m.enter()
	if rec := r.receipt(r.modeOrder(permissions.ModeAuto, 3)); rec.State != mailbox.Applied || rec.Mode != "plan" {
		t.Fatalf("receipt = %+v, want applied, still planning", rec)
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	m = r.again(m)
	if rec := r.receipt(r.modeOrder(permissions.ModeDefault, 3)); rec.State != mailbox.Refused {
		t.Fatalf("receipt = %+v of an old counter after a restart, want refused", rec)
	}
	if s := m.status(); s.Saved != permissions.ModeAuto {
		t.Fatalf("saved mode %s, want auto", s.Saved)
	}
}

// A new session of the same teammate does not take the last one's orders again.
func TestCountersOutliveTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.receipt(r.modeOrder(permissions.ModeBypass, 7))
	m.end(context.Canceled)
	m = r.start()
	if rec := r.receipt(r.modeOrder(permissions.ModeBypass, 7)); rec.State != mailbox.Refused {
		t.Fatalf("receipt = %+v of an old counter, want refused", rec)
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// Recalled: plan mode at once, the grants end, and so does what runs.
func TestRecallEndsWhatRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m)
	v, _ := m.View()
	running, end, err := m.Begin(t.Context(), v, granted(m))
	if err != nil {
		t.Fatal(err)
	}
	id := r.modeOrder(permissions.ModePlan, 1)
	wantStopped(t, running, "plan mode")
	if _, _, err := m.Begin(t.Context(), v, granted(m)); !errors.Is(err, teammate.ErrMoved) {
		t.Errorf("Begin with the view of before: %v, want ErrMoved", err)
	}
	end()
	if rec := r.receipt(id); rec.State != mailbox.Applied {
		t.Fatalf("receipt = %+v, want applied", rec)
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	if s := m.status(); len(s.Grants) > 0 || s.Saved != permissions.ModeDefault {
		t.Errorf("status %+v, want no grants, and default to come back", s)
	}
}

func TestRevokeEndsGrantsAndWhatRunsUnderThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m)
	v, _ := m.View()
	under, endUnder, err := m.Begin(t.Context(), v, granted(m))
	if err != nil {
		t.Fatal(err)
	}
	defer endUnder()
	v, _ = m.View()
	free, endFree, err := m.Begin(t.Context(), v, permissions.Decision{Verdict: permissions.Allow, Hash: "ls"})
	if err != nil {
		t.Fatal(err)
	}
	defer endFree()
	id := r.order(mailbox.KindGrantRevoked, planmode.GrantRevoked{OrderHead: r.head(), Counter: 1, All: true})
	wantStopped(t, under, "revoked")
	wantStopped(t, free, "revoked") // a leader may have allowed it once: nothing that was let run goes on
	endUnder()
	endFree()
	if rec := r.receipt(id); rec.State != mailbox.Applied || rec.Count == nil || *rec.Count != 1 || !strings.Contains(rec.Reason, "running commands ended: 2") {
		t.Fatalf("receipt = %+v, want one grant and two commands ended", rec)
	}
	if s := m.status(); len(s.Grants) > 0 {
		t.Errorf("grants %+v, want none", s.Grants)
	}
}

func TestShutdownOrderEndsTheTeammate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	id := r.order(mailbox.KindShutdownRequest, mailbox.ShutdownRequest{OrderHead: r.head(), Counter: 1})
	select {
	case err := <-m.ended:
		m.ended <- err
		if err != nil {
			t.Fatalf("Run = %v, want nil", err)
		}
	case <-time.After(patience):
		t.Fatal("Run goes on")
	}
	if rec := r.receipt(id); rec.State != mailbox.Applied {
		t.Errorf("receipt = %+v, want applied", rec)
	}
	if !slices.Contains(m.agent.all(), "stop shutdown") {
		t.Errorf("the agent did %v, want that it was stopped", m.agent.all())
	}
}

// Orders are refused when a leader has not signed them: whoever publishes them.
func TestUnsignedOrderIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.team.AddTeammate("mallory")
	subject := mailbox.OrderSubject(r.team.Name, "api", "anna", mailbox.KindModeSetRequest)
	body := planmode.ModeSet{OrderHead: r.head(), Counter: 1, Mode: permissions.ModeBypass}
	payload, sig := r.sign(r.team.Key("mallory"), "anna", subject, mailbox.KindModeSetRequest, 0, body)
	for _, sigs := range [][]string{nil, {"junk"}, {sig}} {
		if _, err := r.anna.PutOrder(t.Context(), "api", mailbox.KindModeSetRequest, payload, sigs); err != nil {
			t.Fatal(err)
		}
	}
	r.receipt(r.modeOrder(permissions.ModeAcceptEdits, 1)) // after those before it
	m.wantState(planmode.Working, permissions.ModeAcceptEdits)
}

// approved brings a teammate to work on an approved plan with one grant.
func (r *rig) approved(m *mate) {
	r.t.Helper()
	p := m.plans()
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	r.receipt(p.RequestID)
}

// granted is the decision that rests on the one grant.
func granted(m *mate) permissions.Decision {
	d := permissions.Decision{Verdict: permissions.Allow, Hash: "call"}
	for _, g := range m.status().Grants {
		d.Commands = append(d.Commands, permissions.CommandVerdict{Verdict: permissions.Allow, GrantID: g.ID})
	}
	return d
}

func wantStopped(t *testing.T, running context.Context, why string) {
	t.Helper()
	select {
	case <-running.Done():
	case <-time.After(patience):
		t.Fatal("the call goes on")
	}
	var stopped *teammate.StoppedError
	if !errors.As(context.Cause(running), &stopped) || !strings.Contains(stopped.Cause, why) {
		t.Fatalf("stopped because of %v, want %q", context.Cause(running), why)
	}
}

// A use is in the journal when it is allowed; the last one may finish; the one after it is none.
func TestUsesAreCountedBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m) // three uses
	id := m.status().Grants[0].ID
	var all []context.Context
	var ends []func()
	for n := 1; n <= 3; n++ {
		v, _ := m.View()
		running, end, err := m.Begin(t.Context(), v, granted(m))
		if err != nil {
			t.Fatalf("use %d: %v", n, err)
		}
		all, ends = append(all, running), append(ends, end)
		if s, _ := m.journal.Session(); n < 3 && s.Grants[0].Uses != n {
			t.Fatalf("the journal has %d uses, want %d", s.Grants[0].Uses, n)
		}
	}
	if err := m.Use(t.Context(), []string{id}, "call"); !errors.Is(err, planmode.ErrNoGrant) {
		t.Fatalf("use 4: %v, want ErrNoGrant", err)
	}
	time.Sleep(20 * time.Millisecond)
	for n, running := range all {
		if running.Err() != nil {
			t.Errorf("use %d was stopped: %v", n+1, context.Cause(running))
		}
	}
	for _, end := range ends {
		end()
	}
	if err := m.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Where the journal cannot be written nothing happens: no use, no step, and the session is as it was.
func TestNothingHappensWithoutAJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full := &fullJournal{}
	m := r.start(func(c *teammate.Config) {
		full.Journal = c.Journal
		c.Journal = full
	})
	r.approved(m)
	id := m.status().Grants[0].ID
	full.full.Store(true)
	if err := m.Use(t.Context(), []string{id}, "call"); !errors.Is(err, errFull) {
		t.Errorf("Use: %v, want that the disk is full", err)
	}
	v, _ := m.View()
	if _, _, err := m.Begin(t.Context(), v, granted(m)); !errors.Is(err, errFull) {
		t.Errorf("Begin: %v, want that the disk is full", err)
	}
	if err := m.Enter(t.Context(), planmode.ByAgent); !errors.Is(err, errFull) {
		t.Errorf("Enter: %v, want that the disk is full", err)
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
	if g := m.status().Grants[0]; g.Uses != 0 {
		t.Errorf("the grant has %d uses, want 0", g.Uses)
	}
	order := r.modeOrder(permissions.ModeAcceptEdits, 1) // comes again until it can be taken
	time.Sleep(100 * time.Millisecond)
	m.wantState(planmode.Working, permissions.ModeDefault)
	full.full.Store(false)
	if rec := r.receipt(order); rec.State != mailbox.Applied {
		t.Errorf("receipt = %+v, want applied when there is room again", rec)
	}
}

// An order to end that was given while the teammate did not run does not end its next start; one that is given then says by
// whom and why it ended.
func TestStopOrderIsForTheRunThatItWasGivenTo(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]error{"left": context.Canceled, "detached": teammate.ErrDetach} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.start()
			m.end(stop)
			early := r.order(mailbox.KindShutdownRequest, mailbox.ShutdownRequest{OrderHead: r.head(), Counter: 1, Reason: "too late"})
			m = r.start()
			if rec := r.receipt(early); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "given before this start: give it again") {
				t.Fatalf("receipt = %+v, want refused as given before this start", rec)
			}
			m.wantState(planmode.Working, permissions.ModeDefault)
			if s, ok := m.Stopped(); ok {
				t.Errorf("stopped by %+v, want that it goes on", s)
			}
			id := r.order(mailbox.KindShutdownRequest, mailbox.ShutdownRequest{OrderHead: r.head(), Counter: 1, Reason: "done for today"})
			select {
			case err := <-m.ended:
				m.ended <- err
			case <-time.After(patience):
				t.Fatal("Run goes on")
			}
			if rec := r.receipt(id); rec.State != mailbox.Applied {
				t.Errorf("receipt = %+v, want applied", rec)
			}
			if s, ok := m.Stopped(); !ok || s != (teammate.Stop{By: "anna", Reason: "done for today"}) {
				t.Errorf("stopped by %+v, %t, want by anna, and why", s, ok)
			}
			if e := m.log.find("stopped"); e["by"] != "anna" || e["reason"] != "done for today" {
				t.Errorf("the event says %v, want by whom and why", e)
			}
		})
	}
}

// What a leader orders is told with the leader's name and words.
func TestOrdersAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m)
	r.receipt(r.order(mailbox.KindGrantRevoked, planmode.GrantRevoked{OrderHead: r.head(), Counter: 1, All: true, Reason: "tests are red"}))
	r.receipt(r.order(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: r.head(), Counter: 2, Mode: permissions.ModeAcceptEdits, Reason: "go on"}))
	r.receipt(r.order(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: r.head(), Counter: 3, Mode: permissions.ModePlan, Reason: "think again"}))
	for event, want := range map[string]string{"grants.revoked": "tests are red", "mode.ordered": "go on", "plan.recalled": "think again"} {
		if e := m.log.find(event); e["by"] != "anna" || e["reason"] != want {
			t.Errorf("%s says %v, want anna and %q", event, e, want)
		}
	}
}

// find returns the fields of the last event of a kind.
func (r *recorder) find(event string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range slices.Backward(r.events) {
		if e.Event == event {
			return e.Fields
		}
	}
	return nil
}

// brokenBox is a mailbox whose broker can be away for the statuses.
type brokenBox struct {
	teammate.Box
	away atomic.Bool
}

func (b *brokenBox) SetStatus(ctx context.Context, body any) error {
	if b.away.Load() {
		return natsbox.ErrUnreachable
	}
	return b.Box.SetStatus(context.WithoutCancel(ctx), body) // one that is there is not away, however slow it is
}

// That the broker is gone, and is back, is told once each.
func TestBrokerLostAndBackAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box := &brokenBox{}
	m := r.start(func(c *teammate.Config) {
		box.Box, c.Box, c.Heartbeat = c.Box, box, 10*time.Millisecond
	})
	for n := 1; n <= 2; n++ {
		box.away.Store(true)
		until(t, "lost", func() bool { return m.log.count("broker.lost") == n })
		time.Sleep(50 * time.Millisecond) // several beats
		box.away.Store(false)
		until(t, "back", func() bool { return m.log.count("broker.back") == n })
	}
	if lost, back := m.log.count("broker.lost"), m.log.count("broker.back"); lost != 2 || back != 2 {
		t.Errorf("lost was told %d times and back %d, want twice each", lost, back)
	}
}

// An order that was applied and comes again, as it does when a crash came before it was acknowledged, is not refused: its
// leader was told that it is applied.
func TestAnAppliedOrderThatComesAgainIsNotRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	put := func(kind mailbox.Kind, body any) (again func(), id string) {
		payload, sig := r.sign(r.team.Key("anna"), "anna", mailbox.OrderSubject(r.team.Name, "api", "anna", kind), kind, 0, body)
		env, err := mailbox.Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		again = func() {
			if _, err := r.anna.PutOrder(t.Context(), "api", kind, payload, []string{sig}); err != nil {
				t.Fatal(err)
			}
		}
		again()
		if rec := r.receipt(env.ID); rec.State != mailbox.Applied {
			t.Fatalf("receipt = %+v, want applied", rec)
		}
		return again, env.ID
	}
	mode, modeID := put(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: r.head(), Counter: 1, Mode: permissions.ModeAcceptEdits})
	mode()
	m = r.again(m)
	mode()
	stop, stopID := put(mailbox.KindShutdownRequest, mailbox.ShutdownRequest{OrderHead: r.head(), Counter: 2})
	m.end(context.Canceled)
	m = r.start()
	stop()
	r.receipt(r.modeOrder(permissions.ModeAuto, 3)) // everything before it was taken by then
	for what, id := range map[string]string{"mode": modeID, "stop": stopID} {
		var all []natsbox.ReceiptInfo
		if err := r.anna.Call(t.Context(), natsbox.VerbReceipts, natsbox.IDRequest{ID: id}, &all); err != nil {
			t.Fatal(err)
		}
		is := func(state mailbox.ReceiptState) bool {
			return slices.ContainsFunc(all, func(i natsbox.ReceiptInfo) bool { return i.Receipt.State == state })
		}
		if !is(mailbox.Applied) || is(mailbox.Refused) {
			t.Errorf("receipts of the %s order are %+v, want it applied and not refused", what, all)
		}
	}
	m.wantState(planmode.Working, permissions.ModeAuto)
}
