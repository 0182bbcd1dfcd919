package charter

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Matches reports whether a request asks for something that m names: one of the intents, one of the classes, one of the
// paths, or a mode at or above Mode. A mode that nobody knows is above every other; no mode asked for is none. What a line
// may change is one of the paths, or a folder that they lie in; what cannot be told may be any.
func (m Match) Matches(a Asked) bool {
	if m.Mode != "" && a.Mode != "" && !m.Mode.Above(a.Mode) {
		return true
	}
	return slices.ContainsFunc(a.Intents, func(i string) bool { return slices.Contains(m.Intents, i) }) ||
		overlap(m.Classes, a.Classes) ||
		slices.ContainsFunc(a.Paths, func(p string) bool {
			return slices.ContainsFunc(m.Paths, func(pattern string) bool { return MatchPath(pattern, p) })
		}) ||
		slices.ContainsFunc(m.Paths, func(pattern string) bool {
			return a.Unlisted || slices.ContainsFunc(a.Named, func(p string) bool { return MatchPath(pattern, p) || holds(p, pattern) })
		})
}

// holds reports whether a folder is one in which everything lies that a pattern matches.
func holds(folder, pattern string) bool {
	folder = path.Clean(folder)
	if i := strings.IndexAny(pattern, "*?["); i >= 0 {
		pattern = path.Dir(pattern[:i] + "x")
	}
	return folder == "." || pattern == folder || strings.HasPrefix(pattern, folder+"/")
}

func overlap[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// MatchPath reports whether a slash path matches a pattern, segment by segment: * and ? and [a-z] as in [path.Match],
// never over a slash, and ** as a whole segment for any number of segments, none included ("deploy/**" matches "deploy").
// The path is cleaned first ("./a//b/../c" is "a/c"). A pattern that [CheckPattern] refuses matches nothing.
func MatchPath(pattern, name string) bool {
	if CheckPattern(pattern) != nil || name == "" {
		return false
	}
	return matchSegments(strings.Split(pattern, "/"), strings.Split(path.Clean(name), "/"))
}

// matchSegments goes through both once; on a mismatch it goes back to the last ** and lets that take one segment more.
// Only the last one matters, so this is quadratic at worst.
func matchSegments(pattern, name []string) bool {
	p, n := 0, 0
	star, taken := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, taken = p, n
			p++
		case p < len(pattern) && matchSegment(pattern[p], name[n]):
			p++
			n++
		case star >= 0:
			taken++
			p, n = star+1, taken
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func matchSegment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// CheckPattern refuses a pattern that [MatchPath] could not use, or that would not mean what it seems to.
func CheckPattern(pattern string) error {
	if pattern == "" {
		return fmt.Errorf("an empty path matches nothing: write ** for every path")
	}
	if strings.ContainsAny(pattern, `{}\`) {
		return fmt.Errorf(`path %q: {a,b} and \ are not known here: write one pattern for each, with slashes`, pattern)
	}
	for i, s := range strings.Split(pattern, "/") {
		if s == "" && i > 0 || s == "." || s == ".." {
			return fmt.Errorf("path %q: leave out empty segments and those of dots", pattern)
		}
		if s != "**" && strings.Contains(s, "**") {
			return fmt.Errorf("path %q: ** stands alone between slashes: write %q", pattern, strings.ReplaceAll(s, "**", "*"))
		}
		if _, err := path.Match(s, ""); err != nil {
			return fmt.Errorf("path %q: %w: close the bracket", pattern, err)
		}
	}
	return nil
}
