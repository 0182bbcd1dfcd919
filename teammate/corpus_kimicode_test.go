//go:build linux

package teammate_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

func successorClaims() claims {
	told := func(n int) planmode.Reminding { return planmode.Reminding{Count: n, Told: true} }
	on := func(h string) planmode.RemindInput { return planmode.RemindInput{Planning: true, History: history(h)} }
	deny := permissions.Rule{Verdict: permissions.Deny, Tool: "Write", Source: "settings.json"}
	words := func(d planmode.Decision, labels []string, want string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			c, _ := planmode.DialectOf("kimi-code")
			var options []plans.Option
			for _, l := range labels {
				options = append(options, plans.Option{Label: l})
			}
			if got, text := c.Answers.Word(d, options); got != want || text != "" {
				t.Errorf("%s is %q with %q, want %q", d.Outcome, got, text, want)
			}
		}
	}
	chose := func(label string) planmode.Decision {
		return planmode.Decision{Outcome: planmode.OutcomeApproved, Approved: true, Option: label}
	}
	three := []string{"A", "B", "C"}
	cards := both(words(chose("A"), three, "plan_opt_0"), words(chose("C"), three, "plan_opt_2"),
		words(planmode.Decision{Outcome: planmode.OutcomeRejected, Feedback: "no"}, three, "plan_revise"),
		words(planmode.Decision{Outcome: planmode.OutcomeRejectedAndExit}, three, "plan_reject_and_exit"))
	return claims{
		"pm-494": is(gives(permissions.Allow, fileTool("Edit", "/state/work/plan.md"))),
		"pm-495": is(gives(permissions.Deny, fileTool("Write", "main.go"))),
		"pm-496": is(gives(permissions.Deny, fileTool("Write", "main.go"), planAt(""))),
		"pm-497": is(gives(permissions.Deny, tool("Write"))),
		"pm-499": is(gives(permissions.Deny, tool("CronCreate"), unattended)),
		"pm-503": is(asksNobody("kimi-code", permissions.ModeAuto)),
		"pm-504": not(11, waitsFor("kimi-code", false)),
		"pm-506": is(gives(permissions.Deny, fileTool("Write", "/state/work/plan.md"), under(deny))),
		"pm-509": is(labels("kimi-code", false, "A", "a")),
		"pm-511": is(both(labels("kimi-code", true, "A"), chosen("", []string{"X"}, nil, ""))),
		"pm-513": reminds("kimi-code", told(3), on("FaaSaaSa"), planmode.ReminderFull),
		"pm-514": reminds("kimi-code", told(1), on("Fap"), planmode.ReminderFull),
		"pm-515": reminds("kimi-code", told(2), planmode.RemindInput{}, planmode.ReminderLeft),
		"pm-516": reminds("kimi-code", planmode.Reminding{}, planmode.RemindInput{}, planmode.ReminderNone),
		"pm-518": reminds("kimi-code", told(4), on("a"), planmode.ReminderFull), // what an undo took out is not counted
		"pm-519": is(func(t *testing.T) {
			m := newRig(t).start()
			m.enter()
			write(t, m.store.WorkFile(), corpusPlan)
			if err := m.store.Clear(); err != nil {
				t.Error(err)
			}
			m.wantState(planmode.Planning, permissions.ModePlan)
		}),
		"pm-521": is(cards),
		"pm-522": is(both(words(chose(""), nil, "plan_approve"), words(planmode.Decision{Outcome: planmode.OutcomeRejected}, nil, "reject"))),
		"pm-524": is(func(t *testing.T) { // a leader sees the path and every byte
			r := newRig(t)
			m := r.start()
			m.enter()
			m.submit(corpusPlan)
			if p := r.open().Request.Plan; p.Path != m.store.WorkFile() || string(p.Content) != corpusPlan {
				t.Errorf("the leader sees %q of %q", p.Content, p.Path)
			}
		}),
		"pm-525": is(dismissed("kimi-code", planmode.Interrupted{})),
		"pm-526": is(func(t *testing.T) {
			f := newPlanFolder(t, "")
			ref, err := f.Snapshot("p1", 1, plans.New("plan.md", "/p.md", []byte(corpusPlan)))
			if err != nil || ref.Digest != plans.Digest([]byte(corpusPlan)) || ref.Bytes != len(corpusPlan) {
				t.Errorf("%+v, %v, want digest and bytes", ref, err)
			}
			if p, err := f.LoadRevision("p1", 1); err != nil || string(p.Content) != corpusPlan {
				t.Errorf("%q, %v", p.Content, err)
			}
		}),
		"pm-529": adapter("issue 7: set_mode over ACP"),
		"pm-530": is(saysWhy("plan file", fileTool("Write", "main.go"))),
		"pm-531": is(cards),
		"pm-532": is(chosen("B", []string{"A", "B"}, nil, `only "B"`)),
		"pm-533": is(stays("kimi-code", "", "ask your leader")),
		"pm-535": adapter("issue 7: the mode is read back after each decision, whatever the client says"),
		"pm-536": reminds("kimi-code", told(1), planmode.RemindInput{History: history("Fa")}, planmode.ReminderLeft),
		"pm-537": reminds("kimi-code", told(1), on("Faa"), planmode.ReminderSparse),
		"pm-538": not(7, gives(permissions.Deny, bash("touch x"))),
		"pm-539": not(7, gives(permissions.Deny, bash("touch x"), unattended)),
		"pm-540": is(gives(permissions.Ask, bash("frobnicate --x"), in(permissions.ModePlan))),
		"pm-541": not(11, waitsFor("kimi-code", false)),
		"pm-542": is(waitsFor("kimi-code", true)),
		"pm-543": is(func(t *testing.T) { // an answer to another request is none
			r := newRig(t)
			m := r.start()
			got := m.ask(t.Context(), "git push")
			row := r.open()
			row.Permission.CallHash = strings.Repeat("0", 64)
			r.answer(row, permissions.BehaviorAllow, permissions.ScopeOnce)
			if a := <-got; a.err == nil && a.answer.Behavior == permissions.BehaviorAllow {
				t.Error("an answer to another call lets this one through")
			}
		}),
	}
}
