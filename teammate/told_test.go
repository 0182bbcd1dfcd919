//go:build linux

package teammate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
)

// sessionsTold is what the audit ledger says of sessions, a line for each entry.
func (r *rig) sessionsTold() string {
	r.t.Helper()
	var b strings.Builder
	if err := r.anna.Audit(context.Background(), func(l audit.Line) error {
		e, err := audit.Read(l.Entry)
		if e.Event == audit.EventSession {
			fmt.Fprintf(&b, "%s %s\n", e.Name, e.Note)
		}
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}

// Transitions that no mail tells are in the team's ledger, with the plan's digest, to the last one; a coordinator that is
// away holds nobody up, and has them when it is back.
func TestTransitionsAreInTheLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t, mailboxtest.Audited())
	m := r.start(inMode(permissions.ModeAcceptEdits))
	p := m.plans()
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	digest := m.status().Approved.Digest
	if err := m.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.team.StopCoordinator()
	m.enter()
	r.team.Stop()
	r.team.Start()
	until(t, "what happened meanwhile", func() bool { return strings.Count(r.sessionsTold(), "api plan.entered, line ") == 2 })
	m.end(context.Canceled)
	until(t, "the last word", func() bool { return strings.Contains(r.sessionsTold(), "api teammate.left, line ") })
	text := r.sessionsTold()
	for _, want := range []string{", mode acceptEdits, by agent\n", "api plan.completed, line ", ", digest " + digest + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the ledger has no %q:\n%s", want, text)
		}
	}
}
