package schema

import (
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Knows says what is known of a program's name, whatever its arguments: that it reads, writes, runs something or does
// harm. It is empty for a name of which nothing is known.
func Knows(name string) string {
	argv := []shellcmd.Word{{Text: name, Source: name}}
	bare := bareName(name)
	t := knownPrograms()
	switch {
	case t.Inline[bare] != nil:
		return "is an interpreter"
	case ReadOnly().Closeness(argv) > 0:
		return "has a table that is built in"
	case t.effect(bare) != "":
		return t.effect(bare)
	}
	if _, ok := t.Subcommands[bare]; ok {
		return "has subcommands that are known to change something"
	}
	for _, h := range t.Harms {
		if _, ok := h.Subcommands[bare]; ok || h.Programs[bare] {
			return "is known for the harm that it can do"
		}
	}
	if slices.ContainsFunc(launchers(), func(l *Program) bool { return slices.Contains(l.names(), name) }) {
		return "starts other programs"
	}
	return ""
}

// Writes reports whether a value of that kind names a file that the program writes.
func Writes(kind string) bool {
	reach, isPath := pathKinds[strings.TrimLeft(kind, "?!&")]
	return isPath && reach == Write
}
