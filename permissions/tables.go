package permissions

import (
	"errors"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Tables are a person's own programs that only read, and intents, besides those that are built in. They add, and never
// replace: what is built in is looked at first. They are read by [ReadTables]; nil adds nothing. They are safe for
// concurrent use.
type Tables struct {
	reads    schema.Table
	programs []OwnProgram
	intents  []OwnIntent
}

// OwnProgram is a program of a person's own table of those that only read.
type OwnProgram struct {
	Name   string // one of its names
	Source string // the file and line
}

// OwnIntent is an intent of a person's own table.
type OwnIntent struct {
	intent.Intent
	Source string // the file and line
}

// Programs lists the programs, by every name, in order.
func (t *Tables) Programs() []OwnProgram {
	if t == nil {
		return nil
	}
	return slices.Clone(t.programs)
}

// Intents lists the intents, in the order of the files. Do not change what they point to.
func (t *Tables) Intents() []OwnIntent { return slices.Clone(t.mine()) }

// mine is Intents for who changes nothing in it.
func (t *Tables) mine() []OwnIntent {
	if t == nil {
		return nil
	}
	return t.intents
}

// Intent returns the intent of that exact name, built in or a person's own. The source is empty for one that is built in.
func (t *Tables) Intent(name string) (in intent.Intent, source string, known bool) {
	if in, known := intent.Describe(name); known {
		return in, "", true
	}
	return t.own(name)
}

// named is Intent for who compares commands, as [intent.Named] is.
func (t *Tables) named(name string) (in intent.Intent, source string, known bool) {
	if in, known := intent.Named(name); known {
		return in, "", true
	}
	return t.own(name)
}

func (t *Tables) own(name string) (in intent.Intent, source string, known bool) {
	for _, own := range t.mine() {
		if own.Name == name {
			return own.Intent, own.Source, true
		}
	}
	return intent.Intent{}, "", false
}

// ResolvePrompt fills in what the words of a prompt mean, as the package's ResolvePrompt does. What is built in comes first.
func (t *Tables) ResolvePrompt(tool, text string) Prompt {
	p := ResolvePrompt(tool, text)
	if p.Intent != "" || tool != "Bash" {
		return p
	}
	for _, own := range t.mine() {
		if own.Says(text) {
			return promptOf(p, own.Intent)
		}
	}
	return p
}

// RunnerNames returns the base names of the files that say what commands of an intent run, as the package's RunnerNames
// does.
func (t *Tables) RunnerNames(name string) []string {
	in, _, _ := t.Intent(name)
	return in.RunnerNames()
}

// intentOf is the intent that a grant means. The words that were asked for must mean it too.
func (t *Tables) intentOf(g Grant) (in intent.Intent, source string, known bool) {
	in, source, known = t.named(g.Intent)
	if !known || g.Prompt == "" {
		return in, source, known
	}
	return in, source, t.ResolvePrompt("Bash", g.Prompt).Intent == in.Name
}

// program finds a person's own program that a command is.
func (t *Tables) program(argv []shellcmd.Word) (OwnProgram, bool) {
	if t == nil || len(argv) == 0 || !argv[0].Literal() {
		return OwnProgram{}, false
	}
	i := slices.IndexFunc(t.programs, func(p OwnProgram) bool { return p.Name == argv[0].Text })
	if i < 0 {
		return OwnProgram{}, false
	}
	return t.programs[i], true
}

// ownReads looks at a command that a person's own table says to only read. The table is a promise about the program, and
// widens nothing else: its paths stay in the tree, and whatever its other words lead to is looked at as if it were a path.
func (v *view) ownReads(c *shellcmd.Command, argv []shellcmd.Word, unknown error) (schema.Use, error) {
	if _, ok := v.e.tables.program(argv); !ok {
		return schema.Use{}, unknown
	}
	use, err := v.e.tables.reads.Match(argv)
	if err != nil {
		return use, err
	}
	if err := v.confined(use, argv[0].Text, c.Dirs); err != nil {
		return use, err
	}
	for _, w := range argv[1:] {
		r := v.reachOf(w.Text, c.Dirs)
		declared := slices.ContainsFunc(use.Paths, func(p schema.Path) bool { return p.Word.Source == w.Source && p.Text == w.Text })
		switch {
		case r.forbidden || r.above:
			return use, errors.New("swarm's own state lies at or below " + w.Source)
		case r.secret:
			return use, errors.New(reasonSecret)
		case r.protected && !declared:
			return use, errors.New(reasonProtected)
		}
	}
	use.Foreign = false
	return use, nil
}

// reads is the reason of a command that only reads: a person's own promise is named.
func (v *view) reads(c *shellcmd.Command) string {
	if len(c.Argv) == 0 {
		return reasonReads
	}
	argv := v.reading(c).last().argv
	if p, own := v.e.tables.program(argv); own {
		return yours + p.Source + " says that it only reads"
	}
	return schema.ReadsWhere(argv).String()
}

const yours = "your table "

// ofYours says where an intent of a person's own is from, behind its name.
func ofYours(source string) string {
	if source == "" {
		return ""
	}
	return " (" + yours + source + ")"
}

// isYours reports whether a person's own table of programs that only read let a command pass.
func isYours(c CommandVerdict) bool { return strings.HasPrefix(c.Reason, yours) }
