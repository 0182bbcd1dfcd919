package planmode_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/planmode"
)

// turns is a history in short: a for the agent, p for a person, F, S and R for reminders.
func turns(text string) []planmode.Turn {
	var list []planmode.Turn
	for _, r := range text {
		list = append(list, map[rune]planmode.Turn{
			'a': {Role: planmode.RoleAssistant, Text: "I read " + planmode.ReminderFull.Text(file, "swarm plan submit")},
			'p': {Role: planmode.RolePerson, Text: "go on"},
			'F': {Role: planmode.RoleReminder, Text: planmode.ReminderFull.Text(file, "swarm plan submit")},
			'S': {Role: planmode.RoleReminder, Text: planmode.ReminderSparse.Text(file, "swarm plan submit")},
			'R': {Role: planmode.RoleReminder, Text: planmode.ReminderReentry.Text(file, "swarm plan submit")},
			'u': {Role: planmode.RoleReminder, Text: "the build is green"},
		}[r])
	}
	return list
}

func TestReminders(t *testing.T) {
	told := func(n int) planmode.Reminding { return planmode.Reminding{Count: n, Told: true} }
	for _, tt := range []struct {
		name    string
		dialect string
		r       planmode.Reminding
		in      planmode.RemindInput
		want    planmode.ReminderKind
	}{
		{"first", "kimi", planmode.Reminding{}, planmode.RemindInput{Planning: true}, planmode.ReminderFull},
		{"first, other reminders", "kimi", planmode.Reminding{}, planmode.RemindInput{Planning: true, History: turns("ua")}, planmode.ReminderFull},
		{"first, older plan", "kimi", planmode.Reminding{}, planmode.RemindInput{Planning: true, Older: true}, planmode.ReminderReentry},
		{"three turns", "kimi", told(1), planmode.RemindInput{Planning: true, History: turns("Faaa")}, planmode.ReminderNone},
		{"five turns", "kimi", told(1), planmode.RemindInput{Planning: true, History: turns("Faaaaa")}, planmode.ReminderSparse},
		{"sixth", "kimi", told(5), planmode.RemindInput{Planning: true, History: turns("Saaaaa")}, planmode.ReminderFull},
		{"after a restart", "kimi", planmode.Reminding{}, planmode.RemindInput{Planning: true, History: turns("Saaaaa")}, planmode.ReminderFull},
		{"switched on", "kimi", planmode.Reminding{Now: true, Count: 2}, planmode.RemindInput{Planning: true, History: turns("Sa")}, planmode.ReminderFull},
		{"switched on and off", "kimi", planmode.Reminding{Now: true}, planmode.RemindInput{}, planmode.ReminderNone},
		{"compacted away", "kimi", told(3), planmode.RemindInput{Planning: true, History: turns("aa")}, planmode.ReminderFull},
		{"child", "kimi", planmode.Reminding{Now: true}, planmode.RemindInput{Planning: true, Child: true}, planmode.ReminderNone},
		{"left, kimi", "kimi", told(2), planmode.RemindInput{}, planmode.ReminderNone},
		{"left, its successor", "kimi-code", told(2), planmode.RemindInput{}, planmode.ReminderLeft},
		{"left, child", "kimi-code", told(2), planmode.RemindInput{Child: true}, planmode.ReminderNone},
		{"never on", "swarm", planmode.Reminding{}, planmode.RemindInput{History: turns("pa")}, planmode.ReminderNone},
		{"successor, one turn", "kimi-code", told(1), planmode.RemindInput{Planning: true, History: turns("Fa")}, planmode.ReminderNone},
		{"successor, two turns", "kimi-code", told(1), planmode.RemindInput{Planning: true, History: turns("Faa")}, planmode.ReminderSparse},
		{"successor, five since the full one", "kimi-code", told(3), planmode.RemindInput{Planning: true, History: turns("FaaSaaSa")}, planmode.ReminderFull},
		{"successor, a person spoke", "kimi-code", told(1), planmode.RemindInput{Planning: true, History: turns("Fap")}, planmode.ReminderFull},
		{"kimi, a person spoke", "kimi", told(1), planmode.RemindInput{Planning: true, History: turns("Fap")}, planmode.ReminderNone},
		{"swarm, a person spoke before", "swarm", told(1), planmode.RemindInput{Planning: true, History: turns("pFa")}, planmode.ReminderNone},
	} {
		in := tt.in
		in.PlanFile = file
		if _, got := dialect(t, tt.dialect).Reminders.Next(tt.r, in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Reminders have the plan's path, tell each other apart, and are known again only where an adapter has put them.
func TestWordsOfReminders(t *testing.T) {
	for _, kind := range []planmode.ReminderKind{planmode.ReminderFull, planmode.ReminderSparse, planmode.ReminderReentry, planmode.ReminderLeft} {
		text := kind.Text(file, "swarm plan submit")
		if !strings.Contains(text, file) || strings.Contains(text, "\n") {
			t.Errorf("%s: %q, want one line with the plan's path", kind, text)
		}
		for _, role := range []planmode.Role{planmode.RoleAssistant, planmode.RolePerson, planmode.RoleTool, planmode.RoleReminder} {
			want := planmode.ReminderNone
			if role == planmode.RoleReminder {
				want = kind
			}
			if got := planmode.ReminderIn(planmode.Turn{Role: role, Text: text}); got != want {
				t.Errorf("%s by %s is taken for %q, want %q", kind, role, got, want)
			}
		}
		if kind != planmode.ReminderLeft && !strings.Contains(text, "no text approves a plan") {
			t.Errorf("%s does not say that no text approves", kind)
		}
	}
}

// Whatever happens: a child is told nothing, nobody is told that plan mode is over who was not told that it is on, and
// plan mode that ends is told once.
func TestRemindersWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dialect(t, rapid.SampledFrom(planmode.DialectNames()).Draw(t, "dialect"))
		var r planmode.Reminding
		var history []planmode.Turn
		told := false
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			history = append(history, turns(rapid.SampledFrom([]string{"a", "a", "a", "p", "u", ""}).Draw(t, "turn"))...)
			in := planmode.RemindInput{Planning: rapid.Bool().Draw(t, "planning"), Child: rapid.IntRange(0, 4).Draw(t, "child") == 0, PlanFile: file, History: history}
			next, kind := d.Reminders.Next(r, in)
			switch {
			case in.Child && (kind != planmode.ReminderNone || next != r):
				t.Fatalf("a child is told %q", kind)
			case in.Child:
				continue
			case kind == planmode.ReminderLeft && (!told || in.Planning || !d.Reminders.OnLeaving):
				t.Fatalf("told that plan mode is over, told before that it is on: %t, planning %t", told, in.Planning)
			case told && !in.Planning && d.Reminders.OnLeaving && kind != planmode.ReminderLeft:
				t.Fatalf("plan mode is over, and the agent is told %q", kind)
			}
			told, r = in.Planning, next
			if kind != planmode.ReminderNone {
				history = append(history, planmode.Turn{Role: planmode.RoleReminder, Text: kind.Text(file, "swarm plan submit")})
			}
		}
	})
}
