package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Program is one program, or one of its subcommands. See the package comment for the format.
type Program struct {
	Name     string            `json:"name,omitempty"`
	Flags    map[string]string `json:"flags,omitempty"`
	Number   string            `json:"number,omitempty"`
	Operands string            `json:"operands,omitempty"`
	Unless   string            `json:"unless,omitempty"`
	Needs    string            `json:"needs,omitempty"`
	OnlyWith string            `json:"onlyWith,omitempty"`
	Commands []*Program        `json:"commands,omitempty"`
	Single   bool              `json:"single,omitempty"`
	Grouped  bool              `json:"grouped,omitempty"`
	Wraps    bool              `json:"wraps,omitempty"`
	Assigns  bool              `json:"assigns,omitempty"`
	Git      bool              `json:"git,omitempty"`
	Foreign  bool              `json:"foreign,omitempty"`
	Globs    bool              `json:"globs,omitempty"`
	Plain    bool              `json:"plain,omitempty"`
	NoEnd    bool              `json:"noEnd,omitempty"`
	Leading  bool              `json:"leading,omitempty"`
	Fed      bool              `json:"fed,omitempty"`
	Names    bool              `json:"names,omitempty"`
	Bare     bool              `json:"bare,omitempty"`
	Only     bool              `json:"only,omitempty"`
	Also     string            `json:"also,omitempty"`
	Via      string            `json:"via,omitempty"`
	Launches string            `json:"launches,omitempty"`
	With     string            `json:"with,omitempty"`
	Rest     *Program          `json:"rest,omitempty"`
	Absent   string            `json:"absent,omitempty"`
	Greedy   string            `json:"greedy,omitempty"`
	Tame     bool              `json:"tame,omitempty"`
	Guard    string            `json:"guard,omitempty"`

	read     func() // what is left of it: see Deferred
	then     []func()
	compiled bool
	title    string           // the name with those of the programs around: git log
	flags    map[string]value // by spelling
	operands []operand
	unless   map[string]bool
	needs    map[string]bool
	onlyWith map[string]bool
	greedy   map[string]bool
	commands map[string]*Program
}

// value is what a flag takes.
type value struct {
	kind     string
	attached bool // only in an attached form, and optional
	apart    bool // never in an attached form
	named    bool // a name stands before it
}

type operand struct {
	kind     string
	any      bool // any number
	required bool
}

// Table is a set of programs by name. What a name stands for is worked out when it is first asked for. It is safe for
// concurrent use, and copies are the same table.
type Table struct {
	list []*Program
	memo *memo
}

// memo remembers what names stand for. A nil Program is no program.
type memo struct {
	mu     sync.RWMutex
	byName map[string]*Program
}

// maxUnknown is how many names that stand for nothing are remembered beside the programs.
const maxUnknown = 1024

// Read decodes a table. The error names what is wrong with it.
func Read(data []byte) (Table, error) {
	list, err := decode(data)
	if err != nil {
		return Table{}, err
	}
	return New(list)
}

func decode(data []byte) ([]*Program, error) {
	var list []*Program
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("schema: read table: %w: correct the file", err)
	}
	return list, nil
}

// New makes a table of programs, under all names by which they may be started. The list is the table's from then on.
func New(list []*Program) (Table, error) {
	seen := map[string]bool{}
	for _, p := range list {
		if err := p.compile(p.Name); err != nil {
			return Table{}, err
		}
		for _, name := range p.names() {
			if seen[name] {
				return Table{}, fmt.Errorf("schema: program %q is listed twice: keep one", name)
			}
			seen[name] = true
		}
	}
	return Embedded(list), nil
}

// Embedded makes a table as [New] does, of a list in which a test has found no mistake: it looks at a program when it is
// first asked for, and panics when there is a mistake all the same.
func Embedded(list []*Program) Table {
	return Table{list: list, memo: &memo{byName: map[string]*Program{}}}
}

// program is what a name stands for, or nil.
func (t Table) program(name string) *Program {
	if t.memo == nil {
		return nil
	}
	t.memo.mu.RLock()
	p, known := t.memo.byName[name]
	t.memo.mu.RUnlock()
	if known {
		return p
	}
	t.memo.mu.Lock()
	defer t.memo.mu.Unlock()
	p = t.find(name)
	if p != nil || len(t.memo.byName) < maxUnknown {
		t.memo.byName[name] = p
	}
	return p
}

// find works out what a name stands for: a program of the list, or a way to start some. The memo is locked.
func (t Table) find(name string) *Program {
	if slices.ContainsFunc(t.list, func(p *Program) bool { return p.Only && p.Name == name }) {
		return nil
	}
	return t.startedBy(name, launchers())
}

// own is the program of the list that is called by a name.
func (t Table) own(name string) *Program {
	i := slices.IndexFunc(t.list, func(p *Program) bool { return p.called(name) })
	if i < 0 {
		return nil
	}
	return t.list[i].ready()
}

// names are all names that stand for something.
func (t Table) names() []string {
	var out []string
	for _, p := range t.list {
		out = append(out, p.names()...)
	}
	for _, l := range launchers() {
		if !l.isFolder() {
			out = append(out, l.names()...)
			continue
		}
		for _, p := range t.list {
			if l.launches(p) {
				out = append(out, l.Name+p.Name)
			}
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return t.program(name) == nil })
}

// Called lists the names that the table's programs, their subcommands and what they launch are called by.
func (t Table) Called() []string {
	out := t.names()
	for _, name := range slices.Clone(out) {
		out = append(out, t.program(name).calledBy()...)
	}
	return out
}

// calledBy lists the names that p, its subcommands and what it launches are called by.
func (p *Program) calledBy() []string {
	out := p.names()
	for name, c := range p.commands {
		out = append(append(out, name), c.calledBy()...)
	}
	return out
}

// called reports whether name is p's name or one of its equals.
func (p *Program) called(name string) bool {
	if p.Name == name {
		return true
	}
	for also := range strings.FieldsSeq(p.Also) {
		if also == name {
			return true
		}
	}
	return false
}

// ready is p, compiled.
func (p *Program) ready() *Program {
	if !p.compiled {
		p.Whole()
		if err := p.compile(p.Name); err != nil {
			panic(err) // see Embedded
		}
	}
	return p
}

// names are the name and its equals.
func (p *Program) names() []string { return append([]string{p.Name}, strings.Fields(p.Also)...) }

func (p *Program) compile(name string) error {
	if p.Name == "" {
		return fmt.Errorf("schema: a program below %q has no name: give it one", name)
	}
	if err := p.take(name); err != nil {
		return err
	}
	p.compiled, p.title = true, name
	p.flags, p.commands, p.operands = make(map[string]value, 4*len(p.Flags)), nil, nil
	if p.Rest != nil {
		p.Rest.Name = p.Name + " --"
		p.guards(p.Rest)
		if err := p.Rest.compile(name + " --"); err != nil {
			return err
		}
	}
	p.unless, p.needs, p.onlyWith, p.greedy = spellings(p.Unless), spellings(p.Needs), spellings(p.OnlyWith), spellings(p.Greedy)
	for spellings, kind := range p.Flags {
		v := value{kind: strings.TrimLeft(kind, "?!&"), attached: strings.HasPrefix(kind, "?"), named: strings.HasPrefix(kind, "&")}
		v.apart = v.named || strings.HasPrefix(kind, "!")
		if v.kind != "" && !known(v.kind) {
			return fmt.Errorf("schema: %s %s has the unknown kind %q: see the package comment", name, spellings, kind)
		}
		for s := range strings.FieldsSeq(spellings) {
			if before, ok := p.flags[s]; ok && before != v {
				return fmt.Errorf("schema: %s has %s twice, with different kinds: keep one", name, s)
			}
			p.flags[s] = v
		}
	}
	if err := p.compileOperands(name); err != nil {
		return err
	}
	if len(p.Commands) > 0 {
		p.commands = make(map[string]*Program, len(p.Commands))
	}
	for _, c := range p.Commands {
		p.guards(c)
		if err := c.compile(name + " " + c.Name); err != nil {
			return err
		}
		for _, n := range c.names() {
			if p.commands[n] != nil {
				return fmt.Errorf("schema: %s %s is listed twice: keep one", name, n)
			}
			p.commands[n] = c
		}
	}
	return nil
}

// guards hands p's guard on to what follows it.
func (p *Program) guards(c *Program) {
	if c.Guard == "" {
		c.Guard = p.Guard
	}
	c.Tame = c.Tame || p.Tame
}

func spellings(list string) map[string]bool {
	if list == "" {
		return nil
	}
	m := map[string]bool{}
	for s := range strings.FieldsSeq(list) {
		m[s] = true
	}
	return m
}

func (p *Program) compileOperands(name string) error {
	for f := range strings.FieldsSeq(p.Operands) {
		o := operand{kind: strings.TrimRight(f, "*+?"), required: true}
		switch f[len(f)-1] {
		case '*':
			o.any, o.required = true, false
		case '+':
			o.any = true
		case '?':
			o.required = false
		}
		if !known(o.kind) {
			return fmt.Errorf("schema: %s has an operand of the unknown kind %q: see the package comment", name, f)
		}
		p.operands = append(p.operands, o)
	}
	return nil
}
