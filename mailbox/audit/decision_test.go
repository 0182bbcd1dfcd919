package audit_test

import (
	"testing"

	"github.com/planswarm/swarm/mailbox/audit"
)

func TestDecisionNote(t *testing.T) {
	for _, c := range []struct {
		outcome, by string
		signers     []string
		want        string
	}{
		{"approved", "mia", []string{"mia"}, "approved by mia"},
		{"approved", "mia", []string{"mia", "bob"}, "approved by mia, signed by bob and mia"},
		{"rejected", "mia", nil, "rejected by mia"},
		{"rejectedAndExit", "mia", nil, "rejected, out of plan mode, by mia"},
		{"expired", "policy", []string{"policy"}, "expired by policy"},
		{"allow", "mia", nil, "allowed by mia"},
		{"deny", "mia", nil, "denied by mia"},
	} {
		note := audit.DecisionNote(c.outcome, c.by, c.signers)
		if note != c.want {
			t.Errorf("DecisionNote(%s, %s, %v) = %q, want %q", c.outcome, c.by, c.signers, note, c.want)
		}
		if audit.Contradicts(note, c.outcome, c.by) || audit.Contradicts("", c.outcome, c.by) {
			t.Errorf("Contradicts(%q, %s, %s) = true, want false", note, c.outcome, c.by)
		}
		if !audit.Contradicts(note, "superseded", c.by) || !audit.Contradicts(note, c.outcome, c.by+"m") || !audit.Contradicts(audit.Void, c.outcome, c.by) {
			t.Errorf("Contradicts(%q) of another decision = false, want true", note)
		}
	}
}
