package leader_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// checkTerms holds a prepared decision against what the teammate will check.
func checkTerms(t *testing.T, s shop, r leader.Row, d planmode.Decision) {
	t.Helper()
	d.TeamID, d.Epoch, d.CharterSerial = s.TeamID, r.Epoch, s.Serial
	d.DecidedBy = mailbox.DecidedBy{Name: "mia"}
	in := planmode.NewCheck(*r.Request, r.From, r.Epoch, s.Charter)
	in.Decision, in.Now = d, noon
	if err := planmode.CheckTerms(in); err != nil {
		t.Errorf("the teammate would refuse it: %v", err)
	}
}

func TestPrepareApprovesAsAsked(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests"}})
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Note: "go on"}, s.Charter, noon)
	if err != nil {
		t.Fatal(err)
	}
	if d.Mode != permissions.ModeAcceptEdits || d.Feedback != "go on" || !d.Approved || d.ApprovedDigest != "" || d.PlanDigest != r.Request.Digest {
		t.Errorf("Prepare = %+v", d)
	}
	want := permissions.GrantTerms{Prompt: "run tests", Intent: "run tests", Tree: ".", ExpiresAt: noon.Add(24 * time.Hour)}
	if len(d.Grants) != 1 || d.Grants[0] != want {
		t.Errorf("grants = %+v, want %+v", d.Grants, want)
	}
	checkTerms(t, s, r, d)
}

// Invariant 5: what comes back is what was known, within the cap, and never the teammate's claim.
func TestPrepareRestoresTheKnownMode(t *testing.T) {
	s := newShop(t)
	for _, c := range []struct{ known, claimed, named, want permissions.Mode }{
		{"acceptEdits", "acceptEdits", "", "acceptEdits"},
		{"default", "bypassPermissions", "", "default"},
		{"dontAsk", "dontAsk", "", "dontAsk"},
		{"bypassPermissions", "bypassPermissions", "", "acceptEdits"}, // the cap
		{"plan", "default", "", "default"},
		{"unheardOf", "acceptEdits", "", "default"},
		{"default", "default", "acceptEdits", "acceptEdits"},
		{"acceptEdits", "acceptEdits", "manual", "default"},
	} {
		r := s.row(t, ask{from: "api", known: c.known, saved: c.claimed})
		d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Mode: c.named, Confirm: "api"}, s.Charter, noon)
		if err != nil || d.Mode != c.want {
			t.Errorf("known %s, claimed %s, named %q: mode %q, %v; want %q", c.known, c.claimed, c.named, d.Mode, err, c.want)
			continue
		}
		checkTerms(t, s, r, d)
	}
}

func TestPrepareNarrowsGrants(t *testing.T) {
	s := newShop(t)
	s.Caps.Grants = charter.GrantCaps{TTLSeconds: 7200, Uses: 50}
	r := s.row(t, ask{from: "api", prompts: []string{"run tests", "frobnicate the flux", "run the tests"}})
	for _, c := range []struct {
		name   string
		choice leader.Choice
		want   string // prompts, comma separated
		uses   int
		ttl    time.Duration
		tree   string
	}{
		{"as asked: what is not recognised is left out", leader.Choice{}, "run tests,run the tests", 50, 2 * time.Hour, "."},
		{"one of them", leader.Choice{Grants: []string{"run the tests"}}, "run the tests", 50, 2 * time.Hour, "."},
		{"none", leader.Choice{NoGrants: true}, "", 0, 0, ""},
		{"narrower for all", leader.Choice{TTL: time.Hour, Uses: 3, Grants: []string{"run tests"}}, "run tests", 3, time.Hour, "."},
		{
			"narrower for one",
			leader.Choice{Grants: []string{"run tests"}, Limits: []leader.Limit{{Prompt: "run tests", Uses: 1, For: time.Minute, In: "web"}}},
			"run tests", 1, time.Minute, "web",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.choice.Outcome, c.choice.Confirm = planmode.OutcomeApproved, "api"
			d, err := leader.Prepare(r, c.choice, s.Charter, noon)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range d.Grants {
				got = append(got, g.Prompt)
				if g.MaxUses != c.uses || !g.ExpiresAt.Equal(noon.Add(c.ttl)) || g.Tree != c.tree {
					t.Errorf("grant = %+v, want %d uses, %v, in %q", g, c.uses, c.ttl, c.tree)
				}
			}
			if strings.Join(got, ",") != c.want {
				t.Errorf("granted %q, want %q", got, c.want)
			}
			if d.ApprovedDigest == "" {
				t.Error("approvedDigest is missing, although fewer grants were given than asked")
			}
			checkTerms(t, s, r, d)
		})
	}
}

func TestPrepareTakesAnEditedPlan(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests"}})
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte("# Only this\n")}, s.Charter, noon)
	if err != nil {
		t.Fatal(err)
	}
	if !d.PlanWasEdited || string(d.EditedPlan) != "# Only this\n" || d.ApprovedDigest == "" {
		t.Errorf("Prepare = %+v", d)
	}
	checkTerms(t, s, r, d)
	same, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte(goodPlan)}, s.Charter, noon)
	if err != nil || same.PlanWasEdited || same.EditedPlan != nil || same.ApprovedDigest != "" {
		t.Errorf("the same bytes are an edit: %+v, %v", same, err)
	}
}

func TestPrepareTakesAnOption(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "web", options: []plans.Option{{Label: "Optimistic"}, {Label: "Wait", Recommended: true}}})
	for _, option := range []string{"2", "Wait"} {
		d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Option: option}, s.Charter, noon)
		if err != nil || d.Option != "Wait" {
			t.Errorf("--option %s: %q, %v; want Wait", option, d.Option, err)
		}
		checkTerms(t, s, r, d)
	}
	for _, option := range []string{"", "3", "0", "wait"} {
		_, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Option: option}, s.Charter, noon)
		if !leader.IsError(err, leader.NameNeedsOption) {
			t.Errorf("--option %q: %v, want a choice to be demanded", option, err)
		}
	}
	swapped := s.row(t, ask{from: "web", options: []plans.Option{{Label: "2"}, {Label: "1"}, {Label: "3"}}})
	for _, option := range []string{"1", "2"} { // which of them does the leader mean?
		d, err := leader.Prepare(swapped, leader.Choice{Outcome: planmode.OutcomeApproved, Option: option}, s.Charter, noon)
		if !leader.IsError(err, leader.NameNeedsOption) || !strings.Contains(err.Error(), "label of approach") {
			t.Errorf("--option %s of labels 2, 1, 3: %q, %v; want that it is refused", option, d.Option, err)
		}
	}
	if d, err := leader.Prepare(swapped, leader.Choice{Outcome: planmode.OutcomeApproved, Option: "3"}, s.Charter, noon); err != nil || d.Option != "3" {
		t.Errorf("--option 3 of labels 2, 1, 3: %q, %v", d.Option, err)
	}
}

func TestPrepareRejects(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests"}, known: permissions.ModeDefault})
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "add a test"}, s.Charter, noon)
	if err != nil || d.Approved || d.Mode != "" || len(d.Grants) > 0 || d.Feedback != "add a test" {
		t.Errorf("Prepare = %+v, %v", d, err)
	}
	checkTerms(t, s, r, d)
	d, err = leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejectedAndExit, Feedback: "not now"}, s.Charter, noon)
	if err != nil || d.Mode != permissions.ModeDefault || len(d.Grants) > 0 {
		t.Errorf("Prepare = %+v, %v", d, err)
	}
	checkTerms(t, s, r, d)
}

func TestPrepareLetsOutWithoutAPlan(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", change: func(q *planmode.ApprovalRequest) {
		q.Kind, q.Plan, q.Revision, q.Reason = planmode.AskLeave, plans.Plan{Content: []byte{}}, 0, "nothing to do"
	}})
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved}, s.Charter, noon)
	if err != nil || d.Mode != permissions.ModeAcceptEdits || len(d.Grants) > 0 {
		t.Errorf("Prepare = %+v, %v", d, err)
	}
	checkTerms(t, s, r, d)
}

// Every mistake of a person is an Error with an exit code, a name and what to do next.
func TestPrepareRefuses(t *testing.T) {
	s := newShop(t)
	s.Caps.Grants.Uses = 5
	plain := s.row(t, ask{from: "api", id: fixedID(1), prompts: []string{"run tests", "deploy everything"}})
	moved := s.row(t, ask{from: "db", id: fixedID(2)})
	moved.Moved = &planmode.Moved{Of: 7, Changed: []string{"a.go", "b.go", "c.sql"}}
	h := plain.Handle
	for _, c := range []struct {
		name   string
		row    leader.Row
		choice leader.Choice
		want   string
		code   int
		text   string
	}{
		{
			"above the cap", plain,
			leader.Choice{Outcome: planmode.OutcomeApproved, Mode: "bypassPermissions", Confirm: "api"},
			leader.NameAboveCap, 2,
			`mode "bypassPermissions" is above this team's cap "acceptEdits": choose default or acceptEdits, or raise caps.mode in your config.yaml, and in swarm.yaml`,
		},
		{
			"not asked", plain,
			leader.Choice{Outcome: planmode.OutcomeApproved, Grants: []string{"push"}, Confirm: "api"},
			leader.NameGrantNotAsked, 2,
			`"push" was not asked by ` + h + ` (asked: run tests, deploy everything): a grant can only narrow`,
		},
		{
			"not known", plain,
			leader.Choice{Outcome: planmode.OutcomeApproved, Grants: []string{"deploy everything"}, Confirm: "api"},
			leader.NameGrantNotAsked, 2,
			`"deploy everything" of ` + h + ` is not recognised and cannot be granted: approve without it: each of its commands will ask`,
		},
		{"limit of what was not asked", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Limits: []leader.Limit{{Prompt: "push"}}, Confirm: "api"}, leader.NameGrantNotAsked, 2, ""},
		{"more uses than the cap", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Uses: 9, Confirm: "api"}, leader.NameGrantTooWide, 2, ""},
		{"longer than the cap", plain, leader.Choice{Outcome: planmode.OutcomeApproved, TTL: 48 * time.Hour, Confirm: "api"}, leader.NameGrantTooWide, 2, ""},
		{"negative uses", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Uses: -1, Confirm: "api"}, leader.NameBadChoice, 2, ""},
		{"outside the tree", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "api", Limits: []leader.Limit{{Prompt: "run tests", In: "../other"}}}, leader.NameBadChoice, 2, ""},
		{"plan mode back", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Mode: "plan", Confirm: "api"}, leader.NameBadChoice, 2, ""},
		{"unknown mode", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Mode: "yolo2", Confirm: "api"}, leader.NameBadChoice, 2, ""},
		{"unknown outcome", plain, leader.Choice{Outcome: "maybe"}, leader.NameBadChoice, 2, ""},
		{"no outcome", plain, leader.Choice{}, leader.NameBadChoice, 2, ""},
		{"grants and none", plain, leader.Choice{Outcome: planmode.OutcomeApproved, NoGrants: true, Grants: []string{"run tests"}, Confirm: "api"}, leader.NameBadChoice, 2, ""},
		{"sent out without a reason", plain, leader.Choice{Outcome: planmode.OutcomeRejectedAndExit}, leader.NameBadChoice, 2, ""},
		{"option of none", plain, leader.Choice{Outcome: planmode.OutcomeApproved, Option: "1", Confirm: "api"}, leader.NameBadChoice, 2, ""},
		{"too much text", plain, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: strings.Repeat("x", 1<<17)}, leader.NameBadChoice, 2, ""},
		{
			"files moved", moved,
			leader.Choice{Outcome: planmode.OutcomeApproved},
			leader.NameMovedFiles, 2,
			`3 of 7 files that db read have changed since: repeat with --moved-ok "reason", or ask for a new plan: swarm reject ` + moved.Handle + ` -m "files changed"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := leader.Prepare(c.row, c.choice, s.Charter, noon)
			var e *leader.Error
			if !errors.As(err, &e) {
				t.Fatalf("Prepare = %v, want an Error", err)
			}
			if e.Name != c.want || e.Code != c.code || e.Next == "" {
				t.Errorf("Prepare = %d %s %q, want %d %s", e.Code, e.Name, err, c.code, c.want)
			}
			if c.text != "" && err.Error() != c.text {
				t.Errorf("text:\n%s\nwant:\n%s", err, c.text)
			}
		})
	}
}
