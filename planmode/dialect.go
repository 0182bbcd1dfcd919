package planmode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// Dialect is how one system's plan mode is spoken to, as data: what its tools are called, who agrees to an entry, what
// entering twice is answered with, which labels its options may have, when it is reminded. What ends plan mode is the same
// in each: a leader's signed word. Where a system's own behaviour would break an invariant, the invariant holds, and the
// difference stands in Differences. A Dialect is a value that nobody changes; the zero one is no dialect.
type Dialect struct {
	Name  string
	Tools Tools
	Entry Entry
	// Labels are the rules for the labels of a plan's approaches.
	Labels plans.LabelRules
	// Answers are the words that its client has for a decision.
	Answers Answers
	// Reminders is when the agent is told again that it plans.
	Reminders Cadence
	// FreshFile has each round of planning write to a file with a new name. Otherwise a teammate has one name, until it
	// leaves.
	FreshFile bool
	// Differences is what the system itself does otherwise, and why it is not done here.
	Differences []Difference
}

// Tools are what a system calls the tools of plan mode, and their parameters.
type Tools struct {
	Enter, Exit string
	// Reason is the parameter of Enter for people; Path are those of Exit that name the plan file, the first that is given.
	Reason string
	Path   []string
	// Text is a parameter of Exit that has the plan's text: an adapter stores it as the plan file before it submits.
	Text string
}

// Entry is who agrees when an agent wants to plan. It narrows, so that nobody has to.
type Entry struct {
	Confirm Confirmation
	// Unasked are modes in which an entry is not asked about.
	Unasked []permissions.Mode
	// Unattended is who agrees where nobody can be asked.
	Unattended Confirmation
	// Refused are modes in which an entry is refused where somebody can be asked: the person who chose the mode is there to
	// leave it.
	Refused []permissions.Mode
	// TwiceIsError answers an entry while planning with [ErrPlanning], and not with the present state. In both nothing
	// changes.
	TwiceIsError bool
}

// Confirmation is who has to agree to an entry.
type Confirmation string

// Who agrees.
const (
	ConfirmNobody Confirmation = "allow"  // it begins at once
	ConfirmLeader Confirmation = "leader" // a leader is asked, with a permission request for the tool
	ConfirmPerson Confirmation = "person" // the person at the agent's client is asked, by the client
	ConfirmDeny   Confirmation = "deny"   // it does not begin
)

// Resolution is how an entry was resolved. It goes with the event plan.entered, or plan.entry where none begins.
type Resolution string

// How entries are resolved.
const (
	ResolvedAuto      Resolution = "auto"      // nobody was asked
	ResolvedAsked     Resolution = "asked"     // somebody agreed
	ResolvedRefused   Resolution = "refused"   // somebody did not, or a rule
	ResolvedDismissed Resolution = "dismissed" // the question was closed without an answer, or cancelled
)

// Answers are a system's words for what a leader decided, and the ids of its client's choices.
type Answers struct {
	Approve, Reject, RejectAndExit, Revise string
	// Option is the choice of the n-th approach, with %d for n, from 0; empty: its label.
	Option string
	// Feedback reports whether a text goes back with a rejection. Otherwise it is the next prompt.
	Feedback bool
}

// Difference is something that a system does and that is not done here.
type Difference struct {
	What      string // the system's behaviour
	Ours      string // what happens here
	Invariant int    // of ARCHITECTURE.md
}

// DialectOf finds a dialect by its name; "" is swarm's own.
func DialectOf(name string) (Dialect, error) {
	if name == "" {
		name = "swarm"
	}
	for _, d := range dialects {
		if d.Name == name {
			return d, nil
		}
	}
	return Dialect{}, fmt.Errorf("%w %q: use one of %s", ErrUnknownDialect, plans.VisibleLine(name), strings.Join(DialectNames(), ", "))
}

// DialectNames lists the dialects there are, swarm's own first.
func DialectNames() []string {
	names := make([]string, 0, len(dialects))
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return names
}

// Asks says who has to agree to an entry from a mode. Rule is the verdict of the rules about the tool, "" where none names
// it: a rule that denies or asks is obeyed in each dialect.
func (e Entry) Asks(from permissions.Mode, attended bool, rule permissions.Verdict) Confirmation {
	switch {
	case rule == permissions.Deny:
		return ConfirmDeny
	case attended && slices.Contains(e.Refused, from):
		return ConfirmDeny
	case !attended:
		if rule == permissions.Ask || e.Unattended == "" {
			return ConfirmNobody // it only narrows
		}
		return e.Unattended
	case rule == permissions.Ask && e.Confirm == ConfirmNobody:
		return ConfirmLeader
	case rule == permissions.Allow || slices.Contains(e.Unasked, from):
		return ConfirmNobody
	}
	return e.Confirm
}

// Word is how the system's client is told a decision about a plan with these options, and the text that goes with it. A
// word that it does not know rejects in every client, so that nothing approves by accident.
func (a Answers) Word(d Decision, options []plans.Option) (word, text string) {
	switch {
	case d.Outcome == OutcomeApproved && len(options) > 1:
		i := slices.IndexFunc(options, func(o plans.Option) bool { return o.Label == d.Option })
		if i < 0 {
			return a.Reject, ""
		}
		if a.Option == "" {
			return d.Option, ""
		}
		return fmt.Sprintf(a.Option, i), ""
	case d.Outcome == OutcomeApproved:
		return a.Approve, ""
	case d.Outcome == OutcomeRejectedAndExit:
		word = a.RejectAndExit
	case d.Feedback != "" || len(d.Comments) > 0:
		word = a.Revise
	default:
		word = a.Reject
	}
	if a.Feedback {
		text = d.Feedback
	}
	return word, text
}
