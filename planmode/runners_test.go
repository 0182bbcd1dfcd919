package planmode_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

var (
	realTests = permissions.Prompt{Tool: "Bash", Prompt: "run tests", Intent: "run tests"}
	makefile  = permissions.RunnerFile{Path: "Makefile", Digest: "d1"}
	inner     = permissions.RunnerFile{Path: "web/package.json", Digest: "d2", Planned: true}
	foreign   = permissions.RunnerFile{Path: "deploy.sh", Digest: "d3"}
)

func withRunners(ev *planmode.Submitted) {
	ev.Prompts = []permissions.Prompt{realTests, {Tool: "Bash", Prompt: "commit", Intent: "commit"}}
	ev.Runners = []permissions.RunnerFile{makefile, inner, foreign}
}

// A grant remembers the files that its own intent's commands obey, and no others.
func TestGrantsRememberTheirRunners(t *testing.T) {
	s := awaiting(t, withRunners)
	if !slices.Equal(s.Pending.Runners, []permissions.RunnerFile{makefile, inner, foreign}) {
		t.Errorf("pending has %v, want what was submitted", s.Pending.Runners)
	}
	s = must(t, s, approve(s))
	if got, want := s.Grants[0].Runners, []permissions.RunnerFile{makefile, inner}; !slices.Equal(got, want) {
		t.Errorf("the grant to run tests remembers %v, want %v", got, want)
	}
	if got := s.Grants[1].Runners; got != nil {
		t.Errorf("the grant of an intent that obeys none remembers %v, want nothing", got)
	}
}

// What a leader's edit takes out of the plan may not change, and what it puts in may.
func TestAnEditSaysWhatMayChange(t *testing.T) {
	for text, want := range map[string][]permissions.RunnerFile{
		"# Only the code\n":              {makefile, {Path: "web/package.json", Digest: "d2"}},
		"# Build\n\nChange `Makefile`\n": {{Path: "Makefile", Digest: "d1", Planned: true}, {Path: "web/package.json", Digest: "d2"}},
		"# Build\n\nWrite `api/Makefile`\n": {
			makefile, {Path: "web/package.json", Digest: "d2"}, {Path: "api/Makefile", Planned: true},
		},
		"# Build\n\nWrite `../Makefile`, `/etc/Makefile` and `run.sh`\n": {makefile, {Path: "web/package.json", Digest: "d2"}},
	} {
		s := awaiting(t, withRunners)
		ev := approve(s)
		ev.Decision.EditedPlan = []byte(text)
		s = must(t, s, seal(s, ev))
		if got := s.Grants[0].Runners; !reflect.DeepEqual(got, want) {
			t.Errorf("after the edit %q the grant remembers\n%v, want\n%v", text, got, want)
		}
	}
}

// Allowed for the plan because of changed runner files: what they hold now is what the grant remembers. There is no grant
// for the exact command, which would let them change again.
func TestAnswerForThePlanRenewsRunners(t *testing.T) {
	s := awaiting(t, withRunners)
	s = must(t, s, approve(s))
	q := ask("a1", "h1")
	q.Runners = []permissions.RunnerFile{{Path: "Makefile", Digest: "d9"}, {Path: "api/Makefile", Digest: "d8"}, {Path: "deploy.sh", Digest: "d7"}}
	open := must(t, s, planmode.Asked{Ask: q})
	once := must(t, open, answer(permissions.BehaviorAllow, permissions.ScopeOnce))
	if !reflect.DeepEqual(once.Grants, s.Grants) {
		t.Errorf("allowed once, the grants are %v, want %v", once.Grants, s.Grants)
	}
	next, effects, err := step(t, open, answer(permissions.BehaviorAllow, permissions.ScopePlan))
	wantErr(t, err, nil)
	want := []permissions.RunnerFile{inner, {Path: "Makefile", Digest: "d9"}, {Path: "api/Makefile", Digest: "d8"}}
	if got := next.Grants[0].Runners; !reflect.DeepEqual(got, want) {
		t.Errorf("the grant remembers\n%v, want\n%v", got, want)
	}
	if len(next.Grants) != len(s.Grants) || next.Grants[1].Runners != nil {
		t.Errorf("grants are %v, want no other and the same for the rest", next.Grants)
	}
	last := effects[len(effects)-1].(planmode.SendReceipt).Receipt
	if !slices.Equal(last.Grants, []string{"run tests"}) || last.Digest != s.Approved.Digest {
		t.Errorf("receipt is %+v, want the grant that goes on", last)
	}
	ended := must(t, open, planmode.GrantUsed{GrantID: "r1/1", Now: now}, planmode.GrantUsed{GrantID: "r1/1", Now: now})
	_, _, err = step(t, ended, answer(permissions.BehaviorAllow, permissions.ScopePlan))
	wantErr(t, err, planmode.ErrGrantNotAsked)
	q.Argv = nil
	_, _, err = step(t, must(t, s, planmode.Asked{Ask: q}), answer(permissions.BehaviorAllow, permissions.ScopePlan))
	wantErr(t, err, planmode.ErrGrantNotAsked)
}

// A grant for exactly a command remembers the files that it obeyed when it was asked, and a later answer about their change
// is for that grant.
func TestExactGrantsRememberTheirRunners(t *testing.T) {
	s := carrying(t)
	q := ask("a1", "h1")
	q.Obeys = []permissions.RunnerFile{makefile}
	given := must(t, must(t, s, planmode.Asked{Ask: q}), answer(permissions.BehaviorAllow, permissions.ScopePlan))
	g := given.Grants[len(given.Grants)-1]
	if !slices.Equal(g.Argv, q.Argv) || !slices.Equal(g.Runners, q.Obeys) {
		t.Fatalf("the grant is %+v, want what the command obeyed", g)
	}
	for name, argv := range map[string][]string{"the command": q.Argv, "in a wrapper": {"timeout", "9", "make", "deps"}, "another": {"make", "deps", "x"}, "less": {"deps"}} {
		again := ask("a2", "h2")
		again.Argv, again.Runners = argv, []permissions.RunnerFile{{Path: "Makefile", Digest: "d9"}}
		before := given
		before.Grants = []permissions.Grant{g}
		next, _, err := step(t, must(t, before, planmode.Asked{Ask: again}), answer(permissions.BehaviorAllow, permissions.ScopePlan, func(ev *planmode.PermissionAnswered) {
			ev.Answer.RequestID, ev.Answer.CallHash = "a2", "h2"
		}))
		if name == "another" || name == "less" {
			wantErr(t, err, planmode.ErrGrantNotAsked)
			continue
		}
		wantErr(t, err, nil)
		if got := next.Grants[0].Runners; !slices.Equal(got, again.Runners) || len(next.Grants) != 1 {
			t.Errorf("%s: the grant remembers %v, want %v", name, got, again.Runners)
		}
	}
}

// What no grant would let pass cannot be allowed for the plan: the answer is refused with the reason.
func TestOnceOnly(t *testing.T) {
	q := ask("a1", "h1")
	q.OnceOnly = "it writes x"
	open := must(t, carrying(t), planmode.Asked{Ask: q})
	_, _, err := step(t, open, answer(permissions.BehaviorAllow, permissions.ScopePlan))
	wantErr(t, err, planmode.ErrGrantNotAsked)
	if !strings.Contains(err.Error(), "it writes x: allow it once") {
		t.Errorf("refused with %q, want the reason and what to do", err)
	}
	must(t, open, answer(permissions.BehaviorAllow, permissions.ScopeOnce))
	bare := must(t, awaiting(t), seal(awaiting(t), decide(awaiting(t), planmode.OutcomeApproved)))
	for name, row := range map[string]struct {
		s    planmode.Session
		at   time.Time
		want bool
	}{
		"carried out":    {carrying(t), now, true},
		"too late":       {carrying(t), now.Add(time.Hour), false},
		"without grants": {bare, now, false},
		"no plan":        {working(t), now, false},
		"planning":       {planning(t), now, false},
	} {
		if got := row.s.ForPlan(row.at); got != row.want {
			t.Errorf("%s: ForPlan = %t, want %t", name, got, row.want)
		}
	}
}
