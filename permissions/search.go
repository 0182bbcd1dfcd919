package permissions

import (
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// liesBelow reports whether a narrowing rule about reading names something below s.
func (v *view) liesBelow(r Rule, s spot) bool {
	if r.Verdict == Allow || r.Server != "" || r.Args != nil || classOf(r.Tool) != classRead && classOf(r.Tool) != classSearch {
		return false
	}
	if r.Glob != "" {
		return v.globBelow(v.expandHome(r.Glob), s)
	}
	if len(r.Argv) != 1 {
		return false
	}
	to := v.place(v.expandHome(r.Argv[0]), v.tree)
	return within(s.name, to.name) || within(s.real, to.real)
}

// comesBy says what a search would come by below the folder that it begins in: a file that a narrowing rule names, or, where
// it shows content, credentials.
func (v *view) comesBy() string {
	if v.class != classSearch || v.state.Answered {
		return ""
	}
	s := v.place(fixedPart(v.expandHome(v.call.Path)), v.cwd)
	for _, r := range v.rules {
		if v.liesBelow(r, s) {
			v.ruled = r.Source
			return "a search there would come by what " + article(r.Verdict) + " rule names" + from(r) + ": search a smaller folder"
		}
	}
	if v.holdsSecrets(s) {
		return "credentials usually lie there: a leader must say so, or search a smaller folder"
	}
	return ""
}

func article(verdict Verdict) string {
	if verdict == Ask {
		return "an ask"
	}
	return "a deny"
}

// listers are searches that show names, and nothing of any content.
var listers = []string{"Glob", "glob"}

// holdsSecrets reports whether files with a name of credentials lie in a folder itself.
func (v *view) holdsSecrets(s spot) bool {
	g, ok := v.e.resolver.(Globber)
	if !ok || slices.Contains(listers, v.call.Tool) || s.real == "" {
		return false
	}
	for _, pattern := range []string{"/*", "/.*"} {
		found, _ := g.Glob(escapeGlob(s.real) + pattern)
		if slices.ContainsFunc(found, func(p string) bool { return secretName(strings.ToLower(path.Base(p))) }) {
			return true
		}
	}
	return false
}

// globBelow reports whether a pattern of files may match anything below s.
func (v *view) globBelow(glob string, s spot) bool {
	if strings.HasPrefix(glob, "/") {
		return globReaches(glob[1:], strings.TrimPrefix(s.name, "/")) || globReaches(glob[1:], strings.TrimPrefix(s.real, "/"))
	}
	for _, p := range [...][2]string{{s.name, v.tree}, {s.name, v.realTree}, {s.real, v.realTree}} {
		if within(p[0], p[1]) || within(p[1], p[0]) && globReaches(glob, strings.TrimPrefix(p[0][len(p[1]):], "/")) {
			return true
		}
	}
	return false
}

// globReaches reports whether a pattern may match a path below a folder.
func globReaches(glob, folder string) bool {
	if folder == "" {
		return true
	}
	patterns := strings.Split(glob, "/")
	at := map[int]bool{0: true} // the patterns that may be next
	for part := range strings.SplitSeq(folder, "/") {
		next := map[int]bool{}
		for i := range at {
			for ; i < len(patterns) && patterns[i] == "**"; i++ {
				next[i] = true
			}
			if i < len(patterns) {
				fits, err := path.Match(patterns[i], part)
				next[i+1] = next[i+1] || fits || err != nil && patterns[i] == part
			}
		}
		at = next
	}
	for i, may := range at {
		if may && i < len(patterns) {
			return true
		}
	}
	return false
}

// comesUpon reports whether a command that searches the content of folders may come by what a rule about reading names.
func (v *view) comesUpon(r Rule, c *shellcmd.Command) bool {
	if !searchesFolders(c) {
		return false
	}
	found := false
	for w := range v.pathsOf(c) {
		for _, dir := range c.Dirs {
			if s := v.place(v.expandHome(w), dir); w != "" && s.name != "" {
				found = true
				if v.liesBelow(r, s) {
					return true
				}
			}
		}
	}
	return !found && slices.ContainsFunc(c.Dirs, func(d string) bool { return v.liesBelow(r, v.place(d, "")) })
}

// searchesFolders reports whether a command reads the content of all files below a folder.
func searchesFolders(c *shellcmd.Command) bool {
	for i, w := range c.Argv {
		rest := c.Argv[i+1:]
		switch path.Base(w.Text) {
		case "rg", "ag", "ack":
			return true
		case "git":
			return has(rest, "grep")
		case "grep", "egrep", "fgrep", "diff":
			return slices.ContainsFunc(rest, func(w shellcmd.Word) bool {
				short := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
				return short && strings.ContainsAny(w.Text, "rR") || strings.HasPrefix(w.Text, "--rec") || strings.HasPrefix(w.Text, "--deref") || strings.HasSuffix(w.Text, "recurse")
			})
		}
	}
	return false
}
