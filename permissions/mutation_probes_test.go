package permissions_test

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// values are what every flag and operand is tried with, as a shell reads them. Between them they tell the kinds of
// permissions/schema apart. New ones go to the end.
var values = []string{
	"3", "+5k", "-7", "a.b", "'a b'", "''", "90s", "in/x", "./in", "../out", "/etc/out", "~/out", "'*.go'", "*.go", "in/*.go", "$V", "$?", "a=b", "https://h.io/x", "-z",
	"@a/b@1", "'a>=1'", "h.io/m@v1", "a/b:1", "'b#1'", "//a:b", "secret/x", "'repos/{o}'", "jsonpath=x", "h:50/b:c", "127.0.0.1:80", "'-X a=b'", "BUILD_X=ON", "%h", "%G?", "format:%an",
	"'%(signature)'", "'%n'", "1p", "'{print $1}'", ".a", "'import \"x\"'", "+x", "dist/x", "cover.out", "dist", "./...", "a.go::b", "a.go:1", "main..x", "-",
	"tests/a", "tests/a.py::b", "../tests/a", "'tests/*'", "tests/*", "@tests/a", "tests/a,b", "'{tests/a,b}'", "compose.yml", "deploy",
}

// samples are what a valid command is completed with: the first that is of the kind. They are no values, so that a path
// among them is not taken for the value that is tried.
var samples = []string{
	"7", "tests/own", "own", "./own", "bin/own", "coverage.txt", "build", "own/own", "+%s", "'%s'", "1q", "'{print $2}'", ".own", "v=1", "-s", "BUILD_OWN=ON", "1s", "8080", "own@1", "wide", "'-X own=1'", "user.name", "'Accept: application/json'", "3.12", "compose.yaml", "Ninja", "ignore", "u+x", "'{{.Own}}'", "own.io/own", "//own", "oneline", "testQuick",
}

// probe is an entry of tables.golden: a program by the words that reach it, with what completes a command of it.
type probe struct {
	table string   // "readonly", or the intent's name
	path  []string // the words before its own
	needs []string // a flag that must be given, with its value
	req   []string // operands, and those that may follow
	opt   []string
	tail  []string // a subcommand, or a wrapped command
	bools []string // two flags without a value
	names []string // other names that it has
	shape string   // verdicts of shapes
	props string   // what holds for the whole command
	also  string   // verdicts of its other names
	forms string   // verdicts of the ways in which others start it
	via   bool     // others may start it
	lines []*probeLine
}

// probeLine is a flag in some spellings, or an operand by its position ("#1").
type probeLine struct {
	keys    []string
	samples []string // of the flag's kind; the first character says how it is written: " " apart, "=" attached, "&" after a name
	verdict string
}

func (p *probe) key() string { return p.table + "\t" + strings.Join(p.path, " ") }

// words are parsed once.
var words sync.Map

// word reads one word of shell.
func word(src string) shellcmd.Word {
	if w, ok := words.Load(src); ok {
		return w.(shellcmd.Word)
	}
	line, err := shellcmd.Parse("x "+src, "/p")
	if err != nil || len(line.Commands) != 1 || len(line.Commands[0].Argv) != 2 {
		panic("not one word: " + src)
	}
	w := line.Commands[0].Argv[1]
	w.Source = src
	words.Store(src, w)
	return w
}

// attach writes a value behind what begins a word.
func attach(before, value string) shellcmd.Word {
	w := word(value)
	w.Source = before + w.Source
	if w.Tilde = false; w.Pattern != "" {
		w.Pattern = before + w.Pattern
	}
	w.Text = before + w.Text
	return w
}

// asked are the words of one command under test. The probed word is remembered, to see what it was taken for.
type asked struct {
	argv []shellcmd.Word
	mark string
	text string
}

func (a *asked) start(groups ...[]string) {
	a.argv, a.mark, a.text = a.argv[:0], "", ""
	for _, g := range groups {
		a.add(g...)
	}
}

func (a *asked) add(src ...string) {
	for _, s := range src {
		a.argv = append(a.argv, word(s))
	}
}

func (a *asked) probed(w shellcmd.Word, value string) {
	a.argv, a.mark, a.text = append(a.argv, w), w.Source, word(value).Text
}

// verdict is what a table says to the command, in one character: "." it is not covered; "v" it is, and the probed word
// is a value; r m k g f w s the word is a path whose content is read, whose properties are, a package, a revision, a plain
// file, a file to write, a pattern of files (a capital: only a part of the word is the path); "!" it is a path that leads out of here; a
// digit is the number of words of a wrapped command, "E" one with an environment.
func (a *asked) verdict(t schema.Table) byte {
	use, err := t.Match(a.argv)
	switch {
	case err != nil:
		return '.'
	case use.Inner != nil && len(use.InnerEnv) > 0:
		return 'E'
	case use.Inner != nil:
		return '0' + byte(len(use.Inner)%10)
	case a.mark == "":
		return 'v'
	}
	for i := len(use.Paths) - 1; i >= 0; i-- {
		p := use.Paths[i]
		switch {
		case p.Word.Source != a.mark || p.Reach == schema.Run:
		case strings.HasPrefix(p.Text, "../") || strings.HasPrefix(p.Text, "/") || strings.HasPrefix(p.Text, "~"):
			return '!'
		case p.Text != a.text:
			return "RMKGFWXS"[min(p.Reach, schema.Select)]
		default:
			return "rmkgfwxs"[min(p.Reach, schema.Select)]
		}
	}
	return 'v'
}

// judge gives all verdicts of a flag or an operand, in blocks. With a verdict to compare with it stops at the first block
// that differs.
func (p *probe) judge(t schema.Table, l *probeLine, key, want string) string {
	j := judgement{t: t, want: want}
	if strings.HasPrefix(key, "#") {
		p.judgeOperand(&j, l, int(key[1]-'1'))
	} else {
		p.judgeFlag(&j, l, key)
	}
	return strings.Join(j.blocks, " ")
}

// judgement collects verdicts in blocks.
type judgement struct {
	asked
	t      schema.Table
	want   string
	blocks []string
	out    []byte
}

func (j *judgement) is() { j.out = append(j.out, j.verdict(j.t)) }

// block ends a block: without the dots at its end, but one when nothing else is left. It is false when no more is wanted.
func (j *judgement) block() bool {
	text := strings.TrimRight(string(j.out), ".")
	if text == "" {
		text = "."
	}
	j.blocks, j.out = append(j.blocks, text), j.out[:0]
	if j.want == "" {
		return true
	}
	now, rest, _ := strings.Cut(j.want, " ")
	if j.want = rest; now != text {
		j.blocks = append(j.blocks, "…")
		return false
	}
	return true
}

// judgeFlag tries a flag: as it should be, without what is needed, without operands, without the first, without a
// value, last of all, with further operands, twice, with one dash more or less, with =true, with =7; then with each
// sample, each value apart, and each value attached.
func (p *probe) judgeFlag(j *judgement, l *probeLine, flag string) {
	good := p.goodForm(j, l, flag)
	for _, groups := range [][3][]string{{p.needs, p.req, p.tail}, {nil, p.req, p.tail}, {p.needs, nil, p.tail}, {p.needs, p.req[min(1, len(p.req)):], p.tail}} {
		j.start(p.path, groups[0])
		good()
		j.add(groups[1]...)
		j.add(groups[2]...)
		j.is()
	}
	j.start(p.path, p.needs, []string{flag}, p.req, p.tail)
	j.is()
	j.start(p.path, p.needs, p.req, []string{flag})
	j.is()
	j.start(p.path, p.needs)
	good()
	j.add(slices.Concat(p.req, p.opt, p.tail)...)
	j.is()
	j.start(p.path, p.needs)
	good()
	good()
	j.add(slices.Concat(p.req, p.tail)...)
	j.is()
	for _, other := range []string{otherDash(flag), flag + "=true", flag + "=7"} {
		j.start(p.path, p.needs, []string{other}, p.req, p.tail)
		j.is()
	}
	if !j.block() {
		return
	}
	for _, s := range l.samples {
		s = s[1:]
		p.apart(j, flag, s)
		p.behind(j, flag, s)
		p.behind(j, flag+"=", s)
	}
	if !j.block() {
		return
	}
	for _, v := range values {
		p.apart(j, flag, v)
	}
	if !j.block() {
		return
	}
	before := flag
	if len(flag) > 2 {
		before += "="
	}
	for _, v := range values {
		p.behind(j, before, v)
	}
	j.block()
}

// goodForm adds a flag as it is written, with its first sample.
func (p *probe) goodForm(j *judgement, l *probeLine, flag string) func() {
	if len(l.samples) == 0 {
		return func() { j.add(flag) }
	}
	form, sample := l.samples[0][0], l.samples[0][1:]
	switch {
	case form == ' ' || form == '&':
		return func() {
			j.add(flag)
			if form == '&' {
				j.add("own")
			}
			j.probed(word(sample), sample)
		}
	case len(flag) > 2:
		flag += "="
	}
	return func() { j.probed(attach(flag, sample), sample) }
}

// apart tries a value in a word of its own, behind one that begins a word.
func (p *probe) apart(j *judgement, flag, value string) {
	j.start(p.path, p.needs, []string{flag})
	j.probed(word(value), value)
	j.rest(p)
}

func (p *probe) behind(j *judgement, before, value string) {
	j.start(p.path, p.needs)
	j.probed(attach(before, value), value)
	j.rest(p)
}

func (j *judgement) rest(p *probe) {
	j.add(p.req...)
	j.add(p.tail...)
	j.is()
}

func otherDash(flag string) string {
	if rest, ok := strings.CutPrefix(flag, "--"); ok {
		return "-" + rest
	}
	return "-" + flag
}

// judgeOperand tries the operand at a position: missing, once, twice, three times; then each sample and each value.
func (p *probe) judgeOperand(j *judgement, l *probeLine, i int) {
	all := slices.Concat(p.req, p.opt)
	before, after := all[:min(i, len(all))], p.req[min(i+1, len(p.req)):]
	sample := "own"
	if len(l.samples) > 0 {
		sample = l.samples[0][1:]
	}
	for n := range 4 {
		j.start(p.path, p.needs, before)
		for range n {
			j.add(sample)
		}
		if n > 0 {
			j.add(after...)
		}
		j.add(p.tail...)
		j.is()
	}
	if !j.block() {
		return
	}
	try := func(v string) {
		j.start(p.path, p.needs, before)
		j.probed(word(v), v)
		j.add(after...)
		j.add(p.tail...)
		j.is()
	}
	for _, s := range l.samples {
		try(s[1:])
	}
	if !j.block() {
		return
	}
	for _, v := range values {
		try(v)
	}
	j.block()
}

// shapes are commands that tell how a program's words are read, whatever its flags and operands are.
func (p *probe) judgeShape(t schema.Table, want string) string {
	var out []byte
	var a asked
	b := append(append([]string{}, p.bools...), "--zz", "--zz")
	one := slices.Concat(p.req, p.opt, []string{"own"})[:1]
	bundle := b[0] + strings.TrimLeft(b[1], "-")
	for _, groups := range [][][]string{
		{},
		{p.needs},
		{p.req},
		{p.needs, p.req, p.tail},
		{p.tail},
		{p.needs, {"--"}, p.req, p.tail},
		{{"--"}},
		{p.needs, p.req, p.tail, b[:1]},
		{p.needs, one, b[:1], one},
		{p.needs, one, b[:1]},
		{p.needs, {bundle}, p.req, p.tail},
		{p.needs, {otherDash(b[0])}, p.req, p.tail},
		{p.needs, {b[0] + "=true"}, p.req, p.tail},
		{p.needs, {b[0] + "=no"}, p.req, p.tail},
		{p.needs, b[:2], p.req, p.tail},
		{p.needs, {"-5"}, p.req, p.tail},
		{p.needs, {"-+5"}, p.req, p.tail},
		{p.needs, {"--zzz"}, p.req, p.tail},
		{p.needs, p.req, p.opt, p.tail},
		{p.needs, p.req, p.opt, {"own"}, p.tail},
		{p.needs, {"own"}, p.tail},
		{p.needs, p.req, {"A=b"}, p.tail},
		{p.needs, {"A=b"}, p.req, p.tail},
		{p.needs, p.req, {"ls"}},
		{p.needs, p.req, p.tail, {"--", "own"}},
		{p.needs, p.req, {"--", "--zzz"}},
		{p.needs, p.req, {"*.go"}},
		{p.needs, {"--"}, p.req, {"*.go"}},
		{p.needs, {"*.go"}},
		{p.needs, p.req, {"./*.go"}},
		{p.needs, {"--zzz", "--zzz"}},
		{p.needs, p.req, p.tail, {"--zzz"}},
		{p.needs, p.req, p.opt, b[:1], one},
		{p.needs, {"A=b", b[0]}, p.req, p.tail},
		{p.needs, p.req, b[:1], {"ls"}},
		{p.needs, {"zz"}},
	} {
		a.start(p.path)
		for _, g := range groups {
			for _, w := range g {
				if w == "A=b" || w == "--zzz" {
					a.probed(word(w), w)
				} else {
					a.add(w)
				}
			}
		}
		v := a.verdict(t)
		if out = append(out, v); want != "" && v != (want + strings.Repeat(".", len(out)))[len(out)-1] {
			return string(out) + "…"
		}
	}
	return strings.TrimRight(string(out), ".")
}

// judgeProps says what holds for a whole command: g it depends on git's configuration, f it holds in somebody else's
// shell, d it is fed, n it prints names alone, G no flag does harm; and which files must not be there.
func (p *probe) judgeProps(t schema.Table) string {
	var a asked
	a.start(p.path, p.needs, p.req, p.tail)
	use, err := t.Match(a.argv)
	if err != nil {
		return "?"
	}
	out := "-"
	for _, f := range []struct {
		on   bool
		name string
	}{{use.Git, "g"}, {use.Foreign, "f"}, {use.Fed, "d"}, {use.Names, "n"}, {use.Globs, "G"}} {
		if f.on && (p.table == "readonly" || f.name == "g") { // a grant holds in no foreign shell, and feeds nothing
			out += f.name
		}
	}
	return strings.Join(append([]string{out}, strings.Fields(use.Absent)...), " ")
}

// judgeAlso tries the other names, which stand in the place of the path's last word.
func (p *probe) judgeAlso(t schema.Table) string {
	var out []byte
	var a asked
	for _, name := range p.names {
		a.start(p.path[:len(p.path)-1], []string{name}, p.needs, p.req, p.tail)
		out = append(out, a.verdict(t))
	}
	return string(out)
}

// judgeForms tries the ways in which others start it.
func (p *probe) judgeForms(t schema.Table, forms []string) string {
	var out []byte
	var a asked
	for _, form := range forms {
		a.start(strings.Fields(strings.ReplaceAll(form, "PROGRAM", path.Base(p.path[len(p.path)-1]))), p.needs, p.req, p.tail)
		out = append(out, a.verdict(t))
	}
	return strings.TrimRight(string(out), ".")
}
