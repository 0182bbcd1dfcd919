package schema

import "strings"

// isSed is a script that only prints: every command and address of sed, but those that read or write a file (r R w W, and
// the w of s) or run something (e, and the e of s). Where sed's dialects end a piece in different places it is not one.
func isSed(s string) bool {
	r := sedReader{s}
	return len(s) <= maxScript && r.script()
}

// maxScript is the most bytes that are read of a script.
const maxScript = 4096

// sedReader is what is left of a script.
type sedReader struct{ rest string }

func (r *sedReader) script() bool {
	for r.skip(" \t\n;"); r.rest != ""; r.skip(" \t\n;") {
		if !r.command() {
			return false
		}
	}
	return true
}

func (r *sedReader) skip(chars string) { r.rest = strings.TrimLeft(r.rest, chars) }

// next takes one byte; 0 at the end.
func (r *sedReader) next() byte {
	if r.rest == "" {
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

func (r *sedReader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *sedReader) command() bool {
	if !r.addresses() {
		return false
	}
	switch c := r.next(); c {
	case '{', '}':
		return true // what follows is another command
	case 'p', 'P', '=', 'd', 'D', 'n', 'N', 'g', 'G', 'h', 'H', 'x', 'z', 'F':
		return r.ends()
	case 'q', 'Q', 'l':
		r.digits()
		return r.ends()
	case 's':
		return r.substitute()
	case 'y':
		return r.pair() && r.ends()
	case ':', 'b', 't', 'T':
		r.skip(" ")
		n := 0
		for n < len(r.rest) && (letter(r.rest[n]) || digit(r.rest[n]) || r.rest[n] == '_') {
			n++
		}
		label := n > 0
		r.rest = r.rest[n:]
		return (label || c != ':') && r.ends()
	}
	return false
}

// ends reports whether a command ends here: before another a ; a line break or a } stands.
func (r *sedReader) ends() bool {
	r.skip(" \t")
	return r.rest == "" || strings.IndexByte(";\n}", r.rest[0]) >= 0
}

func (r *sedReader) digits() bool {
	n := 0
	for n < len(r.rest) && digit(r.rest[n]) {
		n++
	}
	r.rest = r.rest[n:]
	return n > 0 && n <= 9
}

// addresses reads none, one or two, and a !.
func (r *sedReader) addresses() bool {
	first, ok := r.address()
	if !ok {
		return false
	}
	if r.skip(" "); first && r.take(',') {
		r.skip(" ")
		if r.take('+') || r.take('~') {
			ok = r.digits()
		} else {
			var second bool
			second, ok = r.address()
			ok = ok && second
		}
	}
	for r.skip(" "); r.take('!'); r.skip(" ") {
	}
	return ok
}

// address reports whether there is one, and whether it is plain.
func (r *sedReader) address() (there, ok bool) {
	switch {
	case r.rest == "":
		return false, true
	case digit(r.rest[0]):
		return true, r.digits() && (!r.take('~') || r.digits())
	case r.take('$'):
		return true, true
	case r.take('/'):
		ok = r.until('/', true)
	case r.take('\\'):
		c := r.next()
		ok = delimits(c) && r.until(c, true)
	default:
		return false, true
	}
	for r.take('I') || r.take('M') {
	}
	return true, ok
}

// delimits accepts what every sed takes for a delimiter, and nothing else in a script.
func delimits(c byte) bool { return c != 0 && strings.IndexByte("/|,:;#@%!~_^+=&\"'", c) >= 0 }

// until reads up to a delimiter. In a regular expression that stands in brackets: the dialects do not agree on it there.
func (r *sedReader) until(end byte, regexp bool) bool {
	bracket := false
	for r.rest != "" {
		c := r.next()
		switch {
		case c == '\n':
			return false
		case c == '\\':
			if c := r.next(); c == 0 || c == '\n' || bracket && (c == end || c == ']') {
				return false
			}
		case c == end && !bracket:
			return true
		case c == end:
			return false
		case c == '[' && regexp && !bracket:
			bracket = true
			r.take('^')
			r.take(']')
		case c == '[' && bracket && r.rest != "" && strings.IndexByte(":.=", r.rest[0]) >= 0:
			kind := r.next()
			_, rest, ok := strings.Cut(r.rest, string(kind)+"]")
			if !ok || strings.IndexByte(r.rest[:len(r.rest)-len(rest)], end) >= 0 {
				return false
			}
			r.rest = rest
		case c == ']':
			bracket = false
		}
	}
	return false
}

func (r *sedReader) pair() bool {
	c := r.next()
	return delimits(c) && r.until(c, false) && r.until(c, false)
}

// substitute reads s/// with flags that only print.
func (r *sedReader) substitute() bool {
	c := r.next()
	if !delimits(c) || !r.until(c, true) || !r.until(c, false) {
		return false
	}
	for r.rest != "" && (digit(r.rest[0]) || strings.IndexByte("gpiIM", r.rest[0]) >= 0) {
		r.next()
	}
	return r.ends()
}
