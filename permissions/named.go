package permissions

import (
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// maxNamed is how many names of one line are listed.
const maxNamed = 1024

// Named lists what a Bash line may change: the names in the commands that no intent covers and that do more than read, and
// where it writes to, as clean slash paths relative to the top of the working tree; "." is all of it, and what lies outside
// is left out. It guesses broadly, as [Kinds] does, and does not know what lies on the disk. Cwd is the call's directory,
// relative to the tree, or absolute; roots are the absolute paths by which the tree is known, if they are. When unlisted is
// set it may change files that cannot be told. Other tools than Bash name nothing here.
func Named(tool, input, cwd string, roots ...string) (names []string, unlisted bool) {
	if classOf(tool) != classRun {
		return nil, false
	}
	state := anywhere()
	v := kindsEngine().look(Call{Tool: "Bash", Command: input, Cwd: treePath(state.Tree, cwd, roots)}, state)
	line, err := shellcmd.Parse(input, v.cwd)
	if err != nil {
		return nil, true
	}
	s := v.scan(line)
	n := lineNames{tree: state.Tree, roots: roots, dirs: s.dirs, unlisted: s.blind || s.fed || v.cwd == ""}
	for _, t := range s.files {
		n.text(t)
	}
	for _, c := range s.all {
		if cv := v.command(c); cv.Verdict == Allow {
			continue
		}
		for _, w := range c.Argv {
			n.word(w)
		}
		n.unlisted = n.unlisted || slices.Contains([]string{"xargs", "parallel"}, programName(c)) // others' output is its words
	}
	for _, t := range line.Texts {
		n.text(t)
	}
	return n.names, n.unlisted
}

// treePath is a path of the real tree as one of the tree that stands for it.
func treePath(tree, p string, roots []string) string {
	for _, root := range roots {
		if within(root, p) {
			return path.Join(tree, p[len(root):])
		}
	}
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(tree, p)
}

// lineNames are the names that were found so far.
type lineNames struct {
	tree     string
	roots    []string
	dirs     []string // from which relative names may be meant
	names    []string
	unlisted bool
}

// word takes one word of a command. Of a pattern it is the folder that all it matches lies in.
func (n *lineNames) word(w shellcmd.Word) {
	switch {
	case w.Unknown:
		n.unlisted = true
	case w.Pattern != "":
		n.text(fixedPart(w.Pattern))
	default:
		n.text(w.Text)
	}
}

func (n *lineNames) text(text string) {
	if strings.ContainsAny(text, "$`") {
		n.unlisted = true
	}
	tokens, more := pathTokens(nil, text)
	n.unlisted = n.unlisted || more
	for _, t := range tokens {
		if strings.ContainsAny(t, "*?[") {
			t = fixedPart(t)
		}
		for _, dir := range n.dirs {
			n.add(t, dir)
		}
		if len(n.dirs) == 0 {
			n.add(t, n.tree)
		}
	}
}

// add lists what a token names, seen from a directory.
func (n *lineNames) add(token, dir string) {
	p := path.Join(dir, token)
	if path.IsAbs(token) || strings.HasPrefix(token, "~") {
		p = treePath(n.tree, token, n.roots)
	}
	name := "."
	switch {
	case within(n.tree, p) && p != n.tree:
		name = p[len(n.tree)+1:]
	case p != n.tree && !within(p, n.tree) && !slices.ContainsFunc(n.roots, func(root string) bool { return within(p, root) }):
		return
	}
	switch {
	case slices.Contains(n.names, name):
	case len(n.names) == maxNamed:
		n.unlisted = true
	default:
		n.names = append(n.names, name)
	}
}
