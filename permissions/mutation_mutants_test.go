package permissions_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
)

// mutant is one small change of a table file.
type mutant struct {
	file  string
	kind  string // what kind of change
	what  string // the program and the change, for people
	flag  string // the spelling that was changed, when one was
	node  *node
	edit  func(*schema.Program)
	equal string // the rule by which nothing can tell it from the table; empty when something should
}

// node is a program in a table file, and the way to it.
type node struct {
	all    *sources
	src    *source  // nil for parts and launchers
	trail  []int    // from the list of the file, through Commands; rest is Rest
	part   string   // of parts.json
	path   []string // as in tables.golden
	p      *schema.Program
	parent *node
}

const rest = -1

// neighbours are kinds that are easily taken for one another: each mutation puts one in the place of the other.
var neighbours = map[string][]string{
	"":    {"text", "?text"},
	"int": {"count", "word", "text"}, "count": {"int", "word", "text"}, "word": {"int", "text", "path"}, "text": {"word", "path", "show"}, "duration": {"word", "int"},
	"npm": {"word", "text", "path"}, "pypi": {"word", "text", "path"}, "module": {"word", "text", "package"}, "composer": {"word", "text", "path"}, "branch": {"word", "text", "rev"}, "label": {"word", "text", "path"},
	"triple": {"word", "path"}, "scope": {"word", "text", "path"}, "repo": {"word", "text", "path"}, "endpoint": {"word", "text"}, "target": {"word", "text"}, "kustom": {"word", "text"},
	"image": {"word", "text"}, "setting": {"word", "text"}, "listen": {"int", "word", "text"}, "ldflags": {"word", "text"}, "cmakevar": {"setting", "text"},
	"context": {"path", "made", "text"}, "made": {"path", "out", "text"}, "out": {"report", "path", "text"}, "report": {"out", "path", "text"}, "dir": {"path", "meta", "text"},
	"nodeid": {"path", "line", "text"}, "line": {"path", "nodeid", "text"}, "path": {"meta", "file", "text", "rev"}, "file": {"path", "meta", "text"}, "meta": {"path", "file", "text"}, "show": {"text", "meta"},
	"rev": {"path", "text", "branch"}, "pretty": {"text", "word"}, "ref": {"text", "word"}, "printf": {"text", "show"}, "sed": {"text", "path"}, "awk": {"text", "path"}, "jq": {"text", "path"}, "plus": {"text", "word"},
	"symbol": {"word", "package", "text"}, "package": {"path", "symbol", "text"},
}

// marks are what may stand before the kind of a flag's value.
var marks = slices.DeleteFunc([]string{"", "?", "!", "&"}, func(m string) bool {
	_, err := schema.New([]*schema.Program{{Name: "x", Flags: map[string]string{"-x": m + "word"}}})
	return err != nil
})

// neighboursOf are those of a kind; of a list of words also the list without one, and any word.
func neighboursOf(kind string) []string {
	if !strings.ContainsAny(kind, "|~,") {
		if out := neighbours[kind]; out != nil {
			return out
		}
		return []string{"word", "text", "path"}
	}
	out := []string{"word", "text"}
	words := strings.Split(strings.TrimLeft(kind, "~,"), "|")
	if len(slices.Compact(slices.Clone(words))) > 1 {
		out = append(out, kind[:len(kind)-len(strings.Join(words, "|"))]+lone(words[1:]), kind[:len(kind)-len(strings.Join(words, "|"))]+lone(words[:len(words)-1]))
	}
	if begin := strings.TrimLeft(kind, "~,"); begin != kind {
		out = append(out, lone(words))
	}
	return out
}

// lone is a list of words, which has a bar in it even when it is one word.
func lone(words []string) string {
	if len(words) == 1 {
		return words[0] + "|" + words[0]
	}
	return strings.Join(words, "|")
}

// nodes are all programs of the table files.
func (s *sources) nodes() []*node {
	var out []*node
	var walk func(n *node)
	walk = func(n *node) {
		out = append(out, n)
		for i, c := range n.p.Commands {
			walk(&node{all: s, src: n.src, part: n.part, trail: append(slices.Clone(n.trail), i), path: append(slices.Clone(n.path), c.Name), p: c, parent: n})
		}
		if n.p.Rest != nil {
			walk(&node{all: s, src: n.src, part: n.part, trail: append(slices.Clone(n.trail), rest), path: append(slices.Clone(n.path), "--"), p: n.p.Rest, parent: n})
		}
	}
	for _, src := range s.all {
		for i, p := range src.list {
			walk(&node{all: s, src: src, trail: []int{i}, path: []string{p.Name}, p: p})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.parts)) {
		walk(&node{all: s, part: name, path: []string{name}, p: s.parts[name]})
	}
	for i, l := range s.launchers {
		walk(&node{all: s, trail: []int{i}, path: []string{l.Name}, p: l})
	}
	return out
}

// edit returns a list with a changed copy of the program that a trail leads to, and of those above it. Only the first
// program is in it, and of the subcommands on the way only those that are needed, unless whole is set.
func edit(list []*schema.Program, trail []int, whole bool, change func(*schema.Program)) []*schema.Program {
	top := keep(list[trail[0]], trail[1:], whole, change)
	if !whole {
		return []*schema.Program{top}
	}
	out := cloneAll(list)
	out[trail[0]] = top
	return out
}

func keep(p *schema.Program, trail []int, whole bool, change func(*schema.Program)) *schema.Program {
	out := *p
	out.Flags = maps.Clone(p.Flags)
	if out.Flags == nil {
		out.Flags = map[string]string{}
	}
	switch {
	case len(trail) == 0:
		out.Commands = cloneAll(p.Commands)
		if p.Rest != nil {
			out.Rest = clone(p.Rest)
		}
		if !whole && len(out.Commands) > 1 {
			out.Commands = out.Commands[:1]
		}
		change(&out)
	case trail[0] == rest:
		out.Commands = cloneAll(p.Commands)
		out.Rest = keep(p.Rest, trail[1:], whole, change)
	default:
		if p.Rest != nil {
			out.Rest = clone(p.Rest)
		}
		c := keep(p.Commands[trail[0]], trail[1:], whole, change)
		if !whole {
			out.Commands = []*schema.Program{c}
			break
		}
		out.Commands = cloneAll(p.Commands)
		out.Commands[trail[0]] = c
	}
	return &out
}

// mutants are all changes of one program: of its flags, its operands, and what else it says.
func (n *node) mutants() []*mutant {
	var out []*mutant
	file := "schema/launchers.json"
	switch {
	case n.src != nil:
		file = n.src.file
	case n.part != "":
		file = "schema/parts.json"
	}
	add := func(kind, what, flag string, change func(*schema.Program)) *mutant {
		m := &mutant{file: file, kind: kind, what: strings.Join(n.path, " ") + ": " + what, flag: flag, node: n, edit: change}
		if launcher := n.src == nil && n.part == ""; strings.HasPrefix(kind, "flag") && launcher && n.beside(flag) || kind == "number" && launcher && (strings.HasSuffix(n.p.Name, "/") || n.beside("")) {
			m.equal = notOfLaunchers
		}
		out = append(out, m)
		return m
	}
	for _, key := range slices.Sorted(maps.Keys(n.p.Flags)) {
		for f := range strings.FieldsSeq(key) {
			n.flagMutants(add, key, f)
		}
	}
	n.operandMutants(add)
	n.wordMutants(add)
	if n.part == "" || len(n.trail) > 0 {
		n.boolMutants(add)
	}
	return out
}

type adder func(kind, what, flag string, change func(*schema.Program)) *mutant

func (n *node) flagMutants(add adder, key, f string) {
	kind := n.p.Flags[key]
	set := func(kind string, keep bool) func(*schema.Program) {
		return func(p *schema.Program) {
			delete(p.Flags, key)
			if rest := strings.Join(slices.DeleteFunc(strings.Fields(key), func(s string) bool { return s == f }), " "); rest != "" {
				p.Flags[rest] = n.p.Flags[key]
			}
			if keep {
				p.Flags[f] = kind
			}
		}
	}
	removed := add("flag removed", f, f, set("", false))
	if n.bundled(f) {
		removed.equal = bundle
	}
	bare := strings.TrimLeft(kind, "?!&")
	mark := kind[:len(kind)-len(bare)]
	if kind != "" {
		add("flag takes no value", f, f, set("", true))
		for _, m := range marks {
			if m != mark {
				add("flag's value attached or apart", f+" "+kind+" -> "+m+bare, f, set(m+bare, true))
			}
		}
	}
	for _, other := range neighboursOf(bare) {
		kindOf := "flag's kind of value"
		if bare == "" {
			kindOf = "flag takes a value"
		}
		m := add(kindOf, f+" "+kind+" -> "+mark+other, f, set(mark+other, true))
		if bare == "" && n.bundled(f) {
			m.equal = bundle
		}
	}
}

const bundle = "a flag such as -vv is also a bundle of -v"

func (n *node) bundled(f string) bool {
	kind, ok := n.all.everyFlag(n.p)[f[:2]]
	return len(f) > 2 && f[1] != '-' && strings.Trim(f[1:], f[1:2]) == "" && ok && kind == "" && !n.p.Single
}

func (n *node) operandMutants(add adder) {
	ops := strings.Fields(n.p.Operands)
	set := func(i int, o string) func(*schema.Program) {
		return func(p *schema.Program) {
			now := slices.Clone(ops)
			if now[i] = o; o == "" {
				now = slices.Delete(now, i, i+1)
			}
			p.Operands = strings.Join(now, " ")
		}
	}
	for i, o := range ops {
		bare := strings.TrimRight(o, "*+?")
		mark := o[len(bare):]
		for _, other := range neighboursOf(bare) {
			add("operand's kind", o+" -> "+other+mark, "", set(i, other+mark))
		}
		for _, m := range []string{"", "?", "*", "+"} {
			if m != mark && (i == len(ops)-1 || m != "*" && m != "+") {
				add("operand required, optional or any", o+" -> "+bare+m, "", set(i, bare+m))
			}
		}
		add("operand removed", o, "", set(i, ""))
	}
	if n.part == "" && (len(n.p.Commands) == 0 && n.p.Launches == "" || n.p.Bare) {
		add("operand added", strings.TrimSpace(n.p.Operands+" path?"), "", func(p *schema.Program) { p.Operands = strings.TrimSpace(p.Operands + " path?") })
	}
}

// wordMutants drop what is listed by name.
func (n *node) wordMutants(add adder) {
	for _, l := range lists {
		words := strings.Fields(*l.of(n.p))
		for i, w := range words {
			add(l.name+" without one", w, w, func(p *schema.Program) { *l.of(p) = strings.Join(slices.Delete(slices.Clone(words), i, i+1), " ") })
		}
		if len(words) > 1 {
			add(l.name+" dropped", "", "", func(p *schema.Program) { *l.of(p) = "" })
		}
	}
	switch n.p.Number {
	case "":
		if n.part == "" && !n.p.Plain {
			add("number", "added", "", func(p *schema.Program) { p.Number = "int" })
		}
	default:
		add("number", "dropped", "", func(p *schema.Program) { p.Number = "" })
		add("number", "count", "", func(p *schema.Program) { p.Number = "count" })
	}
	if n.p.Rest != nil {
		add("rest dropped", "", "", func(p *schema.Program) { p.Rest = nil })
	}
	if n.parent != nil && n.trail[len(n.trail)-1] != rest {
		add("subcommand removed", "", "", func(p *schema.Program) { p.Name += "-gone"; p.Also = "" })
	}
}

// field is a field of a program that mutants change.
type field[T any] struct {
	name string
	of   func(*schema.Program) *T
}

// lists are the fields that list words, properties those that hold or do not.
var (
	lists      = fieldsOf[string]("name", "number", "operands")
	properties = fieldsOf[bool]()
)

func fieldsOf[T any](but ...string) []field[T] {
	var out []field[T]
	for _, f := range reflect.VisibleFields(reflect.TypeFor[schema.Program]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && f.Type == reflect.TypeFor[T]() && !slices.Contains(but, name) {
			out = append(out, field[T]{name, func(p *schema.Program) *T {
				return reflect.ValueOf(p).Elem().FieldByIndex(f.Index).Addr().Interface().(*T)
			}})
		}
	}
	return out
}

func (n *node) boolMutants(add adder) {
	for _, b := range properties {
		was := *b.of(n.p)
		if b.name == "only" && (n.src == nil || n.parent != nil || !was && n.p.Via == "") {
			continue // it is said of a program that others start, and nowhere else
		}
		sign := "+"
		if was {
			sign = "-"
		}
		add(b.name, sign+b.name, "", func(p *schema.Program) { *b.of(p) = !was }).equal = n.equal(b.name, was)
	}
}

// equal is the rule by which nothing in the engine can tell a program with a property from one without.
func (n *node) equal(property string, was bool) string {
	p, flags, ops := n.p, n.all.everyFlag(n.p), n.all.operandsOf(n.p)
	inIntent := n.src != nil && n.src.in != nil || n.src == nil
	starts := len(p.Commands) > 0 || p.Launches != ""
	several := strings.ContainsAny(strings.Join(ops, " "), "*+ ")
	switch {
	case n.trail != nil && n.trail[len(n.trail)-1] == rest && slices.Contains([]string{"git", "foreign", "names", "fed"}, property):
		return "of what stands behind a -- only the arguments and paths count, the rest is said by the program before it"
	case inIntent && slices.Contains([]string{"foreign", "names", "fed"}, property):
		return "foreign, names and fed are asked of the read-only table alone: a grant holds in no foreign shell, and no grant lets xargs feed a command"
	case starts && !p.Bare && slices.Contains([]string{"names", "globs", "fed"}, property):
		return "a program that needs a subcommand takes names, globs and fed from that"
	case property == "tame" && !n.free(flags, ops):
		return "tame is about values of a grant's programs that could be an effect's name: it has none, or the program above says it"
	case n.src == nil && n.part == "" && (strings.HasSuffix(p.Name, "/") || n.beside("")):
		return notOfLaunchers
	case starts && (!p.Bare || len(ops) == 0) && slices.Contains([]string{"wraps", "assigns", "grouped", "leading"}, property):
		return "a program that needs a subcommand has no operands"
	case property == "foreign" && starts && !p.Bare && !slices.ContainsFunc(p.Commands, func(c *schema.Program) bool { return c.Foreign }):
		return "a subcommand is foreign only when all above it are, and none is"
	case property == "noEnd" && (starts || p.Wraps || p.Plain || p.Rest != nil):
		return "-- is refused, handed on or printed already: the program has subcommands, wraps, is plain or has a rest"
	case property == "noEnd" && n.src != nil && n.src.in != nil && n.path[0] != "git":
		return "intents set noEnd themselves for every program without subcommands but git"
	case property == "bare" && !starts:
		return "bare is asked of programs with subcommands only"
	case property == "fed" && !p.Wraps:
		return "fed is asked of a wrapper only"
	case property == "foreign" && n.parent != nil && !n.foreign():
		return "a subcommand is foreign only when all above it are"
	case property == "git" && n.parent != nil && n.gitAbove():
		return "git is said above already"
	case (property == "leading" || property == "grouped") && (len(flags) == 0 && p.Number == "" || len(ops) == 0 || p.Plain || p.Wraps):
		return "leading and grouped are about flags among operands: it has not both"
	case property == "grouped" && !several:
		return "operands stand together when there is only one"
	case property == "globs" && inIntent && !slices.ContainsFunc(ops, isSwept):
		return "a glob stands only where any number of paths may"
	case property == "single" && len(flags) == 0:
		return "single is about flags: it has none"
	case property == "plain" && inIntent && len(flags) == 0 && p.Number == "" && p.Rest == nil && (starts && !p.Bare || len(ops) == 0), property == "plain" && starts && !p.Bare && len(flags) == 0 && p.Number == "":
		return "plain is about flags and operands: it has neither"
	case property == "plain" && inIntent && len(flags) == 0 && p.Number == "" && p.Rest == nil && !slices.ContainsFunc(ops, takesDash):
		return "plain is about what begins with -: it has no flags, and its operands never do"
	}
	return ""
}

const notOfLaunchers = "of a launcher that is a folder, or that every intent has a table for, only its names and what it starts count: the intent's own holds"

// beside reports whether every intent with programs that a launcher starts has a table of its own for it, with a flag
// when one is named.
func (n *node) beside(flag string) bool {
	families := n.p.Launches
	for _, c := range n.p.Commands {
		families += " " + c.Launches
	}
	for _, src := range n.all.all {
		if src.in == nil || !slices.ContainsFunc(src.list, func(p *schema.Program) bool { return shares(families, p.Via) }) {
			continue
		}
		list := src.programs(cloneAll(src.list))
		for depth, name := range n.path {
			i := slices.IndexFunc(list, func(p *schema.Program) bool { return p.Name == name })
			if i < 0 {
				return false
			}
			if _, ok := n.all.everyFlag(list[i])[flag]; depth == len(n.path)-1 && flag != "" && !ok {
				return false
			}
			list = list[i].Commands
		}
	}
	return true
}

func takesDash(o string) bool {
	kind := strings.TrimRight(o, "*+?")
	return !strings.ContainsAny(kind, "|~,") && !slices.Contains([]string{"int", "word", "npm", "pypi", "module", "composer", "branch", "label", "triple", "scope", "repo", "target", "image", "listen", "duration"}, kind)
}

// isSwept reports whether an operand may be a glob.
func isSwept(o string) bool {
	return strings.ContainsAny(o, "*+") && slices.Contains([]string{"path", "meta", "file", "rev", "nodeid", "line", "context", "show", "dir"}, strings.TrimRight(o, "*+"))
}

// free reports whether tame could make a difference.
func (n *node) free(flags map[string]string, ops []string) bool {
	if n.src == nil || n.src.in == nil {
		return false
	}
	for a := n.parent; a != nil; a = a.parent {
		if a.p.Tame {
			return false
		}
	}
	isFree := func(kind string) bool {
		kind = strings.Trim(kind, "?!&*+")
		return kind != "" && !strings.ContainsAny(kind, "|~,") && !slices.Contains([]string{"int", "count", "duration", "listen", "perm", "runtime", "warning"}, kind)
	}
	for _, kind := range flags {
		if isFree(kind) {
			return true
		}
	}
	return slices.ContainsFunc(ops, isFree)
}

func (n *node) foreign() bool {
	for a := n.parent; a != nil; a = a.parent {
		if !a.p.Foreign {
			return false
		}
	}
	return true
}

func (n *node) gitAbove() bool {
	for a := n.parent; a != nil; a = a.parent {
		if a.p.Git {
			return true
		}
	}
	return false
}
