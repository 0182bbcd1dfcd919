package schema

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// ErrUnknown means that a command has a name or an argument that its table does not list. It says nothing about harm.
var ErrUnknown = errors.New("schema: not in the table")

// unlisted is an [ErrUnknown] that says what is not listed. Its text is put together when it is asked for: most commands
// make some on their way, and nobody reads them.
type unlisted struct {
	text    [4]string
	article string // before kind
	kind    string // what would have fitted
}

func (u unlisted) Error() string {
	return ErrUnknown.Error() + ": " + u.text[0] + u.text[1] + u.text[2] + u.text[3] + choice(u.kind, u.article)
}

func (u unlisted) Is(target error) bool { return target == ErrUnknown }

// because is an [unlisted] of its parts.
func because(text ...string) error {
	var u unlisted
	copy(u.text[:], text)
	return u
}

// Use is what a command that fits its schema does.
type Use struct {
	Paths   []Path
	Git     bool // depends on the repository's git configuration
	Foreign bool // holds in somebody else's shell too
	// Inner is the command that a wrapper runs, with the prefixes that it adds; nil without a wrapper.
	Inner    []shellcmd.Word
	InnerEnv []shellcmd.Assign
	Fed      bool // Inner gets further words from its input
	Names    bool // nothing of any content is printed
	Globs    bool // no flag does harm
	// Absent names files, each after a blank, that must not lie in the folder it runs in or above: it would obey them.
	Absent string
}

// Match reads a whole command. The name must be bare and literal. The error wraps [ErrUnknown] and names the argument.
func (t Table) Match(argv []shellcmd.Word) (Use, error) {
	if len(argv) == 0 || !argv[0].Literal() {
		return Use{}, because("the program's name cannot be told")
	}
	p := t.program(argv[0].Text)
	if p == nil {
		return Use{}, because(argv[0].Text, " is not a known program")
	}
	use, err := p.match(argv[0].Text, argv[1:])
	if strings.Contains(argv[0].Text, "/") {
		use.Paths = append(use.Paths, Path{Word: argv[0], Text: argv[0].Text, Reach: Run})
	}
	return use, err
}

// Match reads the arguments of p.
func (p *Program) Match(args []shellcmd.Word) (Use, error) { return p.match(p.Name, args) }

func (p *Program) match(typed string, args []shellcmd.Word) (Use, error) {
	m := matcher{p: p, root: p, typed: typed, word: typed, use: p.use()}
	err := m.run(args)
	return m.use, err
}

// use is what p does whatever its arguments.
func (p *Program) use() Use {
	return Use{Git: p.Git, Foreign: p.Foreign, Fed: p.Fed, Names: p.Names, Globs: p.Globs, Absent: p.Absent}
}

type matcher struct {
	p        *Program
	root     *Program // as it began
	typed    string   // what root was called
	word     string   // what p was called
	use      Use
	words    int // that are left: there are at most as many paths
	operands []pending
	seen
}

// seen is what was read of one program so far. A subcommand begins anew.
type seen struct {
	replaced bool   // a flag took the first operand's place
	needed   bool   // one of the flags that must be given was
	opened   bool   // one of the flags without which there are no operands was given
	after    bool   // a flag came after operands
	done     bool   // after --
	moved    bool   // a flag named the folder to run in
	greedy   string // the kind of the words that follow, which the last flag takes
	last     string // the last flag
	binary   string // the program that is written beside its sources
}

// pending is an operand whose kind is only known when all flags were seen.
type pending struct {
	w    shellcmd.Word
	done bool
}

func (m *matcher) run(args []shellcmd.Word) error {
	for len(args) > 0 {
		m.words = len(args)
		n, finished, err := m.step(args)
		if err != nil || finished {
			return err
		}
		args = args[n:]
	}
	if m.p.Wraps && m.use.Inner == nil {
		return because(m.title(), " without a command")
	}
	if len(m.p.commands) > 0 && !m.p.Bare {
		return because(m.title(), " without a subcommand")
	}
	return m.complete()
}

// step reads one flag with its value, or one operand, and says how many words it took. finished is set when something
// else has read the rest.
func (m *matcher) step(args []shellcmd.Word) (n int, finished bool, err error) {
	w := args[0]
	switch {
	case w.Unknown && !w.Printed:
		return 0, false, because(w.Source, " can only be told by running it")
	case !m.done && !m.p.Plain && w.Text == "--" && w.Literal():
		switch {
		case m.p.Rest != nil:
			return 0, true, m.rest(args[1:])
		case len(m.p.commands) > 0 || m.p.Wraps || m.p.NoEnd:
			return 0, false, because("-- of ", m.title())
		}
		m.done = true
		return 1, false, nil
	case !m.done && w.Literal() && m.p.commands[w.Text] != nil && (len(m.operands) == 0 || !m.p.Bare):
		return m.subcommand(args)
	case m.isFlag(w):
		if m.after = len(m.operands) > 0; m.after && m.p.Leading {
			return 0, false, because(w.Source, " after the operands of ", m.title())
		}
		n, err = m.flag(args)
		return n, false, err
	case len(m.p.commands) > 0 && !(m.p.Bare && len(m.p.operands) > 0):
		return m.subcommand(args)
	case m.p.Wraps && m.begins(w):
		m.use.Inner = args
		return 0, true, m.complete()
	case m.p.Grouped && m.after:
		return 0, false, because(w.Source, " after the flags that follow the operands")
	}
	if m.greedy != "" {
		return 1, false, m.value(m.greedy, w, w.Text)
	}
	if m.p.Guard != "" && w.Text == "false" && m.p.needs[m.last] {
		return 0, false, because("false takes ", m.last, " back")
	}
	m.last = ""
	if !m.assigned(w) {
		if m.operands == nil {
			m.operands = make([]pending, 0, m.words)
		}
		m.operands = append(m.operands, pending{w, m.done})
	}
	return 1, false, nil
}

// isFlag reports whether w is read as flags. A wrapper reads none after its first operand.
func (m *matcher) isFlag(w shellcmd.Word) bool {
	if m.p.Wraps && (len(m.operands) > 0 || len(m.use.InnerEnv) > 0) {
		return false
	}
	return !m.done && !m.p.Plain && len(w.Text) > 1 && w.Text[0] == '-'
}

// rest reads what stands behind a -- that hands the rest on to another program.
func (m *matcher) rest(args []shellcmd.Word) error {
	use, err := m.p.Rest.Match(args)
	m.needed = m.needed || err == nil && len(m.p.Rest.needs) > 0
	m.use.Paths = append(m.use.Paths, use.Paths...)
	if err := m.complete(); err != nil {
		return err
	}
	return err
}

// subcommand goes on with the subcommand that args begin with.
func (m *matcher) subcommand(args []shellcmd.Word) (n int, finished bool, err error) {
	c := m.p.commands[args[0].Text]
	if c == nil || !args[0].Literal() {
		return 0, false, because(m.title(), " ", args[0].Source)
	}
	use := c.use()
	use.Git, use.Foreign, use.Paths = use.Git || m.use.Git, use.Foreign && m.use.Foreign, m.use.Paths
	if m.use.Absent != "" {
		use.Absent += " " + m.use.Absent
	}
	m.p, m.word, m.use, m.operands, m.seen = c, args[0].Text, use, m.operands[:0], seen{}
	return 1, false, nil
}

// begins reports whether the inner command begins with w.
func (m *matcher) begins(w shellcmd.Word) bool {
	isAssign := m.p.Assigns && w.Literal() && strings.Contains(w.Text, "=")
	return len(m.operands) == len(m.p.operands) && !isAssign
}

func (m *matcher) assigned(w shellcmd.Word) bool {
	name, value, ok := strings.Cut(w.Text, "=")
	if ok && m.p.Assigns {
		m.use.InnerEnv = append(m.use.InnerEnv, shellcmd.Assign{Name: name, Value: shellcmd.Word{Text: value, Source: value}})
	}
	return ok && m.p.Assigns
}

// complete judges the operands, now that every flag is known.
func (m *matcher) complete() error {
	switch {
	case len(m.p.needs) > 0 && !m.needed:
		return because(m.title(), " is known only with ", strings.Join(strings.Fields(m.p.Needs), " or "))
	case len(m.p.onlyWith) > 0 && len(m.operands) > 0 && !m.opened:
		return because("operand ", m.operands[0].w.Source, " of ", m.title()+" without "+strings.Join(strings.Fields(m.p.OnlyWith), " or "))
	}
	if m.binary != "" && (len(m.operands) != 1 || path.Base(m.operands[0].w.Text) != m.binary) {
		return because(m.binary, " of ", m.title(), " is not a file that it may write")
	}
	kinds := m.p.operands
	if m.replaced && len(kinds) > 0 {
		kinds = kinds[1:]
	}
	for i, o := range m.operands {
		k, ok := kindOf(kinds, i)
		if !ok {
			return because("operand ", o.w.Source, " of ", m.title())
		}
		if o.w.Pattern != "" && !k.any {
			return because(o.w.Source, " may expand to several words: quote it")
		}
		if startsWithGlob(o.w) && !m.p.Globs && !o.done {
			return because(o.w.Source, " may expand to a flag: write ./", o.w.Source)
		}
		if err := m.value(k.kind, o.w, o.w.Text); err != nil {
			return err
		}
	}
	if i := len(m.operands); i < len(kinds) && kinds[i].required {
		return unlisted{text: [4]string{m.title(), " without "}, article: "its ", kind: kinds[i].kind}
	}
	return nil
}

// choice is a kind in words.
func choice(kind, before string) string {
	if kind == "" {
		return ""
	}
	if strings.Contains(kind, "|") {
		words := slices.Compact(strings.Split(kind, "|"))
		if len(words) == 1 {
			return words[0]
		}
		if len(words) > 12 {
			return "one of " + strings.Join(words[:8], ", ") + " and more"
		}
		return "one of " + strings.Join(words, ", ")
	}
	if words := inWords[kind]; words != "" {
		return words
	}
	return before + kind
}

// inWords are kinds whose names say too little.
var inWords = map[string]string{
	"sed": "a script that only prints", "awk": "a program that only prints", "jq": "a filter that reads nothing else", "pretty": "a format that git prints by itself", "ref": "a format that git prints by itself",
	"endpoint": "a path of the API", "gitkey": "a name in git's configuration that holds no credentials", "inspect": "a template that leaves out the environment", "accept": "a header that changes nothing", "plus": "a +FORMAT",
	"target": "a resource that holds no secrets", "kustom": "an output format that reads no file", "int": "a number", "count": "a number", "npm": "a package by name", "pypi": "a package by name", "module": "a module by name",
	"perm": "a mode of files", "awkvar": "NAME=value", "printf": "a format that sets nothing", "symbol": "a Go package or name", "repo": "OWNER/NAME",
}

func kindOf(kinds []operand, i int) (operand, bool) {
	if i < len(kinds) {
		return kinds[i], true
	}
	if n := len(kinds); n > 0 && kinds[n-1].any {
		return kinds[n-1], true
	}
	return operand{}, false
}

func startsWithGlob(w shellcmd.Word) bool {
	return w.Pattern != "" && strings.IndexByte("*?[", w.Pattern[0]) >= 0
}

// value judges one value or operand, and remembers it when it is a path.
func (m *matcher) value(kind string, w shellcmd.Word, text string) error {
	reach, isPath := pathKinds[kind]
	moved := m.moved
	m.moved = moved || kind == "dir"
	if m.p.Guard != "" {
		if why := m.guarded(kind, w, text); why != "" {
			return because(w.Source, " of ", m.title(), " "+why)
		}
	}
	switch {
	case kind == "listed" && w.Literal() && isListed(text):
	case kind == "named" && !isNamed(text), kind == "yq" && !(w.Literal() && isYQ(text)):
		return because(w.Source, " of ", m.title(), " may be more than "+map[string]string{"named": "a file", "yq": "a filter"}[kind])
	case isPath && reach == Package:
		dir, ok := packageDir(text)
		if !ok || !w.Literal() {
			return because(w.Source, " is not a package pattern below this folder")
		}
		m.path(Path{Word: w, Text: dir, Reach: Package})
	case kind == "dir" && moved:
		return because("a second folder for ", m.title())
	case isPath && strings.Contains(text, "://"):
		return because(w.Source, " is not a path")
	case kind == "context" && !isContext(text), kind == "made" && !(w.Literal() && isMade(text)), kind == "compose" && !isCompose(text):
		return because(w.Source, " of ", m.title(), " is not a usual folder for it")
	case kind == "binary" && w.Literal() && binaryName(strings.TrimPrefix(text, "./")):
		m.binary = strings.TrimPrefix(text, "./")
		m.path(Path{Word: w, Text: text, Reach: Write})
	case reach == Write && isPath && !(w.Literal() && isOutput(kind, text)):
		return because(w.Source, " of ", m.title(), " is not a file that it may write")
	case reach == Write && isPath && text == "/dev/null":
	case isPath && w.Status, !isPath && kind != "show" && !w.Literal():
		return because(w.Source, " can only be told by running it")
	case isPath && text != "-":
		text = place(kind, text)
		m.path(Path{Word: w, Text: text, Reach: reach})
	case isPath: // standard input
	case kind == "show":
		if w.Pattern != "" || w.Tilde { // the names that it expands to are shown
			m.path(Path{Word: w, Text: text, Reach: Meta})
		}
	case !fits(kind, text):
		return unlisted{text: [4]string{w.Source, " of ", m.title(), " is not "}, article: "a ", kind: kind}
	}
	return nil
}

func (m *matcher) path(p Path) {
	if m.use.Paths == nil {
		m.use.Paths = make([]Path, 0, max(m.words, len(m.operands)))
	}
	m.use.Paths = append(m.use.Paths, p)
}

// Excludes reports whether the table does not know a command's subcommand: what [Table.Match] would say in many words.
func (t Table) Excludes(argv []shellcmd.Word) bool {
	p := t.program(argv[0].Text)
	return p == nil || len(p.commands) > 0 && !p.Bare && len(argv) > 1 && !strings.HasPrefix(argv[1].Text, "-") && p.commands[argv[1].Text] == nil
}
