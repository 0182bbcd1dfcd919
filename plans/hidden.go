package plans

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HiddenChar is one character of a plan that cannot be seen, or does not look like what it is.
type HiddenChar struct {
	Line int    // 1-based
	Rune rune   // utf8.RuneError for a byte that is no UTF-8
	Name string // as in its marker, without the brackets: "U+202E", "1B"
}

// MaxHidden is how many characters [Hidden] lists at most; [HiddenCount] counts them all.
const MaxHidden = 1000

// Hidden lists the first [MaxHidden] hidden characters of content, in order.
//
// It leaves out what [VisibleText] marks but ordinary writing needs: a byte order mark at the start, a carriage return
// before a line feed, the selectors and joiners of emoji, joiners inside words of scripts that use them, and the `<` of
// a marker that the author typed.
func Hidden(content []byte) []HiddenChar {
	var list []HiddenChar
	eachHidden(string(content), func(h HiddenChar) bool {
		list = append(list, h)
		return len(list) < MaxHidden
	})
	return list
}

// HiddenCount is how many hidden characters s has, by the rules of [Hidden].
func HiddenCount(s string) int {
	n := 0
	eachHidden(s, func(HiddenChar) bool { n++; return true })
	return n
}

func eachHidden(s string, yield func(HiddenChar) bool) {
	if isPlainASCII(s) {
		return
	}
	scan := scanner{text: true}
	line, before := 1, rune(0) // before: the last character that is no selector
	for i := 0; i < len(s); {
		size, hidden := scan.next(s[i:])
		ch, rest := s[i:i+size], s[i+size:]
		r, _ := utf8.DecodeRuneInString(ch)
		if hidden && r != '<' && !(i == 0 && r == '\ufeff') && !ordinary(before, r, rest) {
			if !yield(HiddenChar{Line: line, Rune: r, Name: strings.Trim(marker(ch), "<>")}) {
				return
			}
		}
		if r == '\n' {
			line++
		}
		if !unicode.Is(unicode.Variation_Selector, r) {
			before = r
		}
		i += size
	}
}

// ordinary reports whether r, between the character before it and the text after it, is part of ordinary writing.
func ordinary(before, r rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '\r':
		return after == '\n'
	case '\ufe0e', '\ufe0f':
		return pictograph(before) || keycap(before)
	case '\u20e3':
		return keycap(before)
	case '\u200d':
		return pictograph(before) && pictograph(after) || joins(before) && joins(after)
	case '\u200c':
		return joins(before) && joins(after)
	}
	return false
}

func keycap(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

func pictograph(r rune) bool {
	return r >= '\u00a9' && unicode.In(r, unicode.So, unicode.Sk, unicode.Sm) || r == '\u203c' || r == '\u2049' || r == '\u3030'
}

// joins reports whether r is of a script that is written with zero width joiners and non-joiners.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}
