//go:build linux

package teammate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// told is the teammate's last word about itself, as the leaders have it.
func (r *rig) told() planmode.Status {
	r.t.Helper()
	var all []natsbox.Presence
	if err := r.anna.Call(context.Background(), natsbox.VerbPresence, nil, &all); err != nil {
		r.t.Fatal(err)
	}
	for _, p := range all {
		if p.Name == "api" && len(p.Status) > 0 {
			var s planmode.Status
			if err := json.Unmarshal(p.Status, &s); err != nil {
				r.t.Fatal(err)
			}
			return s
		}
	}
	return planmode.Status{}
}

func (r *rig) wantEnded(causes ...string) []planmode.EndedGrant {
	r.t.Helper()
	var last []planmode.EndedGrant
	want := strings.Join(causes, " ")
	until(r.t, "ended: "+want, func() bool {
		last = r.told().Ended
		var got []string
		for _, g := range last {
			got = append(got, g.EndedBy)
		}
		return strings.Join(got, " ") == want
	})
	return last
}

// The leaders are told which grants are over, and why, also after a restart.
func TestEndedGrantsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m)
	id := m.status().Grants[0].ID
	for range 3 {
		if err := m.Use(t.Context(), []string{id}, "call"); err != nil {
			t.Fatal(err)
		}
	}
	g := r.wantEnded("exhausted")[0]
	if g.ID != id || g.Uses != 3 || g.MaxUses != 3 || g.Prompt != "run tests" || g.EndedAt.IsZero() || g.Runners != nil {
		t.Errorf("ended is %+v, want the grant with its three uses", g)
	}
	r.approved(m)
	if err := m.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantEnded("exhausted", "completed")
	r.approved(m)
	r.order(mailbox.KindGrantRevoked, planmode.GrantRevoked{OrderHead: r.head(), Counter: 1, All: true})
	r.wantEnded("exhausted", "completed", "revoked")
	r.approved(m)
	m = r.again(m)
	r.wantEnded("exhausted", "completed", "revoked")
	if len(m.status().Grants) != 1 {
		t.Errorf("grants are %+v, want the one that lives on", m.status().Grants)
	}
	m.enter()
	r.wantEnded("exhausted", "completed", "revoked", "replanned")
}

// At most so many are kept, the newest last.
func TestOldEndedGrantsAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var old []planmode.EndedGrant
	for n := range 40 {
		old = append(old, planmode.EndedGrant{Grant: permissions.Grant{ID: fmt.Sprint("g", n)}, EndedBy: "completed"})
	}
	raw, err := json.Marshal(old[:32])
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.dir, "ended.json"), string(raw))
	m := r.start()
	r.approved(m)
	m.enter()
	until(t, "told", func() bool { e := r.told().Ended; return len(e) == 32 && e[31].EndedBy == "replanned" })
	if e := r.told().Ended; e[0].ID != "g1" {
		t.Errorf("the oldest is %s, want g1", e[0].ID)
	}
}

// What was written down and did not end, because the process was killed just then, has not ended.
func TestWhatLivesHasNotEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	r.approved(m)
	raw, err := json.Marshal([]planmode.EndedGrant{{Grant: m.status().Grants[0], EndedBy: "revoked"}})
	if err != nil {
		t.Fatal(err)
	}
	m.end(teammate.ErrDetach)
	write(t, filepath.Join(r.dir, "ended.json"), string(raw))
	since := time.Now()
	m = r.start()
	until(t, "told", func() bool { return r.told().Heartbeat.After(since) })
	if e := r.told().Ended; len(e) != 0 || len(m.status().Grants) != 1 {
		t.Errorf("ended are %+v and in force %+v, want none and one", e, m.status().Grants)
	}
}

// The calls that wait are told, to the leaders and to the agent.
func TestWaitingCallsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	answered := m.ask(t.Context(), "touch x")
	row := r.open()
	until(t, "told", func() bool { a := r.told().Asks; return len(a) == 1 && a[0] == row.EnvelopeID })
	want := teammate.AskStatus{RequestID: row.EnvelopeID, Handle: mailbox.Handle("api", row.EnvelopeID, 4), Tool: "Bash", Input: "touch x"}
	if a := m.status().Asks; len(a) != 1 || a[0] != want {
		t.Errorf("the agent is told %+v, want %+v", a, want)
	}
	r.answer(row, permissions.BehaviorDeny, "")
	<-answered
	until(t, "told", func() bool { return len(r.told().Asks) == 0 && len(m.status().Asks) == 0 })
}

// lostPlans is a store whose plans cannot be read any more.
type lostPlans struct{ teammate.Store }

func (s lostPlans) Load(digest string) ([]byte, error) {
	return nil, fmt.Errorf("plandir: %.8s: %w", digest, os.ErrNotExist)
}

// An approval whose plan cannot be read is not delivered for ever: it is refused with the reason, the request is
// withdrawn, and the leaders and the agent are told.
func TestApprovalOfALostPlanIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	said := make(chan string, 8)
	r.listen(said)
	m := r.start()
	p := m.plans()
	row := r.request(p.RequestID)
	m.end(teammate.ErrDetach)
	m = r.start(func(c *teammate.Config) { c.Store = lostPlans{c.Store} })
	r.decide(r.approval(row))
	rec := r.receipt(p.RequestID)
	if rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "cannot be read") {
		t.Fatalf("receipt = %+v, want refused, and why", rec)
	}
	until(t, "withdrawn", func() bool { return r.request(p.RequestID).Withdrawn != "" })
	if a := m.wait(); a.Outcome != teammate.OutcomeWithdrawn {
		t.Errorf("WaitDecision = %+v, want withdrawn", a)
	}
	m.wantState(planmode.Planning, permissions.ModePlan)
	select {
	case text := <-said:
		if !strings.Contains(text, "has to be submitted again") {
			t.Errorf("the leaders are told %q", text)
		}
	case <-time.After(patience):
		t.Error("the leaders are told nothing")
	}
}

// A rejection needs no plan.
func TestRejectionOfALostPlanIsApplied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	p := m.plans()
	row := r.request(p.RequestID)
	m.end(teammate.ErrDetach)
	m = r.start(func(c *teammate.Config) { c.Store = lostPlans{c.Store} })
	r.decide(r.rejection(row, "no"))
	if a := m.wait(); a.Outcome != planmode.OutcomeRejected || a.Feedback != "no" {
		t.Errorf("WaitDecision = %+v, want rejected", a)
	}
}

// Refusals are journalled: the same call once a minute, and sixty a minute in all.
func TestRefusalsAreLimited(t *testing.T) {
	synctest.Test(t, refusalsAreLimited) // however slow the disk is, it is within a minute
}

func refusalsAreLimited(t *testing.T) {
	r := newRig(t)
	m := r.start()
	defer m.end(teammate.ErrDetach)
	before, _ := m.journal.Seq()
	refuse := func(n int) uint64 {
		call := permissions.Call{Tool: "Bash", Command: fmt.Sprint("curl ", n)}
		return m.Refused(call, permissions.Decision{Hash: fmt.Sprint("h", n)}, "network")
	}
	first := refuse(0)
	if first != before+1 || refuse(0) != first {
		t.Fatalf("the first refusal is line %d, and the same again another, want %d", first, before+1)
	}
	lines := map[uint64]bool{}
	for n := range 100 {
		lines[refuse(n)] = true
	}
	if len(lines) != 61 || !lines[0] {
		t.Errorf("%d lines for a hundred refusals, want sixty and none", len(lines))
	}
	until(t, "told", func() bool { return m.log.count("call.refused") == 60 })
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	for _, e := range m.log.events {
		if e.Event == "call.refused" && e.Fields["callHash"] == "h0" && e.Fields["seq"] != fmt.Sprint(first) {
			t.Errorf("told is %v, want line %d", e.Fields, first)
		}
	}
	long := m.Refused(permissions.Call{Tool: "Bash", Command: strings.Repeat("x", 1<<20)}, permissions.Decision{Hash: "long"}, "\xff")
	if long != 0 {
		t.Errorf("one more is line %d, want none", long)
	}
}

// A long call is in the journal as far as it tells something.
func TestRefusedCallIsCut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	if m.Refused(permissions.Call{Tool: "Bash", Command: strings.Repeat("\xff", 1<<20)}, permissions.Decision{}, "no") == 0 {
		t.Fatal("it is not in the journal")
	}
	m.end(teammate.ErrDetach)
	if raw := read(t, filepath.Join(r.dir, "journal.jsonl")); len(raw) > 64<<10 || !strings.Contains(raw, "callRefused") {
		t.Errorf("the journal has %d bytes, want a few, with the refusal", len(raw))
	}
	r.start()
}
