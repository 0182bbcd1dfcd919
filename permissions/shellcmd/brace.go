package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word such as src/*.{ts,tsx} stands for several, and which they are can be told. Only the plainest are read: lists of
// names, in words without quotes, expansions and escapes, after the name of a command. {1..9}, lists in lists and the
// like are left to bash, and the word is unknown.

const maxBraced = 16 // words that one becomes

// braced puts the words of lists in the place of words that have some.
func (r *reader) braced(ws []*syntax.Word) []*syntax.Word {
	for i := 1; i < len(ws); i++ {
		texts := braces(ws[i].Lit())
		if texts == nil {
			continue
		}
		each := make([]*syntax.Word, len(texts))
		for j, text := range texts {
			from, to := ws[i].Pos(), ws[i].End()
			each[j] = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: from, ValueEnd: to, Value: text}}}
		}
		ws = slices.Concat(ws[:i], each, ws[i+1:])
		i += len(each) - 1
	}
	return ws
}

// braces lists what bash makes of a word with lists in braces, in its order. It is nil when the word has none, or is not
// as plain as can be.
func braces(s string) []string {
	if strings.IndexByte(s, '{') < 0 {
		return nil
	}
	out := []string{""}
	for s != "" {
		from := strings.IndexByte(s, '{')
		if from < 0 {
			from = len(s)
		}
		if !isPlain(s[:from], true) {
			return nil
		}
		for i := range out {
			out[i] += s[:from]
		}
		if s = s[from:]; s == "" {
			break
		}
		to := strings.IndexByte(s, '}')
		if to < 0 || !isPlain(s[1:to], false) || strings.Contains(s[1:to], "..") || !strings.Contains(s[1:to], ",") {
			return nil
		}
		list := strings.Split(s[1:to], ",")
		if len(out)*len(list) > maxBraced {
			return nil
		}
		next := make([]string, 0, len(out)*len(list))
		for _, before := range out {
			for _, item := range list {
				next = append(next, before+item)
			}
		}
		out, s = next, s[to+1:]
	}
	if slices.Contains(out, "") || slices.ContainsFunc(out, func(w string) bool { return w[0] == '-' != (out[0][0] == '-') }) {
		return nil
	}
	return out
}

// isPlain reports whether bash gives no byte of s a meaning but for the globs * and ?.
func isPlain(s string, outside bool) bool {
	for i := range len(s) {
		c := lower(s[i])
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte("_-./:@%+,*?", c) < 0 && !(c == '=' && outside) {
			return false
		}
	}
	return true
}
