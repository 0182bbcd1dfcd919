package plans

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns one line of foreign text so that nothing in it can hide, move the cursor or change a terminal.
// It is applied once to each piece of text that others wrote, at the exit: the moment it is printed.
//
// What cannot be seen, or does not look like what it is, is written as a marker: `<1B>` for a control character or a
// byte that is no UTF-8, `<U+202E>` for any other character. That are all control characters (line feed and tab too),
// format characters (bidi controls, zero width, tags), variation selectors, line and paragraph separators, private and
// unassigned characters, fillers, blanks of unusual width, combining marks that follow nothing, and those after the
// fourth in a row. The no-break spaces U+00A0 and U+202F and the ideographic space U+3000 pass: they are drawn as the
// blanks that they are.
//
// A marker cannot be forged: where the text itself has the characters of one, its `<` is written `<3C>`. So different
// texts never look the same, and the text can be read back from what is shown. Text without markers comes back
// unchanged; a second pass is harmless and shows (`<3C>1B>`).
func Visible(s string) string { return visible(s, false) }

// VisibleLine is [Visible], for callers that want to say that they print one line.
func VisibleLine(s string) string { return visible(s, false) }

// VisibleText is [Visible] for text of several lines: line feeds and tabs pass. A carriage return is written `<0D>`,
// also before a line feed.
func VisibleText(s string) string { return visible(s, true) }

// maxMarks is how many combining marks may stand on one character. No living script needs more; more draw over the
// lines above and below.
const maxMarks = 4

func visible(s string, text bool) string {
	if isPlainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	scan := scanner{text: text}
	for i := 0; i < len(s); {
		size, hidden := scan.next(s[i:])
		switch {
		case hidden:
			b.WriteString(marker(s[i : i+size]))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// isPlainASCII reports whether s is printable ASCII without the first character of a marker: the common case.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '<' {
			return false
		}
	}
	return true
}

// scanner decides character by character what has to become a marker.
type scanner struct {
	text  bool // LF and TAB pass
	based bool // a combining mark may stand on what came before
	marks int  // that stand there already
}

// next looks at the first character of s: how many bytes it has, and whether it has to become a marker.
func (c *scanner) next(s string) (size int, hidden bool) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1, c.text && (r == '\n' || r == '\t'):
		hidden = !c.text || (r != '\n' && r != '\t')
		c.based = false
	case r == '<' && startsMarker(s):
		hidden, c.based = true, false
	case unicode.In(r, unicode.Mn, unicode.Me) && !invisible(r):
		c.marks++
		hidden = !c.based || c.marks > maxMarks
	case escaped(r):
		hidden, c.based = true, false
	default:
		c.based, c.marks = !unicode.IsSpace(r), 0
	}
	return size, hidden
}

// marker writes the one character (or bad byte) ch so that it can be seen.
func marker(ch string) string {
	r, size := utf8.DecodeRuneInString(ch)
	if size == 1 {
		return fmt.Sprintf("<%02X>", ch[0])
	}
	return fmt.Sprintf("<U+%04X>", r)
}

// startsMarker reports whether s begins with the characters of a marker.
func startsMarker(s string) bool {
	end := strings.IndexByte(s[:min(len(s), len("<U+10FFFF>"))], '>')
	if end < 0 {
		return false
	}
	digits, isRune := strings.CutPrefix(s[1:end], "U+")
	if strings.Trim(digits, "0123456789ABCDEF") != "" {
		return false
	}
	return len(digits) == 2 && !isRune || len(digits) >= 4 && isRune
}

// escaped reports whether r, wherever it stands, is shown as a marker.
func escaped(r rune) bool {
	switch r {
	case ' ', '\u00a0', '\u202f', '\u3000':
		return false
	}
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) || invisible(r)
}

// invisible reports whether r is drawn as nothing, or as a blank that is none.
func invisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return r == '\u2800' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
