package permissions_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/schema"
)

const goldenHead = `# What the tables of permissions/schema and permissions/intent say to generated commands. Made by
# go test ./permissions -run TablesGolden -update; read the difference before you commit it.
#
# [table]                    readonly, or an intent
# program words              then, each after a tab: needs (flags that must be given), with (operands), more (further ones), then (a subcommand or command behind), flags (two
#                            without a value), also (other names = verdicts), shape (verdicts of shapes), props (g git, f foreign too, n names only, G globs, d fed; files that it obeys), forms
#     flag or #operand       then sample values, and a verdict for each probe; the last dots are left out
#
# A verdict: . not covered; v a value; r m k g f w s a path that is read, looked at, a package, a revision, a plain file, written, a pattern of files (a capital: part of the word); ! a path that leads
# out of the tree, so that it asks; a digit: the words of a wrapped command; E one with an environment.
# A flag's probes: as it should be; without needs; without operands; without the first; without a value; behind the operands; with further operands; twice; with one dash more or
# less; with =true; with =7. After a blank each sample apart, attached and attached with =; each value apart ("=": as the first operand would be); each value attached; <kind>: as all of
# that kind are, see below. An operand's: missing, once, twice, three times; each sample; each value.
`

// text is the file.
func (g *golden) text() string {
	var b strings.Builder
	b.WriteString(goldenHead)
	fmt.Fprintf(&b, "# values: %s\n# forms: %s\n", strings.Join(values, " · "), strings.Join(g.forms, " · "))
	named := g.src.namedBlocks()
	var body strings.Builder
	g.body(&body, named)
	for _, name := range slices.Sorted(maps.Keys(named.used)) {
		fmt.Fprintf(&b, "<%s>\t%s\n", name, named.byName[name])
	}
	return b.String() + body.String()
}

func (g *golden) body(b *strings.Builder, named *blocks) {
	table := ""
	for _, p := range g.probes {
		if p.table != table {
			table = p.table
			fmt.Fprintf(b, "\n[%s]\n", table)
		}
		b.WriteString(strings.Join(p.path, " "))
		for _, f := range []struct{ name, text string }{
			{"needs", strings.Join(p.needs, " ")},
			{"with", strings.Join(p.req, " ")},
			{"more", strings.Join(p.opt, " ")},
			{"then", strings.Join(p.tail, " ")},
			{"flags", strings.Join(p.bools, " ")},
			{"also", strings.Join(p.names, " ") + " = " + p.also},
			{"shape", p.shape},
			{"props", p.props},
			{"forms", p.forms},
		} {
			if f.text != "" && f.text != " = " {
				b.WriteString("\t" + f.name + " " + f.text)
			}
		}
		b.WriteString("\n")
		for _, l := range p.lines {
			b.WriteString("\t" + strings.Join(l.keys, " ") + "\t" + strings.Join(l.samples, "¦") + "\t" + named.shorten(p, l) + "\n")
		}
	}
}

// operandBlock are the verdicts of the first operand's values.
func (p *probe) operandBlock() string {
	if len(p.lines) == 0 || p.lines[0].keys[0] != "#1" {
		return ""
	}
	return strings.Split(p.lines[0].verdict, " ")[2]
}

// blocks name the verdicts that every value of a kind has, so that a line says "path" instead of all of them.
type blocks struct {
	byText, byName map[string]string
	used           map[string]bool
}

// namedBlocks finds them with small programs that have a kind as operand, and as a flag's value.
func (s *sources) namedBlocks() *blocks {
	b := &blocks{byText: map[string]string{}, byName: map[string]string{}, used: map[string]bool{}}
	for _, kind := range s.kinds() {
		for _, guard := range []string{"", schema.GuardPlain, schema.GuardFiles, schema.GuardTests} {
			t, err := schema.New([]*schema.Program{{Name: "x", Operands: kind, Guard: guard}, {Name: "y", Flags: map[string]string{"-n --name": kind}, Guard: guard}, {Name: "z", Operands: kind + "*", Guard: guard}, {Name: "w", Operands: kind + "*", Globs: true, Guard: guard}})
			if err != nil {
				continue
			}
			name := strings.Trim(kind+"/"+guard, "/")
			add := func(name, verdict string, block int) {
				text := strings.Split(verdict, " ")[block]
				if _, ok := b.byText[text]; !ok && len(text) > 4 {
					b.byText[text], b.byName[name] = name, text
				}
			}
			x, y, z, l := &probe{path: []string{"x"}}, &probe{path: []string{"y"}}, &probe{path: []string{"z"}}, &probeLine{}
			add(name, x.judge(t, l, "#1", ""), 2)
			add(name+"*", z.judge(t, l, "#1", ""), 2)
			w := &probe{path: []string{"w"}}
			add(name+"*G", w.judge(t, l, "#1", ""), 2)
			add(name+"-apart", y.judge(t, l, "--name", ""), 2)
			add(name+"=", y.judge(t, l, "--name", ""), 3)
			add(name+"-", y.judge(t, l, "-n", ""), 3)
		}
	}
	t, _ := schema.New([]*schema.Program{{Name: "y", Flags: map[string]string{"-n --name": ""}}})
	y := &probe{path: []string{"y"}}
	none := strings.Split(y.judge(t, &probeLine{}, "-n", ""), " ")[3]
	b.byText[none], b.byName["bundle"] = "bundle", none
	return b
}

// kinds are all that the tables name, but for lists of words.
func (s *sources) kinds() []string {
	all := map[string]bool{}
	var walk func(p *schema.Program)
	walk = func(p *schema.Program) {
		for _, kind := range p.Flags {
			all[strings.TrimLeft(kind, "?!&")] = true
		}
		for o := range strings.FieldsSeq(p.Operands) {
			all[strings.TrimRight(o, "*+?")] = true
		}
		for _, c := range p.Commands {
			walk(c)
		}
		if p.Rest != nil {
			walk(p.Rest)
		}
	}
	for _, src := range s.all {
		for _, p := range src.list {
			walk(p)
		}
	}
	for _, p := range s.parts {
		walk(p)
	}
	delete(all, "")
	maps.DeleteFunc(all, func(kind string, _ bool) bool { return strings.ContainsAny(kind, "|~,") })
	return slices.Sorted(maps.Keys(all))
}

// shorten writes "=" where a value behind a flag is what the first operand would be, and names for other blocks.
func (b *blocks) shorten(p *probe, l *probeLine) string {
	return replaceBlocks(l, func(i int, text string) string {
		if i == 2 && l.keys[0][0] != '#' && text == p.operandBlock() {
			return "="
		}
		if name := b.byText[text]; name != "" && i >= 2 {
			b.used[name] = true
			return "<" + name + ">"
		}
		return text
	})
}

// lengthen undoes it.
func (b *blocks) lengthen(p *probe, l *probeLine) string {
	return replaceBlocks(l, func(i int, text string) string {
		if text == "=" {
			return p.operandBlock()
		}
		if name, ok := strings.CutPrefix(text, "<"); ok {
			return b.byName[strings.TrimSuffix(name, ">")]
		}
		return text
	})
}

func replaceBlocks(l *probeLine, f func(i int, text string) string) string {
	list := strings.Split(l.verdict, " ")
	for i := range list {
		list[i] = f(i, list[i])
	}
	return strings.Join(list, " ")
}

// readGolden reads the file.
func readGolden(t testing.TB) (probes []*probe, text string) {
	t.Helper()
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatalf("%v: make it with -run TablesGolden -update", err)
	}
	table, named := "", &blocks{byName: map[string]string{}}
	for line := range strings.SplitSeq(string(data), "\n") {
		switch f := strings.Split(line, "\t"); {
		case line == "" || line[0] == '#':
		case line[0] == '[' && !strings.Contains(line, "\t"):
			table = strings.Trim(line, "[]")
		case line[0] == '<':
			named.byName[strings.Trim(f[0], "<>")] = f[1]
		case f[0] != "":
			p := &probe{table: table, path: fields(f[0])}
			for _, s := range f[1:] {
				p.read(s)
			}
			probes = append(probes, p)
		case len(f) != 4 || len(probes) == 0:
			t.Fatalf("%s: %q: want a flag, samples and verdicts", goldenFile, line)
		default:
			p, l := probes[len(probes)-1], &probeLine{keys: strings.Fields(f[1]), verdict: f[3]}
			if f[2] != "" {
				l.samples = strings.Split(f[2], "¦")
			}
			p.lines = append(p.lines, l)
			l.verdict = named.lengthen(p, l)
		}
	}
	return probes, string(data)
}

func (p *probe) read(s string) {
	name, s, _ := strings.Cut(s, " ")
	switch name {
	case "needs":
		p.needs = fields(s)
	case "with":
		p.req = fields(s)
	case "more":
		p.opt = fields(s)
	case "then":
		p.tail = fields(s)
	case "flags":
		p.bools = fields(s)
	case "also":
		names, verdicts, _ := strings.Cut(s, " = ")
		p.names, p.also = fields(names), verdicts
	case "shape":
		p.shape = s
	case "props":
		p.props = s
	case "forms":
		p.forms, p.via = s, true
	}
}

// fields splits words of shell at blanks outside of quotes.
func fields(s string) []string {
	var out []string
	quoted, begin := false, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && s[i] == '\'':
			quoted = !quoted
		case i == len(s) || s[i] == ' ' && !quoted:
			if i > begin {
				out = append(out, s[begin:i])
			}
			begin = i + 1
		}
	}
	return out
}
