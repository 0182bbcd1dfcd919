package permissions

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// confined checks the paths of a command that only reads, and the repository that it depends on.
func (v *view) confined(use schema.Use, name string, dirs []string) error {
	for _, p := range use.Paths {
		if why := v.path(p, dirs, v.tree, v.realTree); why != "" {
			return errors.New(why)
		}
	}
	if err := v.nothingObeyed(use, name, dirs); err != nil {
		return err
	}
	for _, d := range dirs {
		if v.holdsForbidden(v.place(d, "")) && !slices.Contains([]string{"echo", "pwd", "true", "false"}, name) {
			return errors.New("swarm's own state lies below this folder")
		}
		if use.Git {
			if err := v.repository(d, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothingObeyed checks that no file lies about that would make a program which only answers start something.
func (v *view) nothingObeyed(use schema.Use, name string, dirs []string) error {
	if use.Absent == "" {
		return nil
	}
	for _, dir := range v.foldersAbove(schema.Use{}, dirs) {
		for file := range strings.FieldsSeq(use.Absent) {
			if v.digest(path.Join(dir, file)) != "" {
				return errors.New(name + " obeys " + file + ", which may name a program")
			}
		}
	}
	return nil
}

// repository checks that git would start nothing that the repository names.
func (v *view) repository(dir, name string) error {
	info, err := v.e.resolver.GitConfig(v.place(dir, "").real)
	switch {
	case err != nil:
		return errors.New("the repository's git configuration cannot be read")
	case len(info.ExecKeys) > 0:
		return errors.New("the repository's git configuration runs programs (" + strings.Join(info.ExecKeys, ", ") + ")")
	case !info.Repository && name == "git":
		return errors.New("this is not a git repository")
	}
	return nil
}

// path says why a path of a command may not be read from any of dirs: it must stay below name (real, with links
// followed), and content must not be a usual place of credentials.
func (v *view) path(p schema.Path, dirs []string, name, real string) string {
	if p.Reach == schema.Select {
		if picksSecrets(p.Text) {
			return reasonSecret
		}
		return ""
	}
	if p.Word.Unknown || p.Word.Status {
		return p.Word.Source + " can only be told by running it"
	}
	for _, d := range dirs {
		var why string
		if p.Word.Pattern != "" {
			why = v.globPath(p, d, name, real)
		} else {
			why = v.plainPath(p, d, name, real)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func (v *view) plainPath(p schema.Path, dir, name, real string) string {
	text := p.Text
	if p.Word.Tilde {
		text = v.expandHome(text)
	}
	s := v.place(text, dir)
	switch {
	case v.isPlan(s):
		return ""
	case p.Reach == schema.Run && v.isPython(s):
		return ""
	case p.Reach == schema.Write && v.isProtected(s):
		return reasonProtected
	case p.Reach != schema.Meta && v.secretAt(text, dir, s), p.Reach == schema.Rev && picksSecrets(pathspec(text)):
		return reasonSecret
	case !v.inFolder(s, name, real):
		return p.Word.Source + " is outside " + name
	case p.Reach != schema.Meta && v.holdsForbidden(s):
		return "swarm's own state lies below " + p.Word.Source
	case p.Reach == schema.File && v.isFolder(s):
		return p.Word.Source + " is a folder, in which links would be followed: name files"
	}
	return ""
}

// secretAt is isSecret of the spot s of text, which most calls have looked at before.
func (v *view) secretAt(text, dir string, s spot) bool {
	if r, ok := v.reaches[at{dir, text}]; ok && s.name != "" && !strings.ContainsAny(text, "*?[$") {
		return r.secret
	}
	return v.isSecret(s)
}

// isPython reports whether s is the link to an interpreter that a virtual environment of the tree has.
func (v *view) isPython(s spot) bool {
	inTree := within(v.tree, s.name) || within(v.realTree, s.name)
	return inTree && !s.unclear && pythonName.MatchString(path.Base(s.name)) && pythonName.MatchString(path.Base(s.real)) && (within("/usr", s.real) || within(v.home, s.real))
}

var pythonName = regexp.MustCompile(`^python[0-9.]*$`)

// isFolder reports whether anything lies below s.
func (v *view) isFolder(s spot) bool {
	g, ok := v.e.resolver.(Globber)
	if !ok {
		return true
	}
	found, err := g.Glob(escapeGlob(s.real) + "/*")
	return err != nil || len(found) > 0
}

// globPath checks the folder that a pattern starts from, and everything that it matches now.
func (v *view) globPath(p schema.Path, dir, name, real string) string {
	pattern := p.Word.Pattern
	if p.Word.Tilde || p.Text != p.Word.Text || strings.HasPrefix(pattern, "~") || p.Reach == schema.Rev && strings.Contains(pattern, ":") {
		return p.Word.Source + " can only be told by running it"
	}
	if slices.ContainsFunc(strings.Split(pattern, "/"), climbs) {
		return p.Word.Source + " may climb out of its folder"
	}
	if !strings.HasPrefix(pattern, "/") {
		pattern = escapeGlob(dir) + "/" + pattern
	}
	if !v.inFolder(v.place(fixedPart(pattern), ""), name, real) {
		return p.Word.Source + " is outside " + name
	}
	g, ok := v.e.resolver.(Globber)
	if !ok {
		return p.Word.Source + " can only be told by running it"
	}
	matches, err := g.Glob(anyLength(pattern))
	if err != nil || len(matches) > maxMatches {
		return p.Word.Source + " matches too much to look at"
	}
	for _, m := range matches {
		if flagLike(p.Word.Pattern, m) {
			return p.Word.Source + " matches " + path.Base(m) + ", which would be read as a flag: write ./" + p.Word.Source
		}
		if why := v.plainPath(schema.Path{Word: shellcmd.Word{Source: m}, Text: m, Reach: p.Reach}, dir, name, real); why != "" {
			return why
		}
	}
	if r := v.reachOfGlob(pattern, dir); p.Reach != schema.Meta && (r.secret || picksSecrets(below(pattern, v.tree, v.realTree))) {
		return reasonSecret
	}
	return ""
}

const maxMatches = 1000

// flagLike reports whether a pattern without a folder in front matches a name that a program takes for a flag.
func flagLike(pattern, match string) bool {
	return strings.IndexByte("*?[", pattern[0]) >= 0 && path.Base(firstBelow(pattern, match))[0] == '-'
}

// firstBelow is the first folder or file of a match that the pattern names.
func firstBelow(pattern, match string) string {
	for range strings.Count(strings.TrimSuffix(pattern, "/"), "/") {
		match = path.Dir(match)
	}
	return match
}

// anyLength makes a * of every ? that is one: how many bytes it stands for depends on the locale.
func anyLength(pattern string) string {
	b := []byte(pattern)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '?':
			b[i] = '*'
		}
	}
	return string(b)
}

// pathspec is the path in a revision with one, or in git's pattern of paths; empty for one that leaves paths out.
func pathspec(s string) string {
	if magic, ok := strings.CutPrefix(s, ":("); ok {
		words, rest, _ := strings.Cut(magic, ")")
		if strings.Contains(words, "exclude") {
			return ""
		}
		return rest
	}
	if strings.HasPrefix(s, ":!") || strings.HasPrefix(s, ":^") {
		return ""
	}
	return strings.ReplaceAll(s, ":", "/")
}

// climbs reports whether one component of a pattern is or may match "..".
func climbs(c string) bool { return c == ".." || globMatch(c, "..") }

func (v *view) pathsWithin(use schema.Use, dirs []string, name, real string) string {
	for _, p := range use.Paths {
		if why := v.path(p, dirs, name, real); why != "" {
			return why
		}
	}
	return ""
}
