package planmode

import (
	"fmt"
	"strings"

	"github.com/planswarm/swarm/plans"
)

// Strength is how readily an agent is told to plan.
type Strength string

// The strengths.
const (
	Eager      Strength = "eager"      // in doubt, plan
	Restrained Strength = "restrained" // in doubt, do it
)

// Strengths lists them.
func Strengths() []string { return []string{string(Eager), string(Restrained)} }

// Sample is a task, and whether it is planned in each strength.
type Sample struct {
	Task              string
	Eager, Restrained bool
	Why               string
}

// Samples are the tasks by which the two strengths are told apart.
var samples = []Sample{
	{"Add rate limiting to the public API.", true, true, "a new feature, several valid ways, more than three files"},
	{"Move the orders from floats to integer cents.", true, true, "it changes what exists, and stored data with it"},
	{"Sort the list of users by name.", true, false, "which name, and where, could be asked: a small change shows it sooner"},
	{"Fix the typo in the error message of login.", false, false, "one line, and nothing to decide"},
	{"Where is the retry of the mail client?", false, false, "pure research: the answer is the result"},
}

// Samples lists the tasks that the guidance shows.
func Samples() []Sample { return append([]Sample{}, samples...) }

// triggers are the reasons to plan; the eager strength asks for one of them, the restrained for two, or for one that cannot
// be taken back.
var triggers = []string{
	"a new feature, with decisions in it that nobody has made yet",
	"several valid ways, between which somebody would want to choose",
	"a change of what exists already, and of what others rely on",
	"architecture: packages, data models, protocols, dependencies",
	"more than two or three files",
	"requirements that are unclear until something was looked at",
	"preferences of a person that the result depends on",
}

var counters = []string{
	"a fix of one line, or of a few",
	"detailed instructions: the plan was made by whoever gave them",
	"pure research: reading needs no approval",
}

var workflow = []string{
	"Enter plan mode: swarm plan on.",
	"Look around by reading alone; ask the two or three questions whose answers change the approach (swarm ask), and no others.",
	"Decide on one approach. Other ways are offered (swarm plan submit --option) only where a leader would really choose; a plan is not padded with variants.",
	"Write it to the plan file (swarm plan path): the goal, what changes in which files, how it is tested, what it asks to run, as a list of checkboxes.",
	"Where a person is there to talk to, agree on the outline before you hand it in. That is no approval.",
	"Hand it in (swarm plan submit) and wait (swarm plan wait). Only the signed decision counts.",
}

// Guide is the guidance on when to plan, and how, in a strength.
func Guide(s Strength) (string, error) {
	var b strings.Builder
	switch s {
	case Eager:
		b.WriteString("Plan before you change anything when one of these holds; in doubt, plan:\n")
	case Restrained:
		b.WriteString("Plan when two of these hold, or one whose result is hard to take back; in doubt, begin with the smallest change that shows the way:\n")
	default:
		return "", fmt.Errorf("planmode: unknown strength %q: use eager or restrained", plans.Cut(plans.VisibleLine(string(s)), 80))
	}
	list(&b, "- ", triggers)
	b.WriteString("\nDo not plan:\n")
	list(&b, "- ", counters)
	b.WriteString("\nHow:\n")
	for i, line := range workflow {
		fmt.Fprintf(&b, "%d. %s\n", i+1, line)
	}
	b.WriteString("\nFor example:\n")
	for _, t := range samples {
		plan, word := t.Eager, "do it"
		if s == Restrained {
			plan = t.Restrained
		}
		if plan {
			word = "plan "
		}
		fmt.Fprintf(&b, "- %s  %s (%s)\n", word, t.Task, t.Why)
	}
	return b.String(), nil
}

func list(b *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		b.WriteString(mark + line + "\n")
	}
}
