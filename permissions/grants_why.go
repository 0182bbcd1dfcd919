package permissions

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// whyIdle says why a grant that is about these words lets them pass nowhere, or not here: it is used up, has expired, or is
// for another folder. It is empty for a grant that has nothing to do with them, or with this tree.
func (v *view) whyIdle(g Grant, argv []shellcmd.Word) string {
	if g.ID == "" || absolute(g.Root) == "" || absolute(g.Root) != v.tree || !inner(g.Tree) || !v.isAbout(g, argv) {
		return ""
	}
	switch {
	case g.MaxUses > 0 && g.Uses >= g.MaxUses:
		return fmt.Sprintf("%s is used up (%d of %d)", called(g), g.Uses, g.MaxUses)
	case !g.Live(v.state.Now):
		return called(g) + " has expired"
	}
	return onlyThere(g, "")
}

// isAbout reports whether a grant covers these words, wherever they run.
func (v *view) isAbout(g Grant, argv []shellcmd.Word) bool {
	if len(g.Argv) > 0 {
		return g.Intent == "" && literal(argv) && slices.Equal(texts(argv), g.Argv)
	}
	in, _, known := v.e.tables.intentOf(g)
	if !known {
		return false
	}
	use, err := in.Match(argv)
	return err == nil && use.Inner == nil
}

// onlyThere says where a grant counts, and why not here; of one that counts everywhere it is why alone.
func onlyThere(g Grant, why string) string {
	switch where := called(g) + " covers only ./" + path.Clean(g.Tree); {
	case path.Clean(g.Tree) == ".":
		return why
	case why != "":
		return where + " (" + why + ")"
	default:
		return where
	}
}

// called is how people know a grant.
func called(g Grant) string {
	if len(g.Argv) > 0 {
		return "the grant for exactly this command"
	}
	return fmt.Sprintf("the grant %q", cmp.Or(g.Prompt, g.Intent))
}
