package schema

import (
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Closeness says how many words of a command the table knows from its beginning, flags left out: 0 for none of them, 1 for
// the program, one more for each subcommand and for a script or target that it lists. It allocates nothing.
func (t Table) Closeness(argv []shellcmd.Word) int {
	if len(argv) == 0 || !argv[0].Literal() {
		return 0
	}
	p := t.program(argv[0].Text)
	if p == nil {
		return 0
	}
	n := 1
	for _, w := range argv[1:] {
		switch c := p.commands[w.Text]; {
		case c != nil:
			p = c
			n++
		case strings.HasPrefix(w.Text, "-"):
		case len(p.operands) > 0 && strings.Contains(p.operands[0].kind, "|") && fits(p.operands[0].kind, w.Text):
			return n + 1
		default:
			return n
		}
	}
	return n
}

// EffectOf is [Effect] with the words that it is known by: the program's name, or that with a subcommand.
func EffectOf(argv []shellcmd.Word) (words, effect string) {
	effect = Effect(argv)
	if effect == "" || len(argv) < 2 {
		return first(argv), effect
	}
	if e := Effect(argv[:1]); e == effect {
		return argv[0].Text, effect
	}
	for _, w := range argv[1:] {
		if w.Literal() && w.Text != "" && w.Text[0] != '-' {
			return argv[0].Text + " " + w.Text, effect
		}
	}
	return argv[0].Text, effect
}

func first(argv []shellcmd.Word) string {
	if len(argv) == 0 {
		return ""
	}
	return argv[0].Text
}

// title is the name of what is read, as it was typed, with those of the programs around: git log.
func (m *matcher) title() string {
	t := m.p.title
	if m.p != m.root && m.word != m.p.Name {
		t = strings.TrimSuffix(t, m.p.Name) + m.word
	}
	if rest, ok := strings.CutPrefix(t, m.root.Name); ok && m.typed != m.root.Name && (rest == "" || rest[0] == ' ') {
		t = m.typed + rest
	}
	return t
}
