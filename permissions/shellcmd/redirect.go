package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reader) redirects(list []*syntax.Redirect) []Redirect {
	if len(list) == 0 {
		return nil
	}
	out := make([]Redirect, len(list))
	for i, n := range list {
		out[i] = r.redirect(n)
	}
	return out
}

func (r *reader) redirect(n *syntax.Redirect) Redirect {
	out := Redirect{Target: r.word(n.Word)}
	if n.N != nil && !isDescriptor(n.N.Value) {
		return out
	}
	toNull := out.Target.Literal() && out.Target.Text == "/dev/null"
	switch n.Op {
	case syntax.DplOut:
		if out.Target.Literal() && isDescriptor(out.Target.Text) {
			out.Kind = RedirectDup
		} else {
			out.Kind = RedirectWrite
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		out.Kind = RedirectWrite
		if toNull {
			out.Kind = RedirectNull
		}
	case syntax.RdrIn:
		if n.N == nil || n.N.Value == "0" {
			out.Kind = RedirectRead
		}
	case syntax.Hdoc:
		r.here(n, &out)
	case syntax.WordHdoc:
		if out.Body = out.Target.Text; out.Target.Literal() && n.N == nil {
			out.Kind, out.Target = RedirectText, Word{}
		}
	case syntax.RdrClob, syntax.RdrInOut:
		out.Kind = RedirectWrite
	}
	return out
}

func isDescriptor(s string) bool { return len(s) == 1 && s[0] >= '0' && s[0] <= '2' }

// here accepts one here-document, with a plain quoted delimiter, whose end both parsers find in the same place.
func (r *reader) here(n *syntax.Redirect, out *Redirect) {
	r.heres++
	out.Target = Word{}
	if n.Hdoc != nil {
		out.Body = r.word(n.Hdoc).Text
	}
	if r.heres > 1 || n.N != nil || len(n.Word.Parts) != 1 {
		return
	}
	quoted, ok := n.Word.Parts[0].(*syntax.SglQuoted)
	if !ok || quoted.Dollar || !isName(quoted.Value) {
		return
	}
	body, ok := bodyOf(r.src, int(n.Word.End().Offset()), quoted.Value)
	if !ok || body != hereBody(n.Hdoc) {
		return
	}
	out.Kind, out.Body = RedirectHere, body
}

// bodyOf finds the lines between the line that ends after at and the first line that is exactly the delimiter.
func bodyOf(src string, at int, delimiter string) (string, bool) {
	if at > len(src) {
		return "", false
	}
	_, rest, ok := strings.Cut(src[at:], "\n")
	if !ok {
		return "", false
	}
	for from := 0; from <= len(rest); {
		line, _, more := strings.Cut(rest[from:], "\n")
		if line == delimiter {
			return rest[:from], true
		}
		if !more {
			return "", false
		}
		from += len(line) + 1
	}
	return "", false
}

func hereBody(w *syntax.Word) string {
	if w == nil || len(w.Parts) == 0 {
		return ""
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok || len(w.Parts) != 1 {
		return "\x00" // no body has it
	}
	return lit.Value
}

func isName(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := lower(s[i])
		if (c < 'a' || c > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}
