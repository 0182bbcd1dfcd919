package permissions

import (
	"path"
	"slices"
	"strings"
)

// reach is the worst that the paths in a piece of text lead to.
type reach struct {
	forbidden bool // into swarm's own folders
	above     bool // to a folder that holds one of them
	protected bool
	secret    bool
	whole     bool // to the tree itself, or to a folder that holds it
}

func (r *reach) add(o reach) {
	r.forbidden, r.above, r.protected = r.forbidden || o.forbidden, r.above || o.above, r.protected || o.protected
	r.secret, r.whole = r.secret || o.secret, r.whole || o.whole
}

// reachOf looks at every path that may stand in text, seen from each of dirs. It guesses broadly: it only ever takes
// away.
func (v *view) reachOf(text string, dirs []string) reach {
	var r reach
	if text == "" {
		return r
	}
	if len(dirs) == 0 {
		dirs = nowhere
	}
	key := seenText{text, &dirs[0], len(dirs)}
	again := len(dirs) > 1 || len(text) > 256 // what costs much is remembered
	if r, seen := v.seenTexts[key]; again && seen {
		return r
	}
	text = v.expandVars(text)
	var some [16]string
	tokens, more := pathTokens(some[:0], text)
	r.above = more // too many to look at: as good as anywhere
	for _, token := range tokens {
		token = v.expandHome(token)
		for _, dir := range dirs {
			r.add(v.reachOfToken(token, dir))
			if strings.HasPrefix(token, "/") {
				break
			}
		}
	}
	if again {
		if v.seenTexts == nil {
			v.seenTexts = map[seenText]reach{}
		}
		v.seenTexts[key] = r
	}
	return r
}

// seenText is a text, and the list of folders that it was seen from.
type seenText struct {
	text string
	dirs *string
	n    int
}

// nowhere is seen from no folder.
var nowhere = []string{""}

func (v *view) reachOfToken(token, dir string) reach {
	key := at{dir, token}
	r, ok := v.reaches[key]
	if !ok {
		if v.tokens++; v.tokens > maxLooks {
			return reach{above: true}
		}
		r = v.lookAt(token, dir)
		v.reaches[key] = r
	}
	return r
}

// maxLooks bounds the work of one decision: what is beyond is as good as anywhere.
const maxLooks = 4096

func (v *view) lookAt(token, dir string) reach {
	pattern := wildcards(token)
	if strings.ContainsAny(pattern, "*?[") {
		return v.reachOfGlob(pattern, dir)
	}
	s := v.place(token, dir)
	if s.name == "" {
		return reach{protected: protectedPath(token), secret: v.secretPath(token)}
	}
	return v.reachOfSpot(s)
}

func (v *view) reachOfSpot(s spot) reach {
	forbidden := v.isForbidden(s)
	return reach{
		forbidden: forbidden, above: !forbidden && v.holdsForbidden(s), protected: v.isProtected(s), secret: v.isSecret(s),
		whole: v.tree != "" && (within(s.name, v.tree) || within(s.real, v.realTree)),
	}
}

// reachOfGlob looks at what a pattern matches now, and at what it could match by name.
func (v *view) reachOfGlob(pattern, dir string) reach {
	if !strings.HasPrefix(pattern, "/") {
		pattern = escapeGlob(dir) + "/" + pattern
	}
	var r reach
	if g, ok := v.e.resolver.(Globber); ok {
		matches, _ := g.Glob(pattern)
		for _, m := range matches[:min(len(matches), 256)] {
			r.add(v.reachOfSpot(v.place(m, "")))
		}
	}
	clean := strings.ToLower(path.Clean(pattern))
	for _, f := range v.forbidden {
		inside, holds := patternReaches(clean, f)
		r.forbidden, r.above = r.forbidden || inside, r.above || holds
	}
	for c := range strings.SplitSeq(clean, "/") {
		if strings.ContainsAny(c, "*?[") && strings.Trim(c, "*?[]!^-") != "" {
			r.protected = r.protected || slices.ContainsFunc(protectedNames, func(n string) bool { return globMatch(c, n) })
			r.secret = r.secret || slices.ContainsFunc(secretNames, func(n string) bool { return globMatch(c, n) }) || globMatch(c, ".env")
		}
	}
	if fixed := fixedPart(pattern); fixed != "" {
		s := v.reachOfSpot(v.place(fixed, ""))
		r.add(reach{forbidden: s.forbidden, protected: s.protected, secret: s.secret, whole: v.tree != "" && within(fixed, v.tree)})
	}
	return r
}

// fixedPart is the folder before the first component of a pattern that is not literal.
func fixedPart(pattern string) string {
	i := strings.IndexAny(pattern, "*?[")
	if i < 0 {
		return pattern
	}
	return path.Clean(strings.ReplaceAll(pattern[:strings.LastIndexByte(pattern[:i], '/')+1], `\`, ""))
}

// globMatch is how bash matches one component: a dot at the beginning only by a dot.
func globMatch(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// patternReaches compares a pattern with a folder, component by component.
func patternReaches(pattern, folder string) (inside, holds bool) {
	ps, fs := strings.Split(pattern, "/"), strings.Split(folder, "/")
	for i := range min(len(ps), len(fs)) {
		if ok, err := path.Match(ps[i], fs[i]); !ok && err == nil {
			return false, false
		}
	}
	return len(ps) >= len(fs), len(ps) < len(fs)
}

func escapeGlob(s string) string {
	if !strings.ContainsAny(s, `\*?[`) {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

const maxTokens = 256

// pathTokens lists what in a text may be a path: the text itself, its pieces between the characters that rarely stand in
// one, and what follows a short flag. more is set when there are too many. It appends to an empty list.
func pathTokens(list []string, text string) (tokens []string, more bool) {
	tokens = list
	add := func(s string) {
		switch {
		case s == "" || slices.Contains(tokens, s):
		case len(s) > maxTokenBytes || len(tokens) == maxTokens:
			more = true
		default:
			tokens = append(tokens, s)
		}
	}
	if len(text) <= maxTokenBytes {
		add(text)
	}
	for len(text) > 0 {
		if more && len(tokens) == maxTokens {
			return tokens, true // all that is beyond would only say so again
		}
		n := 0
		for n < len(text) && !notPath(text[n]) {
			n++
		}
		if t := text[:n]; t != "" {
			add(t)
			if i := strings.IndexAny(t, "/~"); i > 0 && strings.IndexByte("-+^%!", t[0]) >= 0 {
				add(t[i:]) // -f/etc/x
			}
			if len(t) > 2 && t[0] == '-' {
				add(t[2:])
			}
		}
		text = text[min(n+1, len(text)):]
	}
	return tokens, more
}

const maxTokenBytes = 4096

func notPath(c byte) bool { return betweenPaths[c] }

// betweenPaths are the bytes that rarely stand in a path.
var betweenPaths = func() (is [256]bool) {
	for c := range is {
		is[c] = c <= ' ' || strings.IndexByte("\"'`;|&<>()=,:@{}", byte(c)) >= 0
	}
	return is
}()
