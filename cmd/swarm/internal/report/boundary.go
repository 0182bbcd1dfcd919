package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox/charter"
)

// Known is what was found out about one fact. The zero Known is a fact that nobody could look at: it counts as the
// answer that holds against less.
type Known string

// The answers.
const (
	Unknown Known = ""
	No      Known = "no"
	Yes     Known = "yes"
)

// KnownIf is Yes or No.
func KnownIf(yes bool) Known {
	if yes {
		return Yes
	}
	return No
}

// A Decider is a key whose signature ends plan mode.
type Decider struct {
	Name      string
	Kind      charter.Kind
	Assurance charter.Assurance // empty: not known
	// Elsewhere says whether the key lies on another machine than the one that the teammates run on.
	Elsewhere Known
}

// Facts are what a boundary is computed from.
type Facts struct {
	// OtherUser: the teammates run as another user than the one that holds the deciding keys, or in a container.
	OtherUser Known
	// Confined: the kernel confines the teammates' own programs.
	Confined Known
	// CommandsConfined: it also confines what teammates have carried out for them (swarm exec, swarm edit).
	CommandsConfined Known
	// Open is what a confinement leaves open on this kernel, one phrase each.
	Open []string
	// BrokerHere: the broker's files lie on the machine of the teammates.
	BrokerHere Known
	// Deciders are all keys that may decide. The weakest one counts.
	Deciders []Decider
}

// Layout is the boundary that a team has: what it holds against, and why (THREATS.md, section 3).
type Layout struct {
	Level        int      `json:"level"`        // 0 to 3
	Name         string   `json:"name"`         // of the level
	HoldsAgainst []string `json:"holdsAgainst"` // who is stopped
	NotAgainst   []string `json:"notAgainst"`   // who is not
	Because      []string `json:"because"`      // the facts that it was computed from
	NotKnown     []string `json:"notKnown"`     // what could not be found out, and counts as the weaker answer
}

// String is the boundary as one line has it: same user (level 0).
func (l Layout) String() string { return fmt.Sprintf("%s (level %d)", l.Name, l.Level) }

// Line is String with who is stopped by it, and who is not.
func (l Layout) Line() string {
	return fmt.Sprintf("%s: holds against %s; not against %s", l, strings.Join(l.HoldsAgainst, ", "), strings.Join(l.NotAgainst, ", "))
}

// levels are the rows of THREATS.md, section 3. Each holds against what those before it hold against.
var levels = []struct {
	name        string
	holds, open []string
}{
	{"same user", []string{"agents that err", "rogue members", "a repository's author"}, []string{"programs of this user"}},
	{"sandbox", []string{"programs of this user, as far as the kernel goes"}, []string{"holes of the kernel", "what a grant itself may do"}},
	{"another user", []string{"programs of the teammates' user, for keys, journal and sockets"}, []string{"readers of other users' command lines"}},
	{"key elsewhere", []string{"every program and the broker on the teammates' machine"}, []string{"a leader who does not read"}},
}

// LayoutOf computes a boundary from facts. What is not known counts as the weaker answer, and is listed.
func LayoutOf(f Facts) Layout {
	l := Layout{Level: f.level(), HoldsAgainst: []string{}, Because: f.because(), NotKnown: f.notKnown()}
	l.Name, l.NotAgainst = levels[l.Level].name, levels[l.Level].open
	for _, row := range levels[:l.Level+1] {
		l.HoldsAgainst = append(l.HoldsAgainst, row.holds...)
	}
	if f.BrokerHere != No || l.Level == 3 {
		return l
	}
	l.HoldsAgainst = append(l.HoldsAgainst, "the broker's operator")
	return l
}

// level is the highest row whose conditions are all known to hold.
func (f Facts) level() int {
	far := func(d Decider) bool { return d.Elsewhere == Yes || d.Assurance == charter.Confirm }
	switch {
	case len(f.Deciders) > 0 && !slices.ContainsFunc(f.Deciders, func(d Decider) bool { return !far(d) }):
		return 3
	case f.OtherUser == Yes:
		return 2
	case f.Confined == Yes && f.CommandsConfined == Yes && len(f.unixSockets()) == 0:
		return 1
	}
	return 0
}

// unixSockets are the open ways out of a sandbox to a program that acts for the user outside of it.
func (f Facts) unixSockets() []string {
	return slices.DeleteFunc(slices.Clone(f.Open), func(what string) bool {
		return !strings.HasPrefix(what, "UNIX sockets with a path") && !strings.HasPrefix(what, "everything") && !strings.HasPrefix(what, "signals")
	})
}

func (f Facts) because() []string {
	list := []string{}
	add := func(k Known, yes, no string) {
		if text := map[Known]string{Yes: yes, No: no}[k]; text != "" {
			list = append(list, text)
		}
	}
	add(f.OtherUser, "teammates run as another user", "teammates run as the user that holds the keys")
	add(f.Confined, "the kernel confines teammates' programs", "nothing confines teammates' programs")
	add(f.CommandsConfined, "what is run for them is confined too", "commands that are run for them are not confined")
	if f.Confined == Yes && len(f.Open) > 0 {
		list = append(list, "open in the confinement: "+strings.Join(f.Open, "; "))
	}
	add(f.BrokerHere, "the broker runs on the teammates' machine", "the broker runs on another machine")
	for _, d := range f.Deciders {
		if d.Assurance == "" {
			continue
		}
		where := map[Known]string{Yes: ", on another machine", No: ", on the teammates' machine"}[d.Elsewhere]
		list = append(list, fmt.Sprintf("the key of %s (%s) is %s%s", d.Name, d.Kind, kept[d.Assurance], where))
	}
	return list
}

// Kept says in words how a key is kept; empty for an assurance that nobody knows.
func Kept(a charter.Assurance) string { return kept[a] }

var kept = map[charter.Assurance]string{
	charter.Plain: "a plain file", charter.Memory: "in memory only", charter.Sealed: "sealed by a passphrase",
	charter.Confirm: "confirmed for each signature",
}

func (f Facts) notKnown() []string {
	list := []string{}
	for _, q := range []struct {
		k    Known
		what string
	}{
		{f.OtherUser, "which user the teammates run as"},
		{f.Confined, "whether the kernel confines teammates' programs"},
		{f.CommandsConfined, "whether commands that are run for them are confined"},
		{f.BrokerHere, "whether the broker runs on the teammates' machine"},
	} {
		if q.k == Unknown {
			list = append(list, q.what)
		}
	}
	if len(f.Deciders) == 0 {
		list = append(list, "which keys may decide")
	}
	for _, d := range f.Deciders {
		if d.Assurance == "" {
			list = append(list, "how the key of "+d.Name+" is kept")
		}
		if d.Elsewhere == Unknown {
			list = append(list, "on which machine the key of "+d.Name+" lies")
		}
	}
	return list
}
