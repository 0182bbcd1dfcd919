package permissions

import (
	"slices"
	"strconv"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// ExactCommand is the one command that a line is, word by word, or why no grant of an exact command could mean the line:
// it holds more than one, is known only when it runs, or is given something to read, a variable or a file to write.
func ExactCommand(input string) (argv []string, why string) {
	line, err := shellcmd.Parse(input, "/")
	switch {
	case err != nil:
		return nil, "the line cannot be read with certainty"
	case len(line.Commands) != 1 || len(line.Nested) != 1 || len(line.Refused) > 0:
		return nil, "the line is not one simple command"
	}
	c := line.Commands[0]
	if len(c.Argv) == 0 || !isBare(c) {
		return nil, "the line sets variables or redirects, which no exact command has"
	}
	for _, w := range c.Argv {
		if !w.Literal() {
			return nil, strconv.Quote(w.Source) + " is known only when it runs"
		}
	}
	return texts(c.Argv), ""
}

// isBare reports whether a command is its words alone: it is given no variables, reads nothing that the line feeds it, and
// writes no file by a redirection. Where its output goes besides, to /dev/null or the other stream, changes nothing.
func isBare(c *shellcmd.Command) bool {
	return len(c.Env) == 0 && !c.Piped && !c.ReadOnly && !slices.ContainsFunc(c.Redirs, func(r shellcmd.Redirect) bool {
		return r.Kind != shellcmd.RedirectDup && r.Kind != shellcmd.RedirectNull
	})
}

// takesInput reports whether a command is given something to read by the line.
func takesInput(c *shellcmd.Command) bool {
	return c.Piped || slices.ContainsFunc(c.Redirs, shellcmd.Redirect.Feeds)
}

// allIn reports whether every one of dirs is the folder real itself: below it the same words may mean another thing.
func (v *view) allIn(dirs []string, real string) bool {
	return !slices.ContainsFunc(dirs, func(d string) bool { s := v.place(d, ""); return s.unclear || s.real != real })
}
