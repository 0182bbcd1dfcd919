package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordReader puts one word together.
type wordReader struct {
	text, pattern strings.Builder
	glob, brace   bool
	printed       bool // it holds what admitted commands print
	w             Word
	r             *reader
}

func (r *reader) word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	if text, ok := plainText(w); ok {
		return Word{Text: text, Source: r.source(w)}
	}
	b := wordReader{r: r}
	parts := joined(w.Parts)
	for i, part := range parts {
		b.part(part, i == 0, i == len(parts)-1)
	}
	b.w.Text, b.w.Source = b.text.String(), r.source(w)
	if b.brace && (strings.Contains(b.w.Text, ",") || strings.Contains(b.w.Text, "..")) {
		b.w.Unknown = true // {a,b} and {1..9}: a list of words
	}
	if b.glob {
		b.w.Pattern = b.pattern.String()
	}
	if b.printed {
		b.w.Printed, b.w.Unknown = !b.w.Unknown && !b.w.Tilde && !b.glob, true
	}
	return b.w
}

// plainText is the text of a word of one piece in which nothing needs to be read: most words.
func plainText(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		return part.Value, !strings.ContainsAny(part.Value, "\\[*?~{$`")
	case *syntax.SglQuoted:
		return part.Value, !part.Dollar
	case *syntax.DblQuoted:
		if lit, ok := only(part.Parts); ok && !part.Dollar {
			return lit.Value, !strings.ContainsAny(lit.Value, "\\$`")
		}
	}
	return "", false
}

// only is the one literal that parts are.
func only(parts []syntax.WordPart) (*syntax.Lit, bool) {
	if len(parts) != 1 {
		return nil, false
	}
	lit, ok := parts[0].(*syntax.Lit)
	return lit, ok
}

// joined puts literals together that the parser cut at a dollar sign.
func joined(parts []syntax.WordPart) []syntax.WordPart {
	if !slices.ContainsFunc(parts, isLit) || len(parts) == 1 {
		return parts
	}
	out := make([]syntax.WordPart, 0, len(parts))
	for _, p := range parts {
		lit, ok := p.(*syntax.Lit)
		if n := len(out); ok && n > 0 {
			if before, ok := out[n-1].(*syntax.Lit); ok {
				out[n-1] = &syntax.Lit{Value: before.Value + lit.Value}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

func isLit(p syntax.WordPart) bool {
	_, ok := p.(*syntax.Lit)
	return ok
}

func (r *reader) words(ws []*syntax.Word) []Word {
	if strings.IndexByte(r.src, '{') >= 0 {
		ws = r.braced(ws)
	}
	out := r.take(len(ws))
	for i, w := range ws {
		out[i] = r.word(w)
	}
	return out
}

// take returns room for n words. The commands of a line have theirs side by side.
func (r *reader) take(n int) []Word {
	if n > len(r.room) {
		r.room = make([]Word, max(n, min(64, 2+strings.Count(r.src, " "))))
	}
	out := r.room[:n:n]
	r.room = r.room[n:]
	return out
}

func (b *wordReader) part(part syntax.WordPart, first, last bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		b.bare(part.Value, first, last)
	case *syntax.SglQuoted:
		if part.Dollar {
			b.w.Unknown = true
			b.literal(decodeDollar(part.Value))
			return
		}
		b.literal(part.Value)
	case *syntax.DblQuoted:
		if part.Dollar {
			b.w.Unknown = true // a translated string
		}
		parts := joined(part.Parts)
		for i, p := range parts {
			b.quoted(p, i == len(parts)-1)
		}
	case *syntax.ExtGlob:
		b.unknown()
	default:
		b.expansion(part, false)
	}
}

func (b *wordReader) quoted(part syntax.WordPart, last bool) {
	if lit, ok := part.(*syntax.Lit); ok {
		b.doubleQuoted(lit.Value, last)
		return
	}
	b.expansion(part, true)
}

func (b *wordReader) expansion(part syntax.WordPart, quoted bool) {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		b.substitution(part)
		return
	}
	if b.r.admitted[p] && shownVar(p) {
		b.printed = true
		b.text.WriteString("${" + p.Param.Value + "}")
		b.pattern.WriteByte('*')
		return
	}
	if v, ok := b.r.vars[p.Param.Value]; ok && b.r.admitted[p] && b.variable(v, quoted) {
		return
	}
	if p.Short && p.Param.Value == "?" && p.Index == nil {
		b.w.Status = true
		b.literal("0")
		return
	}
	if p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil && !p.Excl && !p.Length {
		b.w.Unknown = true
		b.literal("${" + p.Param.Value + "}")
		return
	}
	if p.Exp != nil { // ${HOME:-x}: the name is as good a guess as any
		b.w.Unknown = true
		b.literal("${" + p.Param.Value + "}")
		return
	}
	b.unknown()
}

// variable puts in what a loop's variable is in this round. Without quotes its value must be one that bash leaves whole.
func (b *wordReader) variable(v Word, quoted bool) bool {
	switch {
	case v.Literal() && (quoted || isWhole(v.Text)):
		b.literal(v.Text)
	case v.Pattern != "" && quoted:
		b.glob = true
		b.text.WriteString(v.Text)
		b.pattern.WriteString(v.Pattern)
	default:
		return false
	}
	return true
}

// isWhole reports whether bash neither splits s nor expands it further.
func isWhole(s string) bool {
	for i := range len(s) {
		c := lower(s[i])
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte("_-./:@%+=,", c) < 0 {
			return false
		}
	}
	return s != ""
}

// substitution puts in the text of a here-document, or stands for what admitted commands print.
func (b *wordReader) substitution(part syntax.WordPart) {
	cs, ok := part.(*syntax.CmdSubst)
	if !ok || !b.r.admitted[cs] {
		b.unknown()
		return
	}
	if text, ok := b.r.hereText(cs); ok {
		b.literal(text)
		return
	}
	b.printed = true
	b.text.WriteByte('*')
	b.pattern.WriteByte('*')
}

func (b *wordReader) unknown() {
	b.w.Unknown = true
	b.text.WriteByte('*')
	b.pattern.WriteByte('*')
}

func (b *wordReader) literal(s string) {
	b.text.WriteString(s)
	for i := range len(s) {
		b.escaped(s[i])
	}
}

func (b *wordReader) escaped(c byte) {
	if strings.IndexByte(`*?[]\`, c) >= 0 {
		b.pattern.WriteByte('\\')
	}
	b.pattern.WriteByte(c)
}

func (b *wordReader) char(c byte) {
	b.text.WriteByte(c)
	b.escaped(c)
}

// bare reads an unquoted literal.
func (b *wordReader) bare(s string, first, last bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '\\':
			i++
			if i >= len(s) || s[i] == '\n' {
				b.w.Unknown = true
				continue
			}
			b.char(s[i])
			continue
		case '[':
			b.w.Unknown = b.w.Unknown || s != "[" || !first || !last // classes depend on the locale
		case '*', '?':
			b.glob = true
			b.text.WriteByte(c)
			b.pattern.WriteByte(c)
			continue
		case '~':
			b.tilde(s, i, first, last)
		case '{':
			b.brace = true
		case '$':
			b.dollar(i == len(s)-1 && last)
		case '`':
			b.w.Unknown = true
		}
		b.char(c)
	}
}

// tilde marks a home directory. ~user, ~+ and a ~ in the value of something that looks like an assignment are unknown.
func (b *wordReader) tilde(s string, i int, first, last bool) {
	alone := i == len(s)-1 && last
	switch {
	case first && i == 0 && (alone || i+1 < len(s) && s[i+1] == '/'):
		b.w.Tilde = true
	case first && i == 0:
		b.w.Unknown = true
	case i > 0 && (s[i-1] == '=' || s[i-1] == ':'), i == 0:
		b.w.Unknown = true
	}
}

// dollar accepts a $ that stands alone; any other one is an expansion that the parser did not make a node of.
func (b *wordReader) dollar(alone bool) {
	if !alone {
		b.w.Unknown = true
	}
}

// doubleQuoted reads a literal between double quotes, where a backslash quotes only $, `, " and itself.
func (b *wordReader) doubleQuoted(s string, last bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
				b.char(s[i])
				continue
			case '\n':
				b.w.Unknown = true
			}
		}
		if c == '$' {
			b.dollar(i == len(s)-1 && last || i+1 < len(s) && strings.IndexByte(" |)/", s[i+1]) >= 0)
		}
		if c == '`' {
			b.w.Unknown = true
		}
		b.char(c)
	}
}

// decodeDollar reads the body of $'…' well enough to see a name in it.
func decodeDollar(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c == 'x' || c == 'u' || c == 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			v, used := number(s[i+1:], n, 16)
			out.WriteRune(rune(v))
			i += used
		case c >= '0' && c <= '7':
			v, used := number(s[i:], 3, 8)
			out.WriteByte(byte(v))
			i += used - 1
		case strings.IndexByte("abefnrtvE", c) >= 0:
			out.WriteByte(' ')
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func number(s string, most, base int) (value int64, used int) {
	for used < most && used < len(s) {
		d := strings.IndexByte("0123456789abcdef", lower(s[used]))
		if d < 0 || d >= base {
			break
		}
		value = value*int64(base) + int64(d)
		used++
	}
	return value, used
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
