package shellcmd

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the longest line that is read, MaxCommands the most simple commands in one, and MaxDepth how deep
// parentheses and braces may be nested.
const (
	MaxBytes    = 16 << 10
	MaxCommands = 64
	MaxDepth    = 64
)

// ErrGate means that a line holds bytes that bash and the parser may read differently. It is never a syntax error.
var ErrGate = errors.New("shellcmd: the line cannot be judged")

func gateError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrGate, fmt.Sprintf(format, args...))
}

// Gate refuses lines by their bytes alone: not UTF-8, too long, with control or format characters, with blanks outside
// ASCII, beginning like an option of bash, or with a continuation anywhere but between two words. The error wraps
// [ErrGate] and says what to write instead.
func Gate(src string) error {
	switch {
	case strings.TrimSpace(src) == "":
		return gateError("it is empty: write a command")
	case len(src) > MaxBytes:
		return gateError("it has %d bytes and %d are read: split it, or put it in a script", len(src), MaxBytes)
	case !utf8.ValidString(src):
		return gateError("it is not valid UTF-8: write it again in UTF-8")
	case src[0] == '-' || src[0] == '+':
		return gateError("it begins with %q, which bash takes for an option: begin with the program's name", src[:1])
	}
	for i, r := range src {
		if !plain(r) {
			return gateError("character %U at byte %d is invisible or a control character: remove it", r, i)
		}
	}
	if depth(src) > MaxDepth {
		return gateError("its parentheses and braces are nested more than %d deep: write it more simply", MaxDepth)
	}
	return continuations(src)
}

// depth is how deep parentheses and braces are nested, quoted ones too.
func depth(src string) (most int) {
	now := 0
	for i := range len(src) {
		switch src[i] {
		case '(', '{':
			now++
			most = max(most, now)
		case ')', '}':
			now = max(now-1, 0)
		}
	}
	return most
}

// plain reports whether r is a character that both parsers read alike: no control but LF and TAB, no format character,
// nothing that looks blank but the ASCII blank.
func plain(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r < 0x20 || r == 0x7f:
		return false
	case r < 0x7f:
		return true
	}
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800, 0x034F, 0x17B4, 0x17B5, 0xFFFC:
		return false // letters and marks that print as nothing
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co)
}

// continuations accepts a backslash at the end of a line only between two words, and neither beside a comment nor
// together with a here-document.
func continuations(src string) error {
	if strings.HasSuffix(src, `\`) {
		return gateError("it ends with a backslash: finish the line")
	}
	if !strings.Contains(src, "\\\n") {
		return nil
	}
	if strings.Contains(src, "<<") {
		return gateError("it has a continuation and a here-document: write the command on one line")
	}
	lines := strings.Split(src, "\n")
	for i, line := range lines[:len(lines)-1] {
		before, ok := strings.CutSuffix(line, `\`)
		if !ok {
			continue
		}
		next := lines[i+1]
		switch {
		case !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\t"):
			return gateError("line %d is continued inside a word: put a blank before the backslash", i+1)
		case strings.TrimSpace(next) == "" || strings.TrimSpace(next) == `\`:
			return gateError("line %d is continued by an empty line: remove the backslash", i+1)
		case strings.Contains(line, "#") || strings.Contains(next, "#"):
			return gateError("line %d is continued beside a comment: put the comment on its own line", i+1)
		}
	}
	return nil
}
