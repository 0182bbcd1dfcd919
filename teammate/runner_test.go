//go:build linux

package teammate_test

import (
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func TestOnePlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.wantState(planmode.Working, permissions.ModeDefault)
	p := m.plans()
	m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
	if !p.Published { // the broker is slow today
		until(t, "stored", func() bool { return m.status().Pending.Published })
	}
	if p.Revision != 1 || !strings.HasPrefix(p.Handle, "api-") {
		t.Fatalf("Submit = %+v, want the stored revision 1", p)
	}
	row := r.open()
	if row.EnvelopeID != p.RequestID || len(row.Request.AllowedPrompts) != 1 || row.Request.AllowedPrompts[0].Intent == "" {
		t.Fatalf("the leader sees %+v, want the request with its prompt resolved", row.Request)
	}
	r.decide(r.approval(row))
	a := m.wait()
	if a.Outcome != planmode.OutcomeApproved || a.RequestID != p.RequestID || a.Mode != permissions.ModeDefault || a.By.Name != "anna" {
		t.Fatalf("WaitDecision = %+v, want approved by anna in mode default", a)
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
	if g := m.status().Grants; len(g) != 1 || g[0].Prompt != "run tests" || g[0].RequestID != p.RequestID {
		t.Fatalf("grants = %+v, want run tests", g)
	}
	rec := r.receipt(p.RequestID)
	if rec.State != mailbox.Applied || rec.Mode != "default" || !slices.Equal(rec.Grants, []string{"run tests"}) {
		t.Fatalf("receipt = %+v, want applied in default with run tests", rec)
	}
	if journal := read(t, filepath.Join(r.dir, "journal.jsonl")); strings.Contains(journal, base64.StdEncoding.EncodeToString([]byte("# Fix it"))[:8]) {
		t.Error("the journal holds the plan's bytes, which are in the plan store")
	}
	if err := m.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := m.status(); len(s.Grants) != 0 || s.Approved != nil {
		t.Fatalf("after Done: %+v, want no grant and no plan", s)
	}
}
