package permissions_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
)

// bench judges mutants: by tables.golden, and what that lets live by the corpus and the tricks.
type mutationBench struct {
	src    *sources
	forms  []string
	probes map[string][]*probe // by the table
	byKey  map[string]*probe
	users  map[string][]*node  // programs with a part
	owner  map[string]*probe   // the entries that list the flags of parts
	paths  map[string][]string // where programs stand in tables.golden
	nodes  []*node
	whole  map[*node]bool // judged in its whole table: a part of it answers differently
	lines  []engineLine
}

// engineLine is a command of the corpus or the tricks that must not be allowed.
type engineLine struct {
	command string
	state   permissions.State
	words   map[string]bool
}

func newMutationBench(t *testing.T) *mutationBench {
	b := &mutationBench{src: readSources(t), probes: map[string][]*probe{}, byKey: map[string]*probe{}, users: map[string][]*node{}, whole: map[*node]bool{}}
	b.forms, _ = b.src.forms()
	probes, _ := readGolden(t)
	for _, p := range probes {
		b.probes[p.table] = append(b.probes[p.table], p)
		b.byKey[p.key()] = p
	}
	for _, src := range b.src.all {
		table, err := src.compile(cloneAll(src.list))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range append(slices.Clone(b.probes[src.table]), b.probes[src.table+launching]...) {
			if i%sampled() != 0 {
				continue
			}
			if why := b.differs(p, table, ""); why != "" {
				t.Fatalf("%s: %s: %s differs from %s: -run TablesGolden tells more", src.table, strings.Join(p.path, " "), why, goldenFile)
			}
		}
	}
	g, err := buildGolden(b.src, true)
	if err != nil {
		t.Fatal(err)
	}
	b.paths, b.owner = g.paths, g.owner
	b.nodes = b.src.nodes()
	for _, n := range b.nodes {
		if n.src != nil {
			if b.entry(n) == nil {
				t.Fatalf("%s: [%s] %s is not in %s", n.src.file, n.src.table, strings.Join(n.path, " "), goldenFile)
			}
			for part := range strings.FieldsSeq(n.p.With) {
				b.users[part] = append(b.users[part], n)
			}
		}
	}
	b.engineLines(t)
	return b
}

// differs judges a table by one entry, first by the line of a flag. It says what is different, or "".
func (b *mutationBench) differs(p *probe, t schema.Table, flag string) string {
	line := func(l *probeLine, key string) bool { return p.judge(t, l, key, l.verdict) != l.verdict }
	if flag != "" {
		for _, l := range p.lines {
			if slices.Contains(l.keys, flag) && line(l, flag) {
				return flag
			}
		}
	}
	switch {
	case p.judgeShape(t, p.shape) != p.shape:
		return "shape"
	case p.judgeProps(t) != p.props:
		return "props"
	case p.judgeAlso(t) != p.also:
		return "also"
	case p.via && p.judgeForms(t, b.forms) != p.forms:
		return "forms"
	}
	for _, l := range p.lines {
		for _, key := range l.keys {
			if line(l, key) {
				return key
			}
		}
	}
	return ""
}

// entry is where a node stands in tables.golden.
func (b *mutationBench) entry(n *node) *probe {
	if n.src == nil {
		for _, src := range b.src.all {
			if p := b.byKey[src.table+launching+"\t"+strings.Join(n.path, " ")]; p != nil {
				return p
			}
		}
		return nil
	}
	return b.byKey[n.src.table+"\t"+strings.Join(b.paths[n.src.table+fmt.Sprint(n.trail)], " ")]
}

// table makes the mutant's table.
func (b *mutationBench) table(n *node, change func(*schema.Program)) (schema.Table, error) {
	return n.src.compile(edit(n.src.list, n.trail, b.whole[n], change))
}

// killed says what tells a mutant of a table of programs from the table: "" is nothing.
func (b *mutationBench) killed(m *mutant, p *probe) string {
	t, err := b.table(m.node, m.edit)
	switch {
	case err != nil:
		return "refused"
	case b.differs(p, t, m.flag) != "":
		return "golden"
	}
	return ""
}

// killedPart judges a mutant of a part by the programs that have it.
func (b *mutationBench) killedPart(m *mutant) string {
	was := schemaParts
	defer func() { schemaParts = was }()
	parts := maps.Clone(b.src.parts)
	part := *parts[m.node.part]
	parts[m.node.part] = keep(&part, m.node.trail, true, m.edit)
	schemaParts = func() map[string]*schema.Program { return parts }
	for _, src := range b.src.all {
		if p := b.owner[m.node.part]; p != nil && p.table == src.table {
			t, err := src.compile(cloneAll(src.list))
			if err != nil {
				return "refused"
			}
			for _, p := range b.probes[src.table] {
				if with := b.owner[m.node.part].key(); (p.key() == with || p.key() == with+" --") && b.differs(p, t, m.flag) != "" {
					return "golden"
				}
			}
		}
	}
	for _, n := range b.users[m.node.part] {
		t, err := b.table(n, func(*schema.Program) {})
		if err != nil {
			return "refused"
		}
		if b.differs(b.entry(n), t, m.flag) != "" {
			return "golden"
		}
	}
	return ""
}

// killedLauncher judges a mutant of what starts others by its own entry, and by the ways in which programs are started.
func (b *mutationBench) killedLauncher(m *mutant) string {
	was := schemaLaunchers
	defer func() { schemaLaunchers = was }()
	list, err := compileLaunchers(edit(b.src.launchers, m.node.trail, true, m.edit))
	if err != nil {
		return "refused"
	}
	schemaLaunchers = func() []*schema.Program { return list }
	own := b.entry(m.node)
	for _, src := range b.src.all {
		started := slices.ContainsFunc(b.probes[src.table], func(p *probe) bool { return p.via })
		if own == nil && !started || own != nil && own.table != src.table+launching && !started {
			continue
		}
		t, err := src.compile(cloneAll(src.list))
		if err != nil {
			return "refused"
		}
		if own != nil && own.table == src.table+launching && b.differs(own, t, m.flag) != "" {
			return "golden"
		}
		for _, p := range b.probes[src.table] {
			if p.via && p.judgeForms(t, b.forms) != p.forms {
				return "golden"
			}
		}
	}
	return ""
}

// compileLaunchers makes a list of launchers as schema reads them.
func compileLaunchers(list []*schema.Program) ([]*schema.Program, error) {
	was := schemaLaunchers
	defer func() { schemaLaunchers = was }()
	schemaLaunchers = func() []*schema.Program { return nil }
	_, err := schema.New(list)
	return list, err
}

// engineLines are what the engine must not let pass.
func (b *mutationBench) engineLines(t *testing.T) {
	add := func(command string, s permissions.State) {
		l := engineLine{command: command, state: s, words: map[string]bool{}}
		for _, w := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>'\"`", r) }) {
			l.words[w] = true
		}
		if decide(command, s).Verdict != permissions.Allow {
			b.lines = append(b.lines, l)
		}
	}
	for _, r := range corpus(t) {
		if r.Expect != "allow" {
			add(r.Command, r.state(t))
		}
	}
	one, every := state(permissions.ModeDefault), state(permissions.ModeDefault)
	one.Grants = []permissions.Grant{grant("run tests")}
	for _, in := range intent.All() {
		every.Grants = append(every.Grants, grant(in.Name))
	}
	for _, command := range tricks(t, "testdata/run_tests_tricks.txt") {
		add(command, one)
		add(command, every)
	}
}

// killedEngine judges by the corpus and the tricks, in the whole engine.
func (b *mutationBench) killedEngine(m *mutant) string {
	var lines []engineLine
	for _, l := range b.lines {
		if l.words[m.node.path[0]] {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 || m.node.src == nil {
		return ""
	}
	list := edit(m.node.src.list, m.node.trail, true, m.edit)
	if m.node.src.in == nil {
		t, err := schema.New(list)
		if err != nil {
			return "refused"
		}
		was := schema.ReadOnly
		defer func() { schema.ReadOnly = was }()
		schema.ReadOnly = func() schema.Table { return t }
	} else {
		in := *m.node.src.in
		in.Programs = list
		data, err := json.Marshal([]intent.Intent{in})
		if err != nil {
			return "refused"
		}
		changed, err := readIntents(data)
		if err != nil {
			return "refused"
		}
		was := allIntents
		defer func() { allIntents = was }()
		every := slices.Clone(was())
		every[slices.IndexFunc(every, func(i intent.Intent) bool { return i.Name == in.Name })] = changed[0]
		allIntents = func() []intent.Intent { return every }
	}
	for _, l := range lines {
		if decide(l.command, l.state).Verdict == permissions.Allow {
			return "corpus"
		}
	}
	return ""
}

// A small change of any entry of the tables is seen: by what tables.golden has of it, or since something passes that
// the corpus or the tricks refuse. What is not seen is listed.
func TestSchemaMutation(t *testing.T) {
	b := newMutationBench(t)
	var all []*mutant
	for _, n := range b.nodes {
		all = append(all, n.mutants()...)
	}
	step := sampled()
	var judged []*mutant
	equal := map[string]int{}
	for i, m := range all {
		switch {
		case i%step != 0:
		case m.equal != "":
			equal[m.equal]++
		default:
			judged = append(judged, m)
		}
	}
	by := b.judgeAll(judged)
	report(t, judged, by, equal, len(all), step)
}

// sampled is one, or with -short and with the race detector how many are passed over for each that is judged.
func sampled() int {
	if testing.Short() || raceDetector {
		return 40
	}
	return 1
}

// judgeAll gives for each mutant what killed it.
func (b *mutationBench) judgeAll(list []*mutant) []string {
	by := make([]string, len(list))
	for _, m := range list {
		if n := m.node; n.src != nil {
			if _, ok := b.whole[n]; !ok {
				b.whole[n] = false
				if p, t, err := b.plain(n); p != nil && (err != nil || b.differs(p, t, "") != "") {
					b.whole[n] = true
				}
			}
		}
	}
	var next sync.Mutex
	i := 0
	take := func() int {
		next.Lock()
		defer next.Unlock()
		for i < len(list) && list[i].node.src == nil {
			i++
		}
		i++
		return i - 1
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := take(); n < len(list); n = take() {
				if p := b.entry(list[n].node); p != nil {
					by[n] = b.killed(list[n], p)
				}
			}
		})
	}
	wg.Wait()
	for i, m := range list {
		switch {
		case m.node.part != "":
			by[i] = b.killedPart(m)
		case m.node.src == nil:
			by[i] = b.killedLauncher(m)
		}
		if by[i] == "" {
			by[i] = b.killedEngine(m)
		}
	}
	return by
}

func (b *mutationBench) plain(n *node) (*probe, schema.Table, error) {
	t, err := b.table(n, func(*schema.Program) {})
	return b.entry(n), t, err
}

type mutationScore struct{ mutants, killed int }

func (s mutationScore) percent() float64 { return 100 * float64(s.killed) / float64(max(s.mutants, 1)) }

func report(t *testing.T, list []*mutant, by []string, equal map[string]int, all, step int) {
	files, kinds := map[string]*mutationScore{}, map[string]*mutationScore{}
	var total mutationScore
	var survivors []string
	count := map[string]int{}
	for i, m := range list {
		for _, s := range []*mutationScore{&total, at(files, m.file), at(kinds, m.kind)} {
			s.mutants++
			if by[i] != "" {
				s.killed++
			}
		}
		if count[by[i]]++; by[i] == "" {
			table := m.file
			if m.node.src != nil {
				table += " [" + m.node.src.table + "]"
			}
			survivors = append(survivors, table+" "+m.kind+": "+m.what)
		}
	}
	var out strings.Builder
	if step > 1 {
		fmt.Fprintf(&out, "a sample: every %dth of %d changes\n", step, all)
	}
	for _, table := range []map[string]*mutationScore{files, kinds} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			s := table[name]
			fmt.Fprintf(&out, "%-36s %6d mutants %6d killed %6.1f %%\n", name, s.mutants, s.killed, s.percent())
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "%-36s %6d mutants %6d killed %6.1f %%  (golden %d, refused as a table %d, corpus and tricks %d)\n", "all", total.mutants, total.killed, total.percent(), count["golden"], count["refused"], count["corpus"])
	fmt.Fprintf(&out, "%d survivors\n", len(survivors))
	for _, s := range survivors {
		out.WriteString("\t" + s + "\n")
	}
	for _, why := range slices.SortedFunc(maps.Keys(equal), func(a, b string) int { return cmp.Compare(equal[b], equal[a]) }) {
		fmt.Fprintf(&out, "left out %5d: %s\n", equal[why], why)
	}
	t.Log("\n" + out.String())
	for name, s := range files {
		if s.percent() < 95 && (step == 1 || s.mutants > 100) {
			t.Errorf("%s: %.1f %% of the mutants are killed, want 95 %%", name, s.percent())
		}
	}
	if total.percent() < 95 {
		t.Errorf("%.1f %% of the mutants are killed, want 95 %%", total.percent())
	}
}

func at(m map[string]*mutationScore, name string) *mutationScore {
	if m[name] == nil {
		m[name] = &mutationScore{}
	}
	return m[name]
}
