package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed launchers.json
var launchersJSON []byte

//go:embed parts.json
var partsJSON []byte

// launchers are programs that start others by name: npx, python -m, bundle exec.
var launchers = sync.OnceValue(func() []*Program {
	var list []*Program
	if err := json.Unmarshal(launchersJSON, &list); err != nil {
		panic(fmt.Errorf("schema: launchers.json: %w", err)) // ours, and tested
	}
	for _, l := range list {
		if err := l.compile(l.Name); err != nil {
			panic(err)
		}
	}
	return list
})

// parts are flags that several programs have in common.
var parts = sync.OnceValue(func() map[string]*Program {
	m := map[string]*Program{}
	for name, text := range Members(partsJSON) {
		m[string(name)] = later(&Program{}, text)
	}
	return m
})

// beneath is the flags of a part and those of a program, without the spellings of the part that the program has too.
func beneath(part, own map[string]string) map[string]string {
	has := map[string]bool{}
	for spellings := range own {
		for s := range strings.FieldsSeq(spellings) {
			has[s] = true
		}
	}
	out := maps.Clone(own)
	if out == nil {
		out = map[string]string{}
	}
	for spellings, kind := range part {
		left := strings.Join(slices.DeleteFunc(strings.Fields(spellings), func(s string) bool { return has[s] }), " ")
		if left != "" {
			out[left] = kind
		}
	}
	return out
}

// take adds what the parts have that p is made with. What p says itself holds.
func (p *Program) take(name string) error {
	for with := range strings.FieldsSeq(p.With) {
		part := parts()[with]
		if part == nil {
			return fmt.Errorf("schema: %s is made with the unknown part %q: see parts.json", name, with)
		}
		part.Whole()
		p.Flags = beneath(part.Flags, p.Flags)
		if p.Operands == "" {
			p.Operands = part.Operands
		}
		if p.Rest == nil && part.Rest != nil {
			rest := *part.Rest
			p.Rest = &rest
		}
		if p.Greedy == "" {
			p.Greedy = part.Greedy
		}
		p.Tame = p.Tame || part.Tame
		if p.Number == "" {
			p.Number = part.Number
		}
	}
	return nil
}

// isFolder reports whether l is a folder in which programs lie.
func (l *Program) isFolder() bool { return strings.HasSuffix(l.Name, "/") }

// startedBy is what a name stands for when the launchers may start programs of the table, too.
func (t Table) startedBy(name string, launchers []*Program) *Program {
	if len(launchers) == 0 {
		return t.own(name)
	}
	l, before := launchers[len(launchers)-1], launchers[:len(launchers)-1]
	if l.isFolder() {
		p := t.startedBy(name, before)
		if base, below := strings.CutPrefix(name, l.Name); below && p == nil {
			return l.launched(t.list)[base]
		}
		return p
	}
	if !l.called(name) {
		return t.startedBy(name, before)
	}
	node := l.with(t.list)
	if node == nil {
		return t.startedBy(name, before)
	}
	if own := t.startedBy(l.Name, before); own != nil {
		node = own.beside(node)
	}
	return node
}

// launched are the programs of a list that l starts, by name.
func (l *Program) launched(list []*Program) map[string]*Program {
	m := map[string]*Program{}
	for _, p := range list {
		if l.launches(p) {
			for _, name := range p.names() {
				m[name] = p.ready()
			}
		}
	}
	return m
}

// launches reports whether l starts p: they have a family in common.
func (l *Program) launches(p *Program) bool {
	for family := range strings.FieldsSeq(l.Launches) {
		for via := range strings.FieldsSeq(p.Via) {
			if via == family {
				return true
			}
		}
	}
	return false
}

// with is l with the programs of a list as its subcommands; nil when it starts none of them.
func (l *Program) with(list []*Program) *Program {
	out := *l
	out.commands = l.launched(list)
	for _, c := range l.Commands {
		if strings.HasSuffix(c.Name, "/") {
			for name, p := range c.launched(list) {
				out.commands[c.Name+name] = p
			}
			continue
		}
		if sub := c.with(list); sub != nil {
			for _, name := range c.names() {
				out.commands[name] = sub
			}
		}
	}
	if len(out.commands) == 0 {
		return nil
	}
	return &out
}

// beside is p with the flags and subcommands of another that it does not have itself. What takes operands of its own
// stays as it is.
func (p *Program) beside(o *Program) *Program {
	if len(p.operands) > 0 && len(p.commands) == 0 || p.Wraps || p.Plain {
		return p
	}
	out := *p
	out.Bare = p.Bare || len(p.commands) == 0
	out.flags, out.commands = maps.Clone(o.flags), maps.Clone(o.commands)
	if out.commands == nil {
		out.commands = map[string]*Program{}
	}
	maps.Copy(out.flags, p.flags)
	for name, c := range p.commands {
		if both := o.commands[name]; both != nil {
			c = c.beside(both)
		}
		out.commands[name] = c
	}
	return &out
}
