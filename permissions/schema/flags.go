package schema

import (
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// flag reads one word of flags, and its value from the next word where it takes one. It returns how many words it took.
func (m *matcher) flag(args []shellcmd.Word) (int, error) {
	w := args[0]
	if m.p.Number != "" && w.Literal() && fits(m.p.Number, w.Text[1:]) {
		return 1, nil
	}
	switch {
	case m.p.Single:
		return m.singleFlag(args)
	case strings.HasPrefix(w.Text, "--"), m.isName(w.Text):
		return m.longFlag(args, w.Text)
	}
	return m.shortFlags(args)
}

// isName reports whether a word with one dash is a flag of that name (-Wno-dev, -style=file), not a bundle.
func (m *matcher) isName(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	_, ok := m.p.flags[name]
	return ok && len(name) > 2
}

func (m *matcher) singleFlag(args []shellcmd.Word) (int, error) {
	name, val, attached := strings.Cut(args[0].Text, "=")
	v, ok := m.p.flags[name]
	if !ok && strings.HasPrefix(name, "--") {
		name = name[1:]
		v, ok = m.p.flags[name]
	}
	switch {
	case !ok:
		return 0, m.unknownFlag(args[0])
	case v.kind == "" && attached && val == "false" && m.p.needs[name]: // it would be taken back
		return 0, m.unknownFlag(args[0])
	case v.kind == "" && (!attached || val == "true" || val == "false"), v.attached && !attached:
		m.note(name)
		return 1, m.literalFlag(args[0])
	case v.kind == "", v.apart && attached:
		return 0, m.unknownFlag(args[0])
	case attached:
		m.note(name)
		return 1, m.attached(v, args[0], val)
	}
	return m.separate(name, v, args)
}

func (m *matcher) longFlag(args []shellcmd.Word, text string) (int, error) {
	name, val, attached := strings.Cut(text, "=")
	v, ok := m.p.flags[name]
	switch {
	case !ok, (v.kind == "" || v.apart) && attached:
		return 0, m.unknownFlag(args[0])
	case attached:
		m.note(name)
		return 1, m.attached(v, args[0], val)
	case v.kind == "" || v.attached:
		m.note(name)
		return 1, m.literalFlag(args[0])
	}
	return m.separate(name, v, args)
}

// shortFlags reads a bundle: flags without a value, and at the end at most one with.
func (m *matcher) shortFlags(args []shellcmd.Word) (int, error) {
	w := args[0]
	if err := m.literalFlag(w); err != nil {
		return 0, err
	}
	for i := 1; i < len(w.Text); i++ {
		name := w.Text[:2]
		if i > 1 {
			name = "-" + w.Text[i:i+1]
		}
		v, ok := m.p.flags[name]
		switch rest := w.Text[i+1:]; {
		case !ok:
			return 0, m.unknownFlag(w)
		case v.kind == "":
			m.note(name)
		case rest != "" && v.apart:
			return 0, m.unknownFlag(w)
		case rest != "":
			m.note(name)
			return 1, m.value(v.kind, w, rest)
		case v.attached:
			m.note(name)
			return 1, nil
		default:
			return m.separate(name, v, args)
		}
	}
	return 1, nil
}

// separate reads a value from the next word.
func (m *matcher) separate(name string, v value, args []shellcmd.Word) (int, error) {
	if err := m.literalFlag(args[0]); err != nil {
		return 0, err
	}
	if len(args) < 2 || v.attached {
		return 0, because(m.title(), " ", args[0].Source, " needs a value")
	}
	if args[1].Unknown && !(args[1].Printed && v.kind == "show") {
		return 0, because(args[1].Source, " can only be told by running it")
	}
	if args[1].Pattern != "" {
		return 0, because(args[1].Source, " may expand to several words: quote it")
	}
	if strings.HasPrefix(args[1].Text, "-") && v.kind != "count" && v.kind != "perm" && v.kind != "ldflags" && !(v.kind == "input" && args[1].Text == "-") {
		return 0, because(args[1].Source, " after ", name, ": write the value with =") // a program that wants it attached reads a flag
	}
	m.note(name)
	if v.named {
		if len(args) < 3 || !args[2].Literal() || !fits("word", args[1].Text) {
			return 0, because(name, " of ", m.title(), " without a name and a value")
		}
		return 3, m.value(v.kind, args[2], args[2].Text)
	}
	if _, isPath := pathKinds[v.kind]; len(m.operands) > 0 && !m.p.NoEnd && (!isPath || v.kind == "select") {
		m.use.Paths = append(m.use.Paths, Path{Word: args[1], Text: args[1].Text, Reach: Content}) // one that reads flags only before its operands takes it for a file
	}
	return 2, m.value(v.kind, args[1], args[1].Text)
}

// attached reads the value after the =. A glob in it can only expand to further words that begin with the same flag, so
// a value without reach may hold one.
func (m *matcher) attached(v value, w shellcmd.Word, val string) error {
	if w.Pattern != "" && (v.kind == "text" || v.kind == "select") && !strings.ContainsAny(w.Pattern[:strings.IndexByte(w.Pattern, '=')], "*?[") {
		if v.kind == "select" {
			m.use.Paths = append(m.use.Paths, Path{Word: shellcmd.Word{Text: val, Source: w.Source}, Text: val, Reach: Select})
		}
		return nil
	}
	if err := m.literalFlag(w); err != nil {
		return err
	}
	return m.value(v.kind, w, val)
}

func (m *matcher) note(name string) {
	m.last, m.greedy = name, ""
	if m.p.greedy[name] {
		m.greedy = m.p.flags[name].kind
	}
	m.replaced, m.needed, m.opened = m.replaced || m.p.unless[name], m.needed || m.p.needs[name], m.opened || m.p.onlyWith[name]
}

func (m *matcher) literalFlag(w shellcmd.Word) error {
	if !w.Literal() {
		return because(w.Source, " can only be told by running it")
	}
	return nil
}

func (m *matcher) unknownFlag(w shellcmd.Word) error {
	return because("flag ", w.Source, " of ", m.title())
}
