//go:build linux

package teammate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// ledger is what the coordinator says is the end of the ledger now.
func (r *rig) ledger() *planmode.Ledger {
	r.t.Helper()
	h, err := r.anna.LedgerHead(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	l := planmode.Ledger(h)
	return &l
}

// A decision over another ledger voids its slot: the plan is asked again. One over an older end of the same one counts: it may
// have waited for the teammate.
func TestAttackADecisionOverAnotherLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t, mailboxtest.Audited())
	m := r.start()
	p := m.plans()
	old := r.ledger()
	m.seen(r, r.ledger())
	until(t, "a later end", func() bool { return r.ledger().Seq > old.Seq+2 })
	m.seen(r, r.ledger())
	p = *m.status().Pending
	d := r.approval(r.request(p.RequestID))
	d.Ledger = &planmode.Ledger{Seq: r.lastKnown(), Hash: strings.Repeat("0", 64)}
	r.decide(d)
	until(t, "asked again", func() bool { s := m.status(); return s.Pending != nil && s.Pending.RequestID != p.RequestID })
	m.wantState(planmode.AwaitingLeaderApproval, permissions.ModePlan)
	d = r.approval(r.request(m.status().Pending.RequestID))
	d.Ledger = old
	r.decide(d)
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
	mailboxtest.Refused(t, "decide over another ledger than was seen", "leader", mailboxtest.ByTeammate, "the slot is void, and the plan asked again")
}

// lastKnown is the end of the ledger that the teammate remembers. It looks by itself too: one that a decision names may be
// older than the one that it saw meanwhile, and is not remembered then.
func (r *rig) lastKnown() uint64 {
	r.t.Helper()
	var joins struct {
		Known []audit.Head `json:"known"`
	}
	if err := json.Unmarshal([]byte(read(r.t, filepath.Join(r.dir, "joins.json"))), &joins); err != nil || len(joins.Known) == 0 {
		r.t.Fatalf("no end of the ledger is remembered: %v", err)
	}
	return joins.Known[len(joins.Known)-1].Seq
}

// seen has the teammate see the end of the ledger: by a plan that is decided over it.
func (m *mate) seen(r *rig, l *planmode.Ledger) {
	r.t.Helper()
	d := r.rejection(r.request(m.status().Pending.RequestID), "once more")
	d.Ledger = l
	r.decide(d)
	m.wait()
	m.submit("# Fix it\n")
	until(r.t, "published", func() bool { s := m.status(); return s.Pending != nil && s.Pending.Published })
}

// While nobody ran, the decisions' files were deleted: what was decided cannot be proven, so it is plan mode, no grants, and
// the leaders are told.
func TestAttackTheStoreLosesDecisions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, mailboxtest.Audited(), mailboxtest.StoreDir(dir))
	m := r.start()
	p := m.plans()
	d := r.approval(r.request(p.RequestID))
	d.Ledger = r.ledger()
	r.decide(d)
	m.wait()
	if rec := r.receipt(p.RequestID); rec.State != mailbox.Applied {
		t.Fatalf("receipt = %+v", rec)
	}
	until(t, "recorded", func() bool {
		found := false
		err := r.anna.Audit(t.Context(), func(l audit.Line) error {
			e, err := audit.Read(l.Entry)
			found = found || e.Event == audit.EventDecision
			return err
		})
		return err == nil && found
	})
	m.end(teammate.ErrDetach)
	r.team.Stop()
	gone, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "DEC_*"))
	if err != nil || len(gone) != 1 {
		t.Fatalf("decisions lie in %q (%v)", gone, err)
	}
	if err := os.RemoveAll(gone[0]); err != nil {
		t.Fatal(err)
	}
	r.team.Start()
	m, told := r.startsPlanning("the broker's store has lost what was stored")
	m.end(teammate.ErrDetach)
	m = r.start() // once told, it is over
	m.wantState(planmode.Planning, permissions.ModePlan)
	for len(told) > 0 {
		if text := <-told; strings.Contains(text, "the broker's store has lost what was stored") {
			t.Errorf("the leaders were told again: %q", text)
		}
	}
	mailboxtest.Refused(t, "delete the files of the decisions", "broker's operator", mailboxtest.ByTeammate, "plan mode, no grants, and the leaders are told once")
}
