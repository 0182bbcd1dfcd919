package planmode

import (
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

// AskedOf is what the charter's classes are matched against: the prompts of a request, the files that it names, and the
// mode that a decision would restore. Who decides and who applies call it, each on its own copy of the request.
func AskedOf(prompts []permissions.Prompt, paths []string, mode permissions.Mode) charter.Asked {
	a := charter.Asked{Paths: paths, Files: len(paths), Mode: mode}
	for _, p := range prompts {
		a.Intents = append(a.Intents, p.Intent)
		a.Classes = append(a.Classes, p.Classes...)
	}
	return a
}

// AskedOfCall is [AskedOf] for one call: what its command lines mean, what harm they could do, and the files that it
// names; without paths, a file tool's input is the one file. A line that is not understood has an intent that is in
// nobody's limit, and every class of harm. What a line may change is seen from cwd, as the request has it; roots are the
// working tree's absolute paths, where they are known.
func AskedOfCall(tool, input, cwd string, paths []string, roots ...string) charter.Asked {
	intents, classes := permissions.Kinds(tool, input)
	if len(paths) == 0 && len(intents) == 0 && input != "" {
		paths = []string{input}
	}
	a := charter.Asked{Intents: intents, Classes: classes, Paths: paths, Files: len(paths)}
	a.Named, a.Unlisted = permissions.Named(tool, input, cwd, roots...)
	return a
}
