//go:build linux

package teammate_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/planmode"
)

func history(text string) []planmode.Turn {
	var list []planmode.Turn
	for _, r := range text {
		list = append(list, map[rune]planmode.Turn{
			'a': {Role: planmode.RoleAssistant, Text: "I read the files"},
			'p': {Role: planmode.RolePerson, Text: "go on"},
			'F': {Role: planmode.RoleReminder, Text: planmode.ReminderFull.Text("/p.md", "swarm plan submit")},
			'S': {Role: planmode.RoleReminder, Text: planmode.ReminderSparse.Text("/p.md", "swarm plan submit")},
		}[r])
	}
	return list
}

func reminds(dialect string, r planmode.Reminding, in planmode.RemindInput, want planmode.ReminderKind) claim {
	return is(func(t *testing.T) {
		d, err := planmode.DialectOf(dialect)
		if err != nil {
			t.Fatal(err)
		}
		next, got := d.Reminders.Next(r, in)
		if got != want || next.Now || got == planmode.ReminderNone && !in.Planning && next.Count != 0 && !in.Child {
			t.Errorf("reminded %q, then %+v, want %q", got, next, want)
		}
	})
}

func hasWords(kind planmode.ReminderKind, words ...string) claim {
	return is(func(t *testing.T) {
		text := kind.Text("/state/work/plan.md", "swarm plan submit")
		for _, w := range append(words, "/state/work/plan.md") {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %q: %s", kind, w, text)
			}
		}
	})
}

func knows(turn planmode.Turn, want planmode.ReminderKind) claim {
	return is(func(t *testing.T) {
		if got := planmode.ReminderIn(turn); got != want {
			t.Errorf("%q by %s is %q, want %q", turn.Text, turn.Role, got, want)
		}
	})
}

func reminderClaims() claims {
	on := func(h string) planmode.RemindInput { return planmode.RemindInput{Planning: true, History: history(h)} }
	told := func(n int) planmode.Reminding { return planmode.Reminding{Count: n, Told: true} }
	child := on("")
	child.Child = true
	return claims{
		"pm-395": reminds("kimi", told(0), planmode.RemindInput{}, planmode.ReminderNone),
		"pm-397": reminds("kimi", told(1), on("Faaa"), planmode.ReminderNone),
		"pm-398": reminds("kimi", told(1), on("Faaaaa"), planmode.ReminderSparse),
		"pm-399": reminds("kimi", told(1), on("Faaaaa"), planmode.ReminderSparse),
		"pm-400": reminds("kimi", told(5), on("Saaaaa"), planmode.ReminderFull),
		"pm-401": reminds("kimi", planmode.Reminding{Now: true}, on("Sa"), planmode.ReminderFull),
		"pm-404": reminds("kimi", planmode.Reminding{Now: true}, planmode.RemindInput{}, planmode.ReminderNone),
		"pm-405": is(func(t *testing.T) {
			d, _ := planmode.DialectOf("kimi")
			r := planmode.Reminding{Now: true}
			if next, kind := d.Reminders.Next(r, child); kind != planmode.ReminderNone || next != r {
				t.Errorf("a child is reminded %q", kind)
			}
		}),
		"pm-406": reminds("kimi", planmode.Reminding{}, on("Saaaaa"), planmode.ReminderFull),
		"pm-407": knows(planmode.Turn{Role: planmode.RoleReminder, Text: planmode.ReminderSparse.Text("/p.md", "swarm plan submit")}, planmode.ReminderSparse),
		"pm-409": knows(planmode.Turn{Role: planmode.RoleAssistant, Text: planmode.ReminderSparse.Text("/p.md", "swarm plan submit")}, planmode.ReminderNone),
		"pm-410": knows(planmode.Turn{Role: planmode.RoleReminder, Text: "the build is green"}, planmode.ReminderNone),
		"pm-411": hasWords(planmode.ReminderFull, "The one file that you may write", "End each turn", "no text approves a plan"),
		"pm-412": hasWords(planmode.ReminderSparse, "As said above", "End each turn"),
		"pm-413": hasWords(planmode.ReminderReentry, "read it first", "compare", "write it anew", "up to date", "before you hand it in"),
		"pm-414": reminds("kimi", told(3), planmode.RemindInput{}, planmode.ReminderNone),
	}
}
