//go:build linux

package teammate_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// A grant ends when its time is over, and what runs under it with it; also when somebody sets the wall clock back.
func TestGrantEndsInTime(t *testing.T) {
	for name, back := range map[string]time.Duration{"clock runs": 0, "clock set back": -time.Hour, "clock set forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var offset atomic.Int64
				m := r.start(func(c *teammate.Config) {
					c.Heartbeat = time.Minute
					c.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				})
				p := m.plans()
				d := r.approval(r.request(p.RequestID))
				d.Grants[0].ExpiresAt = time.Now().Add(3 * time.Minute).UTC()
				r.decide(d)
				m.wait()
				v, _ := m.View()
				running, end, err := m.Begin(t.Context(), v, granted(m))
				if err != nil {
					t.Fatal(err)
				}
				defer end()
				offset.Store(int64(back))
				time.Sleep(2 * time.Minute)
				if got := len(m.status().Grants); (got == 1) != (back <= 0) {
					t.Fatalf("after two minutes %d grants, clock moved by %s", got, back)
				}
				time.Sleep(time.Minute + 2*time.Second)
				synctest.Wait()
				if s := m.status(); len(s.Grants) > 0 || s.State != planmode.Working {
					t.Fatalf("after three minutes: %+v, want no grant", s)
				}
				wantStopped(t, running, "expired")
				m.end(teammate.ErrDetach)
			})
		})
	}
}

// Waiting for a person costs nothing and never ends by itself.
func TestWaitingHasNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		m := r.start(func(c *teammate.Config) { c.Heartbeat = 10 * time.Minute })
		p := m.plans()
		row := r.request(p.RequestID)
		answered := make(chan teammate.Answer, 1)
		go func() {
			a, _ := m.WaitDecision(t.Context(), 0)
			answered <- a
		}()
		time.Sleep(30 * time.Minute)
		r.decide(r.approval(row))
		if a := <-answered; a.Outcome != planmode.OutcomeApproved {
			t.Errorf("WaitDecision = %+v, want approved", a)
		}
		m.end(teammate.ErrDetach)
	})
}

// approvedFor brings a teammate to work on an approved plan with one grant that lives so long.
func (r *rig) approvedFor(m *mate, d time.Duration) {
	r.t.Helper()
	p := m.plans()
	decision := r.approval(r.request(p.RequestID))
	decision.Grants[0].ExpiresAt = time.Now().Add(d).UTC()
	r.decide(decision)
	m.wait()
	r.receipt(p.RequestID)
}

// A clock that jumps forward and back again: in between nothing may begin, and afterwards the grant lives to its own end,
// not longer.
func TestClockJumpsForthAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var offset atomic.Int64
		m := r.start(func(c *teammate.Config) {
			c.Heartbeat = time.Minute
			c.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
		})
		r.approvedFor(m, 3*time.Minute)
		id := m.status().Grants[0].ID
		time.Sleep(10 * time.Second)
		for _, jump := range []time.Duration{time.Hour, -time.Hour, 2 * time.Minute, -90 * time.Second} {
			offset.Store(int64(jump))
			err := m.Use(t.Context(), []string{id}, "call")
			if ends := jump > 170*time.Second; ends != errors.Is(err, planmode.ErrNoGrant) || !ends && err != nil {
				t.Errorf("a use with the clock moved by %s: %v", jump, err)
			}
			offset.Store(0)
		}
		offset.Store(int64(-time.Hour))
		time.Sleep(2*time.Minute + 51*time.Second)
		if err := m.Use(t.Context(), []string{id}, "call"); !errors.Is(err, planmode.ErrNoGrant) {
			t.Errorf("a use after the end, with the clock set back: %v, want ErrNoGrant", err)
		}
		synctest.Wait()
		if g := m.status().Grants; len(g) > 0 {
			t.Errorf("grants %+v after their end, want none", g)
		}
		m.end(teammate.ErrDetach)
	})
}

// A clock that is set back while nobody runs gives a grant no time: it goes on from the journal's last line. One that is
// set back by days ends it.
func TestClockSetBackWhileNobodyRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		back  time.Duration
		lives bool
	}{"by an hour": {time.Hour, true}, "by two days": {48 * time.Hour, false}, "not at all": {0, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				m := r.start()
				r.approvedFor(m, 3*time.Minute)
				m = r.again(m, func(c *teammate.Config) {
					c.Now = func() time.Time { return time.Now().Add(-tc.back) }
				})
				if g := m.status().Grants; (len(g) == 1) != tc.lives {
					t.Fatalf("after the restart grants are %+v, want one: %t", g, tc.lives)
				}
				if s := m.status(); s.State != planmode.Working || s.Approved == nil {
					t.Errorf("status %+v, want that the plan is carried out", s)
				}
				time.Sleep(3*time.Minute + 2*time.Second)
				synctest.Wait()
				if g := m.status().Grants; len(g) > 0 {
					t.Errorf("grants %+v after their end, want none", g)
				}
				m.end(teammate.ErrDetach)
			})
		})
	}
}

// A grant for the exact command ends with the plan's own, whatever the answer says, and what runs under it with it.
func TestExactCommandEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		m := r.start()
		r.approvedFor(m, 3*time.Minute)
		call := permissions.Call{Tool: "Bash", Command: "touch x"}
		answered, row := m.asks(r, call)
		r.answer(row, permissions.BehaviorAllow, permissions.ScopePlan)
		if got := <-answered; got.err != nil {
			t.Fatal(got.err)
		}
		v, _ := m.View()
		call.Cwd = v.Tree
		d := m.Decide(v, call)
		running, end, err := m.Begin(t.Context(), v, d)
		if err != nil || len(d.GrantIDs()) != 1 {
			t.Fatalf("Begin(%+v): %v, want that it rests on the grant", d, err)
		}
		defer end()
		time.Sleep(2 * time.Minute)
		if running.Err() != nil || len(m.status().Grants) != 2 {
			t.Fatalf("after two minutes: %v, %+v", running.Err(), m.status().Grants)
		}
		time.Sleep(time.Minute + 2*time.Second)
		synctest.Wait()
		wantStopped(t, running, "expired")
		if v, _ = m.View(); m.Decide(v, call).Verdict != permissions.Ask {
			t.Errorf("after the end it is %s, want ask", m.Decide(v, call).Verdict)
		}
		m.end(teammate.ErrDetach)
	})
}
