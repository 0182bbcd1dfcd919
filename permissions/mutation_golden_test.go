package permissions_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/schema"
)

var update = flag.Bool("update", false, "write testdata/tables.golden anew")

const goldenFile = "testdata/tables.golden"

// golden builds the entries of a set of tables, with their verdicts.
type golden struct {
	src      *sources
	forms    []string
	families map[string]string   // that the forms start
	parted   map[string]bool     // parts whose flags are listed
	dry      bool                // only the paths are wanted
	owner    map[string]*probe   // the entry that lists a part's flags
	paths    map[string][]string // the way to each program, by the table and where it stands in the file
	probes   []*probe
	bad      []string
}

func buildGolden(s *sources, dry bool) (*golden, error) {
	g := &golden{src: s, parted: map[string]bool{}, dry: dry, paths: map[string][]string{}, owner: map[string]*probe{}}
	g.forms, g.families = s.forms()
	for _, src := range s.all {
		t, err := src.compile(cloneAll(src.list))
		if err != nil {
			return nil, err
		}
		for i, p := range src.programs(cloneAll(src.list)) {
			path := []string{p.Name}
			if p.Only {
				if path = g.onlyForm(t, p); path == nil {
					g.bad = append(g.bad, src.table+": "+p.Name+": nothing starts it")
					continue
				}
			}
			g.add(src, t, path, p, []int{i})
		}
	}
	return g, g.addLaunchers()
}

// onlyForm is the first way in which a program can be started that cannot be by its own name.
func (g *golden) onlyForm(t schema.Table, p *schema.Program) []string {
	c := clone(p)
	pr := &probe{path: []string{p.Name}}
	if !g.finish(pr, c, 0) {
		return nil
	}
	for i, v := range pr.judgeForms(t, g.forms) {
		if v != '.' && shares(g.families[g.forms[i]], p.Via) {
			return strings.Fields(strings.ReplaceAll(g.forms[i], "PROGRAM", p.Name))
		}
	}
	return nil
}

// shares reports whether two lists have a word in common.
func shares(a, b string) bool {
	return slices.ContainsFunc(strings.Fields(a), func(w string) bool { return slices.Contains(strings.Fields(b), w) })
}

// flagsOf are a program's flags: its own, and those of a part that no other program before lists; of other parts only
// one, which tells that the program has the part.
func (g *golden) flagsOf(p *schema.Program) map[string]string {
	all := map[string]string{}
	have := map[string]bool{}
	for flags := range p.Flags {
		for f := range strings.FieldsSeq(flags) {
			have[f] = true
		}
	}
	for part := range strings.FieldsSeq(p.With) {
		flags := g.src.parts[part].Flags
		for _, key := range slices.Sorted(maps.Keys(flags)) {
			var left []string
			for f := range strings.FieldsSeq(key) {
				if !have[f] {
					left = append(left, f)
					have[f] = true
				}
			}
			if len(left) == 0 {
				continue
			}
			if g.parted[part] {
				all[left[0]] = flags[key]
				break
			}
			all[strings.Join(left, " ")] = flags[key]
		}
		g.parted[part] = true
	}
	maps.Copy(all, p.Flags)
	return all
}

// everyFlag are all flags, with those of parts, by spelling.
func (s *sources) everyFlag(p *schema.Program) map[string]string {
	out := map[string]string{}
	add := func(flags map[string]string) {
		for spellings, kind := range flags {
			for f := range strings.FieldsSeq(spellings) {
				out[f] = kind
			}
		}
	}
	for part := range strings.FieldsSeq(p.With) {
		add(s.parts[part].Flags)
	}
	add(p.Flags)
	return out
}

func (s *sources) operandsOf(p *schema.Program) []string {
	ops := p.Operands
	for part := range strings.FieldsSeq(p.With) {
		if ops == "" {
			ops = s.parts[part].Operands
		}
	}
	return strings.Fields(ops)
}

// finish fills in what completes a command of p.
func (g *golden) finish(pr *probe, p *schema.Program, depth int) bool {
	flags := g.src.everyFlag(p)
	if f, _, _ := strings.Cut(p.Needs, " "); f != "" {
		pr.needs = []string{f}
		for f := range strings.FieldsSeq(p.Needs) { // one without a value, if there is one
			if kind, ok := flags[f]; ok && (kind == "" || kind[0] == '?') {
				pr.needs = []string{f}
				break
			}
		}
		switch s := append(valueSamples(flags[pr.needs[0]]), "")[0]; {
		case s == "" || s[0] == '=' && flags[pr.needs[0]][0] == '?':
		case s[0] == ' ':
			pr.needs = append(pr.needs, s[1:])
		case s[0] == '&':
			pr.needs = append(pr.needs, "own", s[1:])
		}
	}
	for _, o := range g.src.operandsOf(p) {
		s := sampleOf(strings.TrimRight(o, "*+?"))
		if strings.HasSuffix(o, "*") || strings.HasSuffix(o, "?") {
			pr.opt = append(pr.opt, s)
		} else {
			pr.req = append(pr.req, s)
		}
	}
	if slices.Contains(strings.Fields(p.Unless), append(pr.needs, "")[0]) && len(pr.req) > 0 {
		pr.req = pr.req[1:]
	}
	pr.bools = someFlags(flags, pr.needs)
	switch {
	case p.Wraps:
		pr.tail = []string{"ls"}
	case len(p.Commands) > 0 && !p.Bare && depth < 8:
		c := p.Commands[0]
		sub := &probe{}
		if !g.finish(sub, c, depth+1) {
			return false
		}
		pr.tail = slices.Concat([]string{c.Name}, sub.needs, sub.req, sub.tail)
	}
	return true
}

// someFlags are two flags for trying how flags are read: without a value, and short, as far as there are such.
func someFlags(flags map[string]string, not []string) []string {
	var out []string
	add := func(want func(f, kind string) bool) {
		for _, f := range slices.Sorted(maps.Keys(flags)) {
			if len(out) < 2 && !slices.Contains(not, f) && !slices.Contains(out, f) && want(f, flags[f]) {
				if kind := flags[f]; kind != "" {
					f += "=" + valueSamples(kind)[0][1:]
				}
				out = append(out, f)
			}
		}
	}
	add(func(f, kind string) bool { return kind == "" && len(f) == 2 })
	add(func(f, kind string) bool { return kind == "" && len(f) > 2 })
	if len(out) == 0 {
		add(func(f, kind string) bool { return len(f) > 2 && kind != "" && strings.IndexByte("!&", kind[0]) < 0 })
	}
	if len(out) == 0 {
		add(func(f, kind string) bool { return kind != "" && strings.IndexByte("!&", kind[0]) < 0 })
	}
	return out
}

// add appends the entries of a program and of what is below it.
func (g *golden) add(src *source, t schema.Table, path []string, p *schema.Program, trail []int) {
	pr := &probe{table: src.table, path: path, names: strings.Fields(p.Also), via: len(trail) == 1 && p.Via != ""}
	g.paths[src.table+fmt.Sprint(trail)] = path
	if p.Only {
		pr.names = nil
	}
	g.finish(pr, p, 0)
	if slices.Contains(pr.req, "NONE") && trail[0] >= len(src.list) {
		return // a script's name that this way to start it cannot have
	}
	for part := range strings.FieldsSeq(p.With) {
		if g.owner[part] == nil {
			g.owner[part] = pr
		}
	}
	g.describe(pr, p, g.flagsOf(p), t)
	for i, c := range p.Commands {
		g.add(src, t, append(slices.Clone(path), c.Name), c, append(slices.Clone(trail), i))
	}
	after := p.Rest
	for part := range strings.FieldsSeq(p.With) {
		if r := g.src.parts[part].Rest; after == nil && r != nil {
			after = r
		}
	}
	if after != nil {
		g.add(src, t, slices.Concat(path, pr.needs, pr.req, []string{"--"}), after, append(slices.Clone(trail), rest))
	}
}

// describe makes the lines of an entry, and judges all.
func (g *golden) describe(pr *probe, p *schema.Program, flags map[string]string, t schema.Table) {
	if g.dry {
		return
	}
	ops := g.src.operandsOf(p)
	for i, o := range ops {
		pr.lines = append(pr.lines, &probeLine{keys: []string{fmt.Sprintf("#%d", i+1)}, samples: spaced(samplesOf(strings.TrimRight(o, "*+?")))})
	}
	if n := len(ops); (n == 0 || !strings.HasSuffix(ops[n-1], "*") && !strings.HasSuffix(ops[n-1], "+")) && !p.Wraps && (len(p.Commands) == 0 || p.Bare) {
		pr.lines = append(pr.lines, &probeLine{keys: []string{fmt.Sprintf("#%d", n+1)}})
	}
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		pr.lines = append(pr.lines, &probeLine{keys: strings.Fields(key), samples: valueSamples(flags[key])})
	}
	g.judge(pr, t)
	for _, l := range pr.lines {
		if l.keys[0][0] != '#' && l.verdict[0] == '.' {
			g.bad = append(g.bad, fmt.Sprintf("[%s] %s: %s %q is never taken: it is written another way, or samples need one of its kind", pr.table, strings.Join(pr.path, " "), strings.Join(l.keys, " "), l.samples))
		}
	}
	if pr.props == "?" {
		g.bad = append(g.bad, fmt.Sprintf("%s: %s: no valid command: %q %q %q", pr.table, strings.Join(pr.path, " "), pr.needs, pr.req, pr.tail))
	}
	g.probes = append(g.probes, pr)
}

func spaced(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, " "+s)
	}
	return out
}

// judge fills in the verdicts. Spellings of one flag that are judged differently get lines of their own.
func (g *golden) judge(pr *probe, t schema.Table) {
	pr.shape, pr.props, pr.also = pr.judgeShape(t, ""), pr.judgeProps(t), pr.judgeAlso(t)
	if pr.via {
		pr.forms = pr.judgeForms(t, g.forms)
	}
	var lines []*probeLine
	for _, l := range pr.lines {
		by := map[string]*probeLine{}
		for _, key := range l.keys {
			v := pr.judge(t, l, key, "")
			if by[v] == nil {
				by[v] = &probeLine{samples: l.samples, verdict: v}
				lines = append(lines, by[v])
			}
			by[v].keys = append(by[v].keys, key)
		}
	}
	pr.lines = lines
}

// launching marks the entries of what starts others, in the table that they are tried in.
const launching = " (launchers)"

// addLaunchers adds the programs that start others, as they are in the first table that has something for them.
func (g *golden) addLaunchers() error {
	for _, l := range g.src.launchers {
		if err := g.addLauncher(nil, l); err != nil {
			return err
		}
	}
	return nil
}

func (g *golden) addLauncher(path []string, l *schema.Program) error {
	if strings.HasSuffix(l.Name, "/") {
		return nil // it has no flags, and stands among the forms
	}
	path = append(slices.Clone(path), l.Name)
	src, tail := g.launched(path, l)
	if src == nil {
		g.bad = append(g.bad, "launchers: "+strings.Join(path, " ")+" starts nothing")
		return nil
	}
	t, err := src.compile(cloneAll(src.list))
	if err != nil {
		return err
	}
	pr := &probe{table: src.table + launching, path: path, tail: tail, names: strings.Fields(l.Also)}
	pr.bools = someFlags(g.src.everyFlag(l), nil)
	g.describe(pr, l, l.Flags, t)
	for _, c := range l.Commands {
		if err := g.addLauncher(path, c); err != nil {
			return err
		}
	}
	return nil
}

// launched finds an intent and the words that follow a launcher in it: preferably one that has no table of its own for
// the launcher.
func (g *golden) launched(path []string, l *schema.Program) (*source, []string) {
	families, before := strings.Fields(l.Launches), []string{}
	for c := l; len(families) == 0 && len(c.Commands) > 0; {
		c = c.Commands[0]
		before, families = append(before, c.Name), strings.Fields(c.Launches)
	}
	for _, own := range []bool{false, true} {
		for _, src := range g.src.all {
			if src.in == nil || !own && slices.ContainsFunc(src.programs(cloneAll(src.list)), func(p *schema.Program) bool { return p.Name == path[0] }) {
				continue
			}
			for _, p := range src.list {
				if !slices.ContainsFunc(strings.Fields(p.Via), func(v string) bool { return slices.Contains(families, v) }) {
					continue
				}
				pr := &probe{}
				if g.finish(pr, p, 0) {
					name := p.Name
					if n := len(before); n > 0 && strings.HasSuffix(before[n-1], "/") {
						before, name = before[:n-1], before[n-1]+name
					}
					return src, slices.Concat(before, []string{name}, pr.needs, pr.req, pr.tail)
				}
			}
		}
	}
	return nil, nil
}

// What each table says to each probe is as people last read it. A deliberate change: -update, and read the difference.
func TestTablesGolden(t *testing.T) {
	if raceDetector {
		newMutationBench(t)
		t.Log("with the race detector only a sample of the probes is judged")
		return
	}
	g, err := buildGolden(readSources(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range g.bad {
		t.Error(b)
	}
	got := g.text()
	if *update {
		if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	_, want := readGolden(t)
	if got == want {
		return
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	n := 0
	show := func(sign string, lines, others []string) {
		have := map[string]bool{}
		for _, l := range others {
			have[l] = true
		}
		for i, l := range lines {
			if !have[l] && n < 40 {
				n++
				t.Errorf("%s %d: %s", sign, i+1, l)
			}
		}
	}
	show("-", a, b)
	show("+", b, a)
	t.Error("the tables answer differently: see whether that is meant, then go test ./permissions -run TablesGolden -update")
}
