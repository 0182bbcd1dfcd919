//go:build linux

package shellcmd_test

import (
	"errors"
	"fmt"
	"strings"
)

// ran is one simple command as bash prints it: raw words, in order, and what it reads and writes.
type ran struct {
	assigns, words []string
	targets        []string // of redirections
	bodies         []string // of here-documents
}

// readPrinted lists the simple commands in what bash printed. It knows nothing of shell syntax but the few forms that
// bash prints: where comments, continuations, here-documents and lists end was bash's own decision.
func readPrinted(text string) (out []ran, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(unprinted)
			if !ok {
				panic(r)
			}
			out, err = nil, e
		}
	}()
	p := printed{s: text}
	p.list("")
	return p.out, nil
}

type unprinted struct{ error }

type printed struct {
	s       string
	i       int
	out     []ran
	pending []here // here-documents whose body follows the next end of line
}

type here struct {
	to    int // the command among out
	delim string
	strip bool
}

func (p *printed) fail(what string) {
	panic(unprinted{fmt.Errorf("%w: %s at %d of %q", errors.New("cannot read what bash printed"), what, p.i, p.s)})
}

func (p *printed) at(s string) bool { return strings.HasPrefix(p.s[p.i:], s) }
func (p *printed) end() bool        { return p.i >= len(p.s) }

func (p *printed) blanks() {
	for !p.end() && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
}

// newline passes an end of line, and the bodies of the here-documents that were waiting for it.
func (p *printed) newline() {
	p.i++
	for _, h := range p.pending {
		var body strings.Builder
		for {
			line, _, more := strings.Cut(p.s[p.i:], "\n")
			if !more && p.i+len(line) == len(p.s) && line != h.delim {
				p.fail("a here-document without an end")
			}
			p.i = min(p.i+len(line)+1, len(p.s))
			if line == h.delim || h.strip && strings.TrimLeft(line, "\t") == h.delim {
				break
			}
			body.WriteString(line + "\n")
		}
		p.out[h.to].bodies = append(p.out[h.to].bodies, body.String())
	}
	p.pending = nil
}

// list reads commands up to one of the closing signs, which it passes.
func (p *printed) list(closing string) {
	outer := p.pending
	p.pending = nil
	depth, piped, patterns := 0, false, 0 // patterns: cases around
	for {
		p.blanks()
		switch {
		case p.end():
			if closing != "" || depth != 0 {
				p.fail("an end without " + closing)
			}
			p.pending = outer
			return
		case p.at("\n"):
			p.newline()
			continue
		case patterns > 0 && (p.at(";;&") || p.at(";;") || p.at(";&")):
			for !p.end() && (p.s[p.i] == ';' || p.s[p.i] == '&') {
				p.i++
			}
			p.space()
			if !p.keyword("esac") {
				p.pattern()
			} else {
				patterns--
				p.after()
			}
			piped = false
			continue
		case p.at("||"), p.at("&&"):
			p.i += 2
			piped = false
			continue
		case p.at(";"), p.at("&"), p.at("|"):
			piped = p.at("|")
			p.i++
			continue
		case p.at(")"):
			p.i++
			if depth == 0 {
				if closing != ")" {
					p.fail("a bracket too many")
				}
				if len(p.pending) > 0 {
					p.fail("a here-document that is left")
				}
				p.pending = outer
				return
			}
			depth--
			p.after()
			continue
		case p.at("(("):
			p.arithmetic()
			p.after()
			continue
		case p.at("("):
			p.i++
			depth, piped = depth+1, false
			continue
		}
		patterns += p.command(piped)
		piped = false
	}
}

func (p *printed) space() {
	for !p.end() && (p.s[p.i] == ' ' || p.s[p.i] == '\n') {
		p.i++
	}
}

// keyword passes a reserved word.
func (p *printed) keyword(word string) bool {
	if !p.at(word) || p.i+len(word) < len(p.s) && strings.IndexByte(" \n;&|)", p.s[p.i+len(word)]) < 0 {
		return false
	}
	p.i += len(word)
	return true
}

// command reads what stands where a command may begin. It returns 1 when that opens a case.
func (p *printed) command(piped bool) int {
	for _, word := range []string{"if", "then", "elif", "else", "while", "until", "do", "!", "{"} {
		if p.keyword(word) {
			return 0
		}
	}
	for _, word := range []string{"fi", "done", "}"} {
		if p.keyword(word) {
			p.after()
			return 0
		}
	}
	switch {
	case !piped && p.keyword("time"):
		p.blanks()
		p.keyword("-p")
	case p.keyword("coproc"):
		p.blanks()
		p.word()
	case p.keyword("for"), p.keyword("select"):
		p.head()
	case p.keyword("case"):
		p.blanks()
		p.word()
		p.blanks()
		if !p.keyword("in") {
			p.fail("a case without in")
		}
		p.space()
		if p.keyword("esac") {
			p.after()
			return 0
		}
		p.pattern()
		return 1
	case p.keyword("[["):
		p.conditional()
		p.after()
	default:
		p.simple()
	}
	return 0
}

// head reads a loop's words.
func (p *printed) head() {
	p.blanks()
	if p.at("((") {
		p.arithmetic()
		return
	}
	p.word()
	p.space()
	if p.keyword("in") {
		for p.blanks(); !p.at(";"); p.blanks() {
			p.word()
		}
	}
}

func (p *printed) pattern() {
	for {
		p.space()
		if p.at("|") {
			p.i++
			continue
		}
		if p.at(")") {
			p.i++
			return
		}
		p.word()
	}
}

func (p *printed) conditional() {
	for {
		p.space()
		switch {
		case p.end():
			p.fail("[[ without ]]")
		case p.keyword("]]"):
			return
		case strings.IndexByte("()<>|&;", p.s[p.i]) >= 0:
			p.i++
		default:
			p.word()
		}
	}
}

// arithmetic passes (( )), and what is substituted in it.
func (p *printed) arithmetic() {
	depth := 0
	for !p.end() {
		switch c := p.s[p.i]; {
		case c == '(':
			depth++
			p.i++
		case c == ')':
			depth--
			p.i++
			if depth == 0 {
				return
			}
		default:
			p.piece(c, false)
		}
	}
	p.fail("arithmetic without an end")
}

// sum reports whether $(( here ends with )), as arithmetic does, and no ( ) of a substitution's does.
func (p *printed) sum() bool {
	depth := 0
	for i := p.i + 1; i < len(p.s); i++ {
		switch p.s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 1 {
				return strings.HasPrefix(p.s[i+1:], ")")
			}
		}
	}
	return false
}

// simple reads a simple command, or the head of a function.
func (p *printed) simple() {
	n := len(p.out)
	p.out = append(p.out, ran{})
	p.rest(n)
	c := p.out[n]
	if len(c.words) == 1 && len(c.assigns) == 0 && p.at("()") {
		p.out = append(p.out[:n], p.out[n+1:]...)
		p.i += 2
		return
	}
	if len(c.words)+len(c.assigns)+len(c.targets)+len(p.pending) == 0 && p.i < len(p.s) && p.at("()") {
		p.fail("a function")
	}
}

// after reads the redirections behind a compound command. Bash forgets to print a semicolon between what has a
// here-document and what follows, so other words begin a command.
func (p *printed) after() {
	n, was := len(p.out), len(p.pending)
	p.out = append(p.out, ran{})
	for p.blanks(); !p.end() && p.redirection(n); p.blanks() {
	}
	if len(p.out[n].targets) == 0 && len(p.pending) == was {
		p.out = append(p.out[:n], p.out[n+1:]...)
	}
}

// rest reads words and redirections of the command n.
func (p *printed) rest(n int) {
	for {
		p.blanks()
		if p.end() || strings.IndexByte("\n;|)", p.s[p.i]) >= 0 || p.at("()") || p.at("&") && !p.at("&>") {
			return
		}
		if p.redirection(n) {
			continue
		}
		from := p.i
		word := p.word()
		if p.i == from {
			p.fail("nothing that is known")
		}
		switch c := &p.out[n]; {
		case len(c.words) == 0 && isAssignment(word):
			c.assigns = append(c.assigns, word)
		default:
			c.words = append(c.words, word)
		}
	}
}

// redirection passes one, when it stands here.
func (p *printed) redirection(n int) bool {
	at := p.i
	for at < len(p.s) && p.s[at] >= '0' && p.s[at] <= '9' {
		at++
	}
	if at == p.i && p.at("{") {
		if end := strings.IndexByte(p.s[at:], '}'); end > 0 && isWordName(p.s[at+1:at+end]) {
			at += end + 1
		}
	}
	var op string
	for _, o := range []string{"&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"} {
		if strings.HasPrefix(p.s[at:], o) {
			op = o
			break
		}
	}
	if op == "" || (op == "<" || op == ">") && strings.HasPrefix(p.s[at+1:], "(") {
		return false
	}
	p.i = at + len(op)
	p.blanks()
	from := p.i
	target := p.word()
	if p.i == from {
		p.fail("a redirection to nothing")
	}
	switch {
	case op == "<<" || op == "<<-":
		p.pending = append(p.pending, here{n, strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(target), op == "<<-"})
	case strings.HasSuffix(op, "&") && strings.Trim(target, "0123456789-") == "":
	default:
		p.out[n].targets = append(p.out[n].targets, target)
	}
	return true
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	name = strings.TrimSuffix(name, "+")
	if open := strings.IndexByte(name, '['); open > 0 {
		name = name[:open]
	}
	return ok && isWordName(name)
}

func isWordName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// word reads a raw word.
func (p *printed) word() string {
	from := p.i
	for !p.end() {
		c := p.s[p.i]
		switch {
		case (c == '<' || c == '>') && p.i+1 < len(p.s) && p.s[p.i+1] == '(':
			p.i += 2
			p.list(")")
		case c == '(' && p.i > from && (p.s[p.i-1] == '=' || strings.IndexByte("?*+@!", p.s[p.i-1]) >= 0):
			p.i++
			for p.space(); !p.at(")"); p.space() {
				if p.end() {
					p.fail("a list without an end")
				}
				if p.at("|") || p.at("(") {
					p.i++
					continue
				}
				p.word()
			}
			p.i++
		case strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return p.s[from:p.i]
		default:
			p.piece(c, false)
		}
	}
	return p.s[from:p.i]
}

// piece passes one character, or what it opens.
func (p *printed) piece(c byte, quoted bool) {
	switch {
	case c == '\\':
		p.i += 2
	case c == '\'' && !quoted:
		p.until("'")
	case c == '"':
		p.i++
		for !p.at(`"`) {
			if p.end() {
				p.fail("a quote without an end")
			}
			p.piece(p.s[p.i], true)
		}
		p.i++
	case c == '`':
		p.i++
		for !p.at("`") {
			if p.end() {
				p.fail("a backquote without an end")
			}
			if p.at(`\`) {
				p.i++
			}
			p.i++
		}
		p.i++
	case p.at("$$"): // the process, whatever follows
		p.i += 2
	case p.at("$((") && (!p.at("$(( ") || p.sum()), p.at("$[["):
		p.i++
		p.arithmetic()
	case p.at("$("):
		p.i += 2
		p.list(")")
	case p.at("${"):
		p.i += 2
		for !p.at("}") {
			if p.end() {
				p.fail("a brace without an end")
			}
			p.piece(p.s[p.i], quoted)
		}
		p.i++
	default:
		p.i++
	}
	if p.i > len(p.s) {
		p.fail("a backslash at the end")
	}
}

func (p *printed) until(end string) {
	n := strings.Index(p.s[p.i+1:], end)
	if n < 0 {
		p.fail("no " + end)
	}
	p.i += 1 + n + len(end)
}
