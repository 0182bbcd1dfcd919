package intent

import (
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Best names the built-in intent that a command is best asked for by: of those that cover it, and whose use of it fits, the
// one with the likest example, then with the fewest classes, then the first. It is empty when there is none.
func Best(argv []shellcmd.Word, fits func(schema.Use) bool) string {
	if len(argv) == 0 || !argv[0].Literal() {
		return ""
	}
	closest := 0
	for i := range intents() {
		closest = max(closest, intents()[i].table.Closeness(argv))
	}
	if closest == 0 {
		return ""
	}
	best, most := -1, -1
	for i := range intents() {
		in := &intents()[i]
		if in.table.Closeness(argv) < closest {
			continue
		}
		n := in.likeness(argv)
		if n < most || n == most && len(in.Classes) >= len(intents()[best].Classes) {
			continue
		}
		if use, err := in.Match(argv); err == nil && use.Inner == nil && fits(use) {
			best, most = i, n
		}
	}
	if best < 0 {
		return ""
	}
	return intents()[best].Name
}

// likeness is the most words that one of the examples has in common with a command from its beginning.
func (in *Intent) likeness(argv []shellcmd.Word) int {
	most := 0
	for _, example := range in.Examples {
		n := 0
		for word := range strings.SplitSeq(example, " ") {
			if n == len(argv) || argv[n].Text != word {
				break
			}
			n++
		}
		most = max(most, n)
	}
	return most
}

// Closeness says how many words of a command the intent knows from its beginning: see [schema.Table.Closeness].
func (in Intent) Closeness(argv []shellcmd.Word) int { return in.table.Closeness(argv) }
