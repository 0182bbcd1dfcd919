package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

//go:embed readonly.json
var readOnlyJSON []byte

//go:embed known.json
var knownJSON []byte

// ReadOnly returns the programs that only read, and the wrappers whose inner command decides. Their names
// are read at the first call, and the rest of each when a command names it.
var ReadOnly = sync.OnceValue(func() Table {
	return Embedded(Deferred(readOnlyJSON)) // it is ours, and a test reads it whole
})

// names is a set.
type names map[string]bool

// UnmarshalJSON reads a list.
func (n *names) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("schema: a list of names: %w: correct the file", err)
	}
	*n = names{}
	for _, s := range list {
		(*n)[s] = true
	}
	return nil
}

func (n names) any(argv []shellcmd.Word) bool {
	return slices.ContainsFunc(argv, func(w shellcmd.Word) bool { return n[w.Text] })
}

// effects are names by what they do.
type effects struct {
	Changes names `json:"changes"`
	Runs    names `json:"runs"`
	Network names `json:"network"`
}

// harm is what does one kind of harm: programs, whatever their arguments, and programs with one of some words.
type harm struct {
	Programs    names            `json:"programs"`
	Subcommands map[string]names `json:"subcommands"`
}

type knownTable struct {
	effects
	Queries     names              `json:"queries"` // words that make a program that runs things only answer: not known
	Subcommands map[string]effects `json:"subcommands"`
	Reads       reads              `json:"reads"`
	Harms       map[string]harm    `json:"harms"`  // by the words of permissions.Class
	Inline      map[string]names   `json:"inline"` // interpreters, and the flags that hand them a program's text
}

var knownPrograms = sync.OnceValue(func() knownTable {
	var t knownTable
	if err := json.Unmarshal(knownJSON, &t); err != nil {
		panic(fmt.Errorf("schema: known.json: %w", err)) // ours, and tested
	}
	return t
})

// Effect says what a command is known to do beyond reading: "changes something", "runs a program" or "uses the
// network". It is empty for what is not known. It never makes anything pass: plan mode denies by it instead of asking.
func Effect(argv []shellcmd.Word) string {
	if len(argv) == 0 || argv[0].Unknown {
		return ""
	}
	t, name := knownPrograms(), path.Base(argv[0].Text)
	if t.Changes[name] {
		return t.effect(name)
	}
	if t.Queries.any(argv[1:]) {
		return ""
	}
	if e := t.effect(name); e != "" {
		return e
	}
	first := slices.IndexFunc(argv[1:], func(w shellcmd.Word) bool { return w.Literal() && w.Text != "" && w.Text[0] != '-' })
	if first < 0 {
		return ""
	}
	return t.Subcommands[name].effect(argv[1+first].Text)
}

func (e effects) effect(name string) string {
	switch {
	case e.Changes[name]:
		return "changes something"
	case e.Runs[name]:
		return "runs a program"
	case e.Network[name]:
		return "uses the network"
	}
	return ""
}

// Harms lists, in order, the kinds of harm that a command is known for: the words of permissions.Class. It guesses
// broadly: one word is enough, wherever it stands, and a word that can only be told by running is any word.
func Harms(argv []shellcmd.Word) []string {
	if len(argv) == 0 {
		return nil
	}
	name, untold := bareName(argv[0].Text), slices.ContainsFunc(argv[1:], func(w shellcmd.Word) bool { return !w.Literal() })
	var out []string
	for kind, h := range knownPrograms().Harms {
		if words, ok := h.Subcommands[name]; h.Programs[name] || ok && (untold || words.any(argv[1:])) {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

// Interprets reports whether argv is an interpreter, of a program in a file or of text.
func Interprets(argv []shellcmd.Word) bool {
	return len(argv) > 0 && knownPrograms().Inline[bareName(argv[0].Text)] != nil
}

// Inline reports whether argv is an interpreter that is given its program's text, or that would read it from its input.
func Inline(argv []shellcmd.Word) bool {
	if len(argv) == 0 {
		return false
	}
	flags, ok := knownPrograms().Inline[bareName(argv[0].Text)]
	if !ok {
		return false
	}
	file := false
	for _, w := range argv[1:] {
		if !w.Literal() || flags[w.Text] || len(w.Text) > 2 && flags[w.Text[:2]] && w.Text[1] != '-' {
			return true
		}
		file = file || w.Text != "" && w.Text[0] != '-'
	}
	return !file
}

// bareName is a program's name without folders, a suffix of Windows and a version: python3.12 is python3.
func bareName(s string) string {
	name := strings.TrimSuffix(strings.ToLower(path.Base(s)), ".exe")
	if base, version, ok := strings.Cut(name, "."); ok && all(version, func(c byte) bool { return digit(c) || c == '.' }) {
		return base
	}
	return name
}
