package schema

import (
	"slices"
	"strings"
)

// isAwk is a program that reads its operands and prints: no file or program is named in it. What a > or a | means
// depends on what stands around it, so the program is read in pieces, and where the readers of awk could take a slash for
// one thing or another it is refused.
func isAwk(s string) bool {
	if len(s) > maxScript || containsAny(s, awkNever) {
		return false
	}
	r := awkReader{rest: s, before: ';'}
	for r.rest != "" {
		if !r.piece() {
			return false
		}
	}
	return r.depth == 0
}

// awkNever are words that are refused wherever they stand: what runs, reads, writes or loads, by name or by reference,
// and variables that name the files that are read or hold the environment.
var awkNever = []string{"system", "getline", "close", "fflush", "@", "::", "ENVIRON", "ARGV", "ARGC", "ARGIND", "PROCINFO", "SYMTAB", "FUNCTAB", "/dev/", "/inet"}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// awkWords are the keywords, awkCalls the functions of awk; other names are variables, and not called.
var (
	awkWords  = strings.Fields("BEGIN END if else while for do in next nextfile exit break continue delete return print printf")
	awkCalls  = strings.Fields("length substr index split sub gsub gensub match sprintf tolower toupper int sqrt exp log sin cos atan2 rand srand strftime systime mktime strtonum asort asorti and or xor compl lshift rshift")
	awkOthers = []string{"func", "function", "switch", "case", "default"}
)

// awkReader is what is left of a program, and what stood before it.
type awkReader struct {
	rest   string
	before byte // the kind of the piece before: its character; a value, length, i++, a keyword, a function
	depth  int  // open parentheses
	prints bool // in a print or printf outside parentheses: a > would write
}

func (r *awkReader) piece() bool {
	c := r.rest[0]
	switch {
	case c == ' ' || c == '\t':
		r.rest = r.rest[1:]
		return true
	case c == '"':
		return r.quoted()
	case c == '/' && strings.IndexByte(";{}(,!~&|\n", r.before) >= 0:
		return r.regexp()
	case c == '/' && r.before != 'a' && r.before != ']':
		return false
	case letter(c) || c == '_':
		return r.name()
	case digit(c), c == '.':
		return r.number()
	}
	return r.sign(c)
}

func (r *awkReader) took(n int, kind byte) bool {
	r.rest, r.before = r.rest[n:], kind
	return true
}

func (r *awkReader) quoted() bool {
	for i := 1; i < len(r.rest); i++ {
		switch r.rest[i] {
		case '\\':
			i++
		case '\n':
			return false
		case '"':
			return r.took(i+1, 'a')
		}
	}
	return false
}

// regexp reads up to the next slash. One in brackets ends it for some readers, and not for others.
func (r *awkReader) regexp() bool {
	bracket := false
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '\n', c == '/' && bracket, bracket && (strings.HasPrefix(r.rest[i:], "[.") || strings.HasPrefix(r.rest[i:], "[=")):
			return false
		case c == '\\':
			if i++; i == len(r.rest) || r.rest[i] == '\n' || bracket && !letter(r.rest[i]) {
				return false
			}
		case c == '[' && !bracket:
			bracket = true
			if i+1 < len(r.rest) && r.rest[i+1] == '^' {
				i++
			}
			if i+1 < len(r.rest) && r.rest[i+1] == ']' {
				i++
			}
		case c == '[' && strings.HasPrefix(r.rest[i:], "[:"):
			end := strings.Index(r.rest[i:], ":]")
			if end < 0 {
				return false
			}
			i += end + 1
		case c == ']':
			bracket = false
		case c == '/':
			return r.took(i+1, 'a')
		}
	}
	return false
}

func (r *awkReader) name() bool {
	n := 1
	for n < len(r.rest) && (letter(r.rest[n]) || digit(r.rest[n]) || r.rest[n] == '_') {
		n++
	}
	name, called := r.rest[:n], n < len(r.rest) && r.rest[n] == '('
	switch {
	case slices.Contains(awkWords, name):
		r.prints = r.prints || name == "print" || name == "printf"
		return r.took(n, 'k')
	case slices.Contains(awkCalls, name):
		if name == "length" && !called {
			return r.took(n, 'l')
		}
		return called && r.took(n, 'f')
	}
	return !called && !slices.Contains(awkOthers, name) && r.took(n, 'a')
}

func (r *awkReader) number() bool {
	n := 1
	for n < len(r.rest) && (digit(r.rest[n]) || r.rest[n] == '.') {
		n++
	}
	return (n == len(r.rest) || !letter(r.rest[n])) && r.took(n, 'a')
}

// sign reads an operator or a bracket. A statement ends at ; } or a line break outside parentheses.
func (r *awkReader) sign(c byte) bool {
	two := ""
	if len(r.rest) > 1 {
		two = r.rest[:2]
	}
	switch {
	case two == "||" || two == "&&":
		return r.took(2, c)
	case two == "++" || two == "--":
		return r.took(2, 'i')
	case c == '|' || c == '&' || two == ">>":
		return false
	case c == '>':
		return (!r.prints || r.depth > 0) && r.took(1, c)
	case c == '(':
		r.depth++
		return r.took(1, c)
	case c == ')':
		r.depth--
		return r.depth >= 0 && r.took(1, c)
	case c == ';' || c == '\n' || c == '{' || c == '}':
		if r.depth > 0 && c != ';' || c == '\n' && r.prints && strings.IndexByte("alki)]", r.before) < 0 {
			return false // a line that ends in a comma goes on
		}
		r.prints = r.prints && r.depth > 0
		return r.took(1, c)
	}
	return strings.IndexByte("$,!~=<+-*/%^?:[]", c) >= 0 && r.took(1, c)
}
