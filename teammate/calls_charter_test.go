//go:build linux

package teammate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans/facts"
	"github.com/planswarm/swarm/teammate"
)

// Single calls are judged by the charter as plans are: an agent's limit names what it may let through, a class for persons
// is for persons, and a quorum counts. Whoever may not decide is refused with the reason, and the call is denied.
func TestCallsAreJudgedByTheCharter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.team.AddLeader("bot", charter.KindAgent)
	r.team.AddLeader("rules", charter.KindPolicy)
	r.team.Amend(func(c *charter.Charter) {
		c.AgentLimits = []charter.AgentLimit{{Name: "bot", Intents: []string{"run tests"}, MaxFiles: 1}}
		c.PersonOnly = []charter.Match{{Classes: []permissions.Class{permissions.ClassNetwork}}, {Paths: []string{"deploy/**", "ops/**"}}}
		c.Quorum = []charter.Quorum{{Match: charter.Match{Classes: []permissions.Class{permissions.ClassPublishes}}, Need: 2}}
	})
	m := r.start()
	v, _ := m.View()
	for _, dir := range []string{"ops", "docs"} {
		if err := os.Mkdir(filepath.Join(v.Tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../ops", filepath.Join(v.Tree, "docs", "ci")); err != nil { // as a repository may have it
		t.Fatal(err)
	}
	for _, tc := range []struct {
		by       string
		call     permissions.Call
		refused  string // with which reason; empty: it is allowed
		behavior permissions.Behavior
	}{
		{by: "bot", call: permissions.Call{Tool: "Bash", Command: "go test ./..."}},
		{by: "bot", call: permissions.Call{Tool: "Bash", Command: "curl https://example.com"}, refused: "only a person"},
		{by: "bot", call: permissions.Call{Tool: "Bash", Command: "touch x"}, refused: "bot may not approve"},
		{by: "bot", call: permissions.Call{Tool: "Bash", Command: "go test ./... && touch x"}, refused: "bot may not approve"},
		{by: "bot", call: permissions.Call{Tool: "Bash", Command: "touch x"}, behavior: permissions.BehaviorDeny},
		{by: "bot", call: permissions.Call{Tool: "Edit", Path: "a.go"}},
		{by: "rules", call: permissions.Call{Tool: "Edit", Path: "deploy/prod.yaml"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Bash", Command: "curl https://example.com"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Bash", Command: "touch ops/prod.yaml"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Bash", Command: "cp a.txt ops"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Bash", Command: "cd ops && touch prod"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Bash", Command: "touch docs/ci/x"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Edit", Path: "docs/ci/x.yml"}, refused: "only a person"},
		{by: "rules", call: permissions.Call{Tool: "Edit", Path: "docs/x.yml"}},
		{by: "rules", call: permissions.Call{Tool: "Bash", Command: "touch x"}},
		{by: "anna", call: permissions.Call{Tool: "Bash", Command: "curl https://example.com"}},
		{by: "anna", call: permissions.Call{Tool: "Bash", Command: "git push"}, refused: "2 of the persons who lead must approve this"},
	} {
		if tc.behavior == "" {
			tc.behavior = permissions.BehaviorAllow
		}
		name := tc.by + " " + string(tc.behavior) + " " + tc.call.Command + tc.call.Path
		answered, row := m.asks(r, tc.call)
		if strings.HasPrefix(tc.call.Path, "docs/ci/") && row.Permission.Input != "ops/x.yml" {
			t.Errorf("%s: the leader is asked about %q, want the file that it would write", name, row.Permission.Input)
		}
		r.answerAs(tc.by, row, tc.behavior, permissions.ScopeOnce)
		got, rec := <-answered, r.receipt(row.EnvelopeID)
		switch {
		case tc.refused == "" && (got.err != nil || got.answer.Behavior != tc.behavior || rec.State != mailbox.Applied):
			t.Errorf("%s: %+v, receipt %+v, want that it counts", name, got, rec)
		case tc.refused != "" && (!errors.Is(got.err, teammate.ErrAskVoid) || rec.State != mailbox.Refused || !strings.Contains(rec.Reason, tc.refused)):
			t.Errorf("%s: %+v, receipt %+v, want refused because of %q", name, got, rec, tc.refused)
		}
		if tc.refused != "" {
			until(t, "withdrawn", func() bool { return r.request(row.EnvelopeID).Withdrawn != "" })
		}
	}
}

// asks asks about a call of the working tree, whatever the mode would say to it.
func (m *mate) asks(r *rig, call permissions.Call) (<-chan asked, natsbox.Row) {
	r.t.Helper()
	v, _ := m.View()
	call.Cwd = v.Tree
	if call.Path != "" {
		call.Path = v.Tree + "/" + call.Path
	}
	d := m.Decide(v, call)
	if d.Verdict != permissions.Ask {
		r.t.Fatalf("Decide(%+v) = %s (%s), want ask", call, d.Verdict, d.Reason)
	}
	ch := make(chan asked, 1)
	go func() {
		a, err := m.Ask(r.t.Context(), teammate.Asking{Call: call, Decision: d})
		ch <- asked{a, err}
	}()
	return ch, r.open()
}

// A plan that names a file by a link of the repository names the file: who may not approve the one may not approve the
// other, and leaders see it.
func TestAPlanOfALinkIsJudgedByWhereItLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.team.AddLeader("rules", charter.KindPolicy)
	r.team.Amend(func(c *charter.Charter) { c.PersonOnly = []charter.Match{{Paths: []string{"ops/**"}}} })
	m := r.start()
	v, _ := m.View()
	for _, dir := range []string{"ops", "docs"} {
		if err := os.Mkdir(filepath.Join(v.Tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../ops", filepath.Join(v.Tree, "docs", "ci")); err != nil {
		t.Fatal(err)
	}
	m.enter()
	id := m.submit("# Fix it\n\n- [ ] change `docs/ci/x.yml`\n").RequestID
	row := r.open()
	if named := facts.Paths(row.Request.Facts); !slices.Equal(named, []string{"docs/ci/x.yml", "ops/x.yml"}) {
		t.Errorf("leaders see that it names %q, want the link and the file", named)
	}
	d := r.approval(row)
	d.DecidedBy.Name, d.DecidedBy.Kind = "rules", string(charter.KindPolicy)
	payload, sig := r.sign(key, "rules", mailbox.DecisionSubject(r.team.Name, "api", id), mailbox.KindPlanApprovalResponse, row.Epoch, d)
	r.put(id, payload, sig)
	if rec := r.receipt(id); rec.State != mailbox.Refused || !strings.Contains(rec.Reason, "only a person") {
		t.Errorf("receipt %+v, want refused: only a person may approve it", rec)
	}
}
