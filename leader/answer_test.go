package leader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// call is a row of one call that waits.
func (s shop) call(t testing.TB, tool, input string) leader.Row {
	t.Helper()
	id := natsbox.NewRequestID()
	p := permissions.PermissionRequest{RequestID: id, Tool: tool, Input: input, CallHash: "h1", Cwd: "."}
	r, err := leader.NewRow(natsbox.Row{Permission: &p, From: "api", Epoch: 1, EnvelopeID: id, StoredAt: noon}, leader.RowConfig{Charter: s.Charter, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// For a plan, exactly the words that the leader reads are granted; of anything else than one simple command, nothing.
func TestAllowingACallForThePlan(t *testing.T) {
	s := newShop(t)
	for _, c := range []struct {
		tool, input string
		argv        []string
		says        string
	}{
		{"Bash", "go build -o bin/x .", []string{"go", "build", "-o", "bin/x", "."}, ""},
		{"Bash", `grep -n 'a b' "c d"`, []string{"grep", "-n", "a b", "c d"}, ""},
		{"Bash", "go build && ls", nil, "not one simple command"},
		{"Bash", "ls; ls", nil, "not one simple command"},
		{"Bash", "cat x | sort", nil, "not one simple command"},
		{"Bash", "ls $(pwd)", nil, "not one simple command"},
		{"Bash", "ls > out", nil, "sets variables or redirects"},
		{"Bash", "A=b ls", nil, "sets variables or redirects"},
		{"Bash", "A=b", nil, "sets variables or redirects"},
		{"Bash", "ls *.go", nil, `"*.go" is known only when it runs`},
		{"Bash", "ls $HOME", nil, "not one simple command"},
		{"Bash", "ls ~", nil, `"~" is known only when it runs`},
		{"Bash", "ls 'open", nil, "cannot be read with certainty"},
		{"Bash", "ls \x1b[2J", nil, "cannot be read with certainty"},
		{"Bash", "", nil, "cannot be read with certainty"},
		{"Edit", "main.go", nil, "only a command can be allowed for a plan"},
		{"WebFetch", "https://example.com", nil, "only a command can be allowed for a plan"},
	} {
		r := s.call(t, c.tool, c.input)
		a, err := leader.PrepareAnswer(r, leader.Choice{Outcome: planmode.OutcomeApproved, Scope: permissions.ScopePlan, Confirm: "api"}, noon)
		if c.says == "" {
			if err != nil || a.Scope != permissions.ScopePlan || !slices.Equal(a.Argv, c.argv) || a.Grant != nil {
				t.Errorf("%s: %+v, %v; want a grant of %q", c.input, a, err, c.argv)
			}
			if line := leader.AnswerLine(&r, a); !strings.HasPrefix(line, "allowed for this plan "+r.Handle) {
				t.Errorf("%s: line %q", c.input, line)
			}
			continue
		}
		if !leader.IsError(err, leader.NameBadChoice) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "allow it once: swarm approve "+r.Handle) {
			t.Errorf("%q: %v, want it refused with %q, and the way out", c.input, err, c.says)
		}
		if once, err := leader.PrepareAnswer(r, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "api"}, noon); err != nil || once.Scope != permissions.ScopeOnce || once.Argv != nil {
			t.Errorf("%q once: %+v, %v", c.input, once, err)
		}
	}
	r := s.call(t, "Bash", "ls")
	if _, err := leader.PrepareAnswer(r, leader.Choice{Outcome: planmode.OutcomeApproved, Scope: "ever"}, noon); !leader.IsError(err, leader.NameBadChoice) {
		t.Errorf("an unknown scope: %v", err)
	}
	deny, err := leader.PrepareAnswer(r, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no", Scope: permissions.ScopePlan}, noon)
	if err != nil || deny.Scope != "" || deny.Argv != nil || leader.AnswerLine(&r, deny) != "denied "+r.Handle+": ls" {
		t.Errorf("denying = %+v, %v", deny, err)
	}
	doc := leader.NewAnswerDoc(&r, deny)
	if doc.Behavior != permissions.BehaviorDeny || doc.Call != "ls" || doc.Handle != r.Handle || doc.Message != "no" {
		t.Errorf("document = %+v", doc)
	}
}

// What the charter reserves of plans, it reserves of single calls.
func TestAnswersAreJudgedByTheCharter(t *testing.T) {
	s := newShop(t)
	s.PersonOnly = []charter.Match{{Classes: []permissions.Class{permissions.ClassRootEquivalent}}, {Paths: []string{"deploy/**"}}}
	s.Quorum = []charter.Quorum{{Match: charter.Match{Paths: []string{"secret/*"}}, Need: 2}}
	for i, m := range s.Members {
		if m.Name == "tom" {
			s.Members[i].Kind = charter.KindAgent
		}
	}
	s.AgentLimits = []charter.AgentLimit{{Name: "tom", Intents: []string{"run tests"}, MaxFiles: 1, Reject: true}}
	for _, c := range []struct {
		by, tool, input, want string
	}{
		{"rules", "Bash", "sudo ls", leader.NameNeedsPerson},
		{"mia", "Bash", "sudo ls", ""},
		{"rules", "Edit", "deploy/prod.yaml", leader.NameNeedsPerson},
		{"rules", "Edit", "main.go", ""},
		{"mia", "Edit", "secret/key", leader.NameNeedsSignatures},
		{"tom", "Edit", "main.go", ""},
		{"tom", "Bash", "git push", leader.NameNeedsPerson},
		{"tom", "Bash", "$(x", leader.NameNeedsPerson},
		{"db", "Edit", "main.go", leader.NameNotALeader},
	} {
		r := s.call(t, c.tool, c.input)
		for _, allow := range []bool{true, false} {
			a := planmode.PermissionAnswer{}
			a.Behavior, a.Scope = permissions.BehaviorAllow, permissions.ScopeOnce
			if !allow {
				a.Behavior, a.Scope = permissions.BehaviorDeny, ""
			}
			box := &slot{}
			_, err := leader.PublishAnswer(context.Background(), box, s.signer(t, c.by), s.Charter, r, a)
			want := c.want
			if !allow && want != leader.NameNotALeader {
				want = "" // one leader's no is enough
			}
			if want == "" && (err != nil || box.stored != 1) || want != "" && (!leader.IsError(err, want) || box.stored != 0) {
				t.Errorf("%s, allow %t, %s %q: %v with %d stored, want %q", c.by, allow, c.tool, c.input, err, box.stored, want)
			}
		}
	}
}

// An agent that may not reject is kept from it by its own side.
func TestAgentThatMayNotReject(t *testing.T) {
	s := newShop(t)
	for i, m := range s.Members {
		if m.Name == "tom" {
			s.Members[i].Kind = charter.KindAgent
		}
	}
	s.AgentLimits = []charter.AgentLimit{{Name: "tom", Intents: []string{"run tests"}}}
	box, call, plan := &slot{}, s.call(t, "Bash", "ls"), s.row(t, ask{from: "api"})
	no := planmode.PermissionAnswer{}
	no.Behavior = permissions.BehaviorDeny
	if _, err := leader.PublishAnswer(context.Background(), box, s.signer(t, "tom"), s.Charter, call, no); !leader.IsError(err, leader.NameNeedsPerson) {
		t.Errorf("PublishAnswer = %v, want that tom may not", err)
	}
	d, err := leader.Prepare(plan, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"}, s.Charter, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leader.Publish(context.Background(), box, s.signer(t, "tom"), s.Charter, plan, d); !leader.IsError(err, leader.NameNeedsPerson) || box.stored != 0 {
		t.Errorf("Publish = %v, want that tom may not", err)
	}
	if _, err := leader.Publish(context.Background(), box, s.signer(t, "mia"), s.Charter, plan, d); err != nil || box.stored != 1 {
		t.Errorf("Publish by a person = %v", err)
	}
}

// slot is an empty slot.
type slot struct{ stored int }

func (s *slot) PutDecision(_ context.Context, to, id string, payload []byte, sigs []string) (charter.Order, error) {
	s.stored++
	return charter.Order{Payload: payload, Sigs: sigs}, nil
}

// An edit that is no plan is refused before anything is signed.
func TestAnEditThatIsNoPlan(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests"}})
	for _, c := range []struct {
		name string
		edit []byte
		says string
	}{
		{"nothing", []byte{}, "is empty"},
		{"blanks", []byte(" \n\u200b\ufeff\n"), "is empty"},
		{"bytes", []byte("# Fix\n\xff\n"), "not UTF-8"},
		{"a null byte", []byte("# Fix\n\x00\n"), "not UTF-8"},
		{"too much", bytes.Repeat([]byte("x"), plans.MaxBytes+1), "too large"},
	} {
		_, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: c.edit}, s.Charter, noon)
		var e *leader.Error
		if !errors.As(err, &e) || e.Code != 2 || e.Name != leader.NameBadEdit || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, "nothing was approved") {
			t.Errorf("%s: Prepare = %v, want 2 bad_edit with %q", c.name, err, c.says)
		}
		d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved}, s.Charter, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		d.PlanWasEdited, d.EditedPlan = true, c.edit // made by hand
		signer := s.signer(t, "mia")
		signer.Key = unsigned{signer.Key, t}
		if _, err := leader.Publish(context.Background(), slots{t}, signer, s.Charter, r, d); err == nil {
			t.Errorf("%s: published", c.name)
		}
	}
}

// An edited plan's line and document name both digests.
func TestAnEditIsTold(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests"}})
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte("# Fix less\n\n- [ ] `a.go`, then run the tests\n")}, s.Charter, noon)
	if err != nil {
		t.Fatal(err)
	}
	line, doc := leader.DecisionLine(&r, d), leader.NewDecisionDoc(&r, d)
	if !strings.Contains(line, leader.ShortDigest(d.ApprovedDigest)) || !strings.Contains(line, "(plan "+leader.ShortDigest(r.Request.Digest)+")") || !strings.Contains(line, "plan edited") {
		t.Errorf("line %q, want both digests", line)
	}
	if !doc.PlanWasEdited || doc.PlanDigest != r.Request.Digest || doc.ApprovedDigest != d.ApprovedDigest || doc.ApprovedDigest == doc.PlanDigest {
		t.Errorf("document = %+v, want both digests", doc)
	}
	same, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: r.Request.Plan.Content}, s.Charter, noon)
	if err != nil || same.PlanWasEdited || same.ApprovedDigest != "" || same.EditedPlan != nil {
		t.Errorf("an edit that changes nothing: %+v, %v", same, err)
	}
	text, err := json.Marshal(leader.NewDecisionDoc(&r, same))
	if err != nil || bytes.Contains(text, []byte("approvedDigest")) {
		t.Errorf("an unedited plan has another digest: %s, %v", text, err)
	}
}
