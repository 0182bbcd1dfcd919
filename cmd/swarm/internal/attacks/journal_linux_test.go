package attacks_test

import (
	"bytes"
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

// told returns the last letter of a teammate to the leaders.
func (r *rig) told(t *testing.T, from string) string {
	t.Helper()
	all, err := r.anna.Mail(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.From == from {
			return l.Text
		}
	}
	return ""
}

// Whoever can write a teammate's state while it does not run takes no decision out of it and puts no grant into it: plan mode,
// no grants, and the leaders are told.
func TestAttackTheJournal(t *testing.T) {
	t.Parallel()
	for _, a := range []struct {
		name   string
		change func(t *testing.T, path string, before []byte)
		honest bool
	}{
		{"delete the journal", func(t *testing.T, path string, _ []byte) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"edit the journal", func(t *testing.T, path string, _ []byte) {
			raw := readFile(t, path)
			now := bytes.ReplaceAll(raw, []byte(`"mode":"default"`), []byte(`"mode":"acceptEdits"`))
			if bytes.Equal(raw, now) {
				t.Fatal("nothing was changed")
			}
			write(t, path, string(now))
		}, false},
		{"cut the journal's tail", func(t *testing.T, path string, _ []byte) {
			raw := readFile(t, path)
			at := bytes.LastIndex(raw, []byte(`"revokeOrdered"`)) // what was done of it is noted after it, some time
			if at = bytes.LastIndexByte(raw[:max(at, 0)], '\n'); at < 0 {
				t.Fatalf("no revocation in %s", raw)
			}
			write(t, path, string(raw[:at+1]))
		}, false},
		{"put an older copy of the journal back", func(t *testing.T, path string, before []byte) { write(t, path, string(before)) }, false},
		{"empty the journal", func(t *testing.T, path string, _ []byte) { write(t, path, "") }, false},
		{"leave the journal alone", func(*testing.T, string, []byte) {}, true},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			path := filepath.Join(r.dir, "journal.jsonl")
			m := r.start()
			m.end(teammate.ErrDetach)
			m = r.start()
			r.counts(t, m, r.plans(m, "run tests"), "bob")
			m.end(teammate.ErrDetach)
			before := readFile(t, path)
			m = r.start()
			if rec := r.receipt(t, r.give(t, order{kind: revoke}, 1)); rec.State != mailbox.Applied {
				t.Fatalf("revoked: %+v", rec)
			}
			m.end(teammate.ErrDetach)
			a.change(t, path, before)
			m = r.start()
			if a.honest {
				m.is(t, planmode.Working, permissions.ModeDefault, 0)
				return
			}
			m.is(t, planmode.Planning, permissions.ModePlan, 0)
			var text string
			until(t, "a letter to the leaders", func() bool { text = r.told(t, "api"); return text != "" })
			if !strings.Contains(text, "It is in plan mode, and no grant is in force") {
				t.Errorf("the leaders read %q", text)
			}
			m.end(teammate.ErrDetach)
			m = r.start() // once told, it is over
			m.is(t, planmode.Planning, permissions.ModePlan, 0)
			all, err := r.anna.Mail(t.Context())
			if err != nil || len(all) != 1 {
				t.Errorf("the leaders have %d letters (%v), want one", len(all), err)
			}
			mailboxtest.Refused(t, a.name, operator, mailboxtest.ByTeammate, text)
		})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The files of the decisions are deleted while nobody runs. The slot is free again; the request is not.
func TestAttackDecideAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, mailboxtest.StoreDir(dir))
	m := r.start()
	row := r.plans(m, "run tests")
	d := r.approval(row, "bob")
	d.Outcome, d.Approved, d.Grants, d.Mode, d.Feedback = planmode.OutcomeRejected, false, nil, "", "not like this"
	payload := r.wire(t, "bob", "api", mailbox.KindPlanApprovalResponse, d.Epoch, d)
	subject := mailbox.DecisionSubject("shop", "api", row.EnvelopeID)
	r.store(t, subject, payload, sign(t, r.keys["bob"], subject, payload))
	r.receipt(t, row.EnvelopeID)
	until(t, "the decision in the ledger", func() bool {
		found := false
		err := r.anna.Audit(t.Context(), func(l audit.Line) error {
			e, err := audit.Read(l.Entry)
			found = found || e.Event == audit.EventDecision
			return err
		})
		return err == nil && found
	})
	m.end(teammate.ErrDetach)
	r.anna.Close()
	r.bob.Close()
	r.team.Stop()
	gone, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "DEC_shop"))
	if err != nil || len(gone) != 1 {
		t.Fatalf("decisions lie in %q (%v)", gone, err)
	}
	if err := os.RemoveAll(gone[0]); err != nil {
		t.Fatal(err)
	}
	r.team.Start()
	r.anna = r.team.Connect("anna")
	r.root, r.js = root(t, r.team)
	good := r.approval(row, "bob")
	payload = r.wire(t, "bob", "api", mailbox.KindPlanApprovalResponse, good.Epoch, good)
	r.store(t, subject, payload, sign(t, r.keys["bob"], subject, payload))
	m = r.start()
	r.handled(t, "DEC_shop", "api")
	m.is(t, planmode.Planning, permissions.ModePlan, 0)
	v := audit.NewVerifier(r.team.Charter())
	if err := r.anna.Audit(t.Context(), func(l audit.Line) error { v.Add(l); return nil }); err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, p := range v.Problems() {
		if strings.Contains(p.String(), "DEC_shop") {
			found = p.String()
		}
	}
	if found == "" {
		t.Errorf("audit verify says %v", v.Problems())
	}
	mailboxtest.Refused(t, "wipe the decisions and decide once more", operator, mailboxtest.ByTeammate, "still planning, no grants; audit verify: "+found)
	r.counts(t, m, r.plans(m, "run tests"), "bob")
}
