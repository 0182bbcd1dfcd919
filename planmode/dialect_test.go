package planmode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

func dialect(t tb, name string) planmode.Dialect {
	t.Helper()
	d, err := planmode.DialectOf(name)
	if err != nil {
		t.Fatalf("DialectOf(%q): %v", name, err)
	}
	return d
}

// The dialects are there, the strict one is the default, and each difference names what holds instead.
func TestDialects(t *testing.T) {
	if d := dialect(t, ""); d.Name != "swarm" || len(d.Differences) > 0 {
		t.Errorf("DialectOf(\"\") = %s with %d differences, want swarm's own without", d.Name, len(d.Differences))
	}
	if _, err := planmode.DialectOf("klingon\x1b"); !errors.Is(err, planmode.ErrUnknownDialect) || !strings.Contains(err.Error(), "gemini") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("DialectOf(klingon) = %v, want an error that lists the dialects", err)
	}
	for _, name := range planmode.DialectNames() {
		d := dialect(t, name)
		if permissions.ToolClass(d.Tools.Enter) != "plan" || permissions.ToolClass(d.Tools.Exit) != "plan" {
			t.Errorf("%s: the engine does not know its tools %+v", name, d.Tools)
		}
		if name != "swarm" && len(d.Differences) == 0 {
			t.Errorf("%s: its differences are not listed", name)
		}
		for _, diff := range d.Differences {
			if diff.What == "" || diff.Ours == "" || diff.Invariant < 1 || diff.Invariant > 15 {
				t.Errorf("%s: difference %+v does not say what holds instead, by which invariant", name, diff)
			}
		}
	}
}

func TestWhoConfirmsAnEntry(t *testing.T) {
	for _, tt := range []struct {
		dialect  string
		from     permissions.Mode
		attended bool
		rule     permissions.Verdict
		want     planmode.Confirmation
	}{
		{"swarm", permissions.ModeDefault, true, "", planmode.ConfirmNobody},
		{"swarm", permissions.ModeDefault, true, permissions.Ask, planmode.ConfirmLeader},
		{"swarm", permissions.ModeDefault, false, permissions.Ask, planmode.ConfirmNobody},
		{"swarm", permissions.ModeBypass, true, permissions.Deny, planmode.ConfirmDeny},
		{"gemini", permissions.ModeDefault, true, "", planmode.ConfirmPerson},
		{"gemini", permissions.ModeDefault, true, permissions.Allow, planmode.ConfirmNobody},
		{"gemini", permissions.ModeBypass, true, permissions.Allow, planmode.ConfirmDeny},
		{"gemini", permissions.ModeBypass, false, "", planmode.ConfirmNobody},
		{"kimi", permissions.ModeDefault, true, "", planmode.ConfirmPerson},
		{"kimi", permissions.ModeBypass, true, "", planmode.ConfirmNobody},
		{"kimi-code", permissions.ModeAcceptEdits, true, "", planmode.ConfirmNobody},
		{"claude", permissions.ModeAcceptEdits, true, permissions.Ask, planmode.ConfirmPerson},
		{"claude", permissions.ModeAuto, true, "", planmode.ConfirmNobody},
	} {
		if got := dialect(t, tt.dialect).Entry.Asks(tt.from, tt.attended, tt.rule); got != tt.want {
			t.Errorf("%s from %s, attended %t, rule %q: %s, want %s", tt.dialect, tt.from, tt.attended, tt.rule, got, tt.want)
		}
	}
}

// A decision becomes the word that the client has for it. What cannot be said is said as a rejection.
func TestWordsForADecision(t *testing.T) {
	approved := planmode.Decision{Outcome: planmode.OutcomeApproved, Approved: true, Option: "Decimal"}
	rejected := planmode.Decision{Outcome: planmode.OutcomeRejected, Feedback: "add a test"}
	for _, tt := range []struct {
		dialect    string
		d          planmode.Decision
		options    []plans.Option
		word, text string
	}{
		{"kimi", approved, ways, "Decimal", ""},
		{"kimi", approved, nil, "Approve", ""},
		{"kimi", planmode.Decision{Outcome: planmode.OutcomeApproved, Option: "Other"}, ways, "Reject", ""},
		{"kimi", rejected, ways, "Revise", "add a test"},
		{"kimi", planmode.Decision{Outcome: planmode.OutcomeRejected}, nil, "Reject", ""},
		{"kimi", planmode.Decision{Outcome: planmode.OutcomeExpired}, nil, "Reject", ""},
		{"kimi", planmode.Decision{Outcome: planmode.OutcomeRejectedAndExit}, nil, "Reject and Exit", ""},
		{"kimi-code", approved, ways, "plan_opt_1", ""},
		{"kimi-code", rejected, ways, "plan_revise", ""},
		{"gemini", approved, nil, "proceed_once", ""},
		{"gemini", rejected, nil, "cancel", ""},
		{"claude", rejected, nil, "deny", "add a test"},
		{"swarm", planmode.Decision{Outcome: "maybe"}, nil, "rejected", ""},
	} {
		if word, text := dialect(t, tt.dialect).Answers.Word(tt.d, tt.options); word != tt.word || text != tt.text {
			t.Errorf("%s, %s: %q with %q, want %q with %q", tt.dialect, tt.d.Outcome, word, text, tt.word, tt.text)
		}
	}
}

// What comes of a wish to plan is an event; the reason is for people, and the agent does not read its own words again.
func TestHowAnEntryWasResolved(t *testing.T) {
	ev := enter(planmode.ByAgent)
	ev.Resolved, ev.Reason = planmode.ResolvedAsked, "the rounding is unclear"
	_, effects, err := working(t).Apply(ev)
	wantErr(t, err, nil)
	wantFields(t, effects, "plan.entered", map[string]string{"resolved": "asked", "reason": "the rounding is unclear"})
	for _, e := range effects {
		if n, ok := e.(planmode.Notify); ok && strings.Contains(asJSON(t, n), "unclear") {
			t.Errorf("the agent is told its reason: %s", asJSON(t, n))
		}
	}
	_, effects, err = working(t).Apply(planmode.EntryRefused{Resolved: planmode.ResolvedDismissed, Reason: "to look"})
	wantErr(t, err, nil)
	wantFields(t, effects, "plan.entry", map[string]string{"resolved": "dismissed", "reason": "to look"})
	if n := effects[0].(planmode.Notify); !strings.Contains(n.Data.Cause, "without a plan") || n.Data.State != planmode.Working {
		t.Errorf("the agent is told %+v, want to go on without a plan", n.Data)
	}
}

func wantFields(t *testing.T, effects []planmode.Effect, event string, want map[string]string) {
	t.Helper()
	for _, e := range effects {
		if e, ok := e.(planmode.Emit); ok && e.Event == event {
			for name, value := range want {
				if e.Fields[name] != value {
					t.Errorf("%s has %s %q, want %q", event, name, e.Fields[name], value)
				}
			}
			return
		}
	}
	t.Errorf("there is no event %s", event)
}

// One approach is nothing to choose: the request is the same as without any.
func TestOneOptionIsNone(t *testing.T) {
	s := must(t, planning(t), submit("r1", planA, func(ev *planmode.Submitted) { ev.Options = ways[:1] }))
	if plain := must(t, planning(t), submit("r1", planA)); s.Pending.Digest != plain.Pending.Digest || len(s.Pending.Options) > 0 {
		t.Errorf("pending %+v, want the plain plan", s.Pending)
	}
	_ = must(t, s, approve(s))
}

// Labels that differ in their case are one to swarm, and two to kimi.
func TestLabelsByDialect(t *testing.T) {
	both := func(ev *planmode.Submitted) { ev.Options = []plans.Option{{Label: "A"}, {Label: "a"}} }
	for name, want := range map[string]error{"": planmode.ErrBadOptions, "kimi": nil, "kimi-code": planmode.ErrBadOptions} {
		started := start(teamCharter())
		started.Dialect = name
		s := must(t, planmode.Session{}, started, enter(planmode.ByAgent))
		_, _, err := s.Apply(submit("r1", planA, both))
		wantErr(t, err, want)
	}
}

// Who approves without a choice is told what there is to choose.
func TestChoicesAreListed(t *testing.T) {
	s := awaiting(t, func(ev *planmode.Submitted) { ev.Options = ways })
	_, _, err := s.Apply(approve(s, func(ev *planmode.Decided) { ev.Decision.Option = "" }))
	if !errors.Is(err, planmode.ErrUnknownOption) || !strings.Contains(err.Error(), `none is chosen: choose one of "Cents", "Decimal"`) {
		t.Errorf("Decided without an option: %v, want the approaches in it", err)
	}
}
