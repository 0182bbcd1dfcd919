package permissions

import (
	"errors"
	"fmt"
	"slices"
)

// Mode is a teammate's permission mode: how much of what it does passes without a question.
// The words are those of the agents; [ParseMode] also reads their other spellings.
type Mode string

// The modes, from the narrowest to the widest.
const (
	ModePlan        Mode = "plan"              // reads, and writes nothing but the plan file
	ModeDontAsk     Mode = "dontAsk"           // reads; what would be asked is denied
	ModeDefault     Mode = "default"           // reads; everything else is asked
	ModeAcceptEdits Mode = "acceptEdits"       // reads and edits in the tree
	ModeAuto        Mode = "auto"              // to our gate the same as acceptEdits; the client has a classifier of its own
	ModeBypass      Mode = "bypassPermissions" // everything that no hard denial or protected file stops
)

// ErrUnknownMode means that a name is none of the permission modes.
var ErrUnknownMode = errors.New("permissions: unknown mode")

var modes = []Mode{ModePlan, ModeDontAsk, ModeDefault, ModeAcceptEdits, ModeAuto, ModeBypass}

var modeAliases = map[string]Mode{
	"manual":    ModeDefault,
	"autoEdit":  ModeAcceptEdits,
	"auto_edit": ModeAcceptEdits,
	"yolo":      ModeBypass,
}

// Modes returns all modes, from the narrowest to the widest.
func Modes() []Mode { return slices.Clone(modes) }

// ParseMode reads a mode as a person or an agent writes it, with the aliases manual, autoEdit, auto_edit and yolo.
// The error wraps [ErrUnknownMode] and names the modes there are.
func ParseMode(s string) (Mode, error) {
	if m, ok := modeAliases[s]; ok {
		return m, nil
	}
	if m := Mode(s); m.Known() {
		return m, nil
	}
	return "", fmt.Errorf("%w %q: use default, acceptEdits, plan, auto, dontAsk or bypassPermissions", ErrUnknownMode, s)
}

// Known reports whether m is one of the six modes. Aliases are not modes.
func (m Mode) Known() bool { return slices.Contains(modes, m) }

// Above reports whether m lets more pass than n. An unknown mode is above every known one, so that a check against a
// cap refuses it.
func (m Mode) Above(n Mode) bool { return m.rank() > n.rank() }

func (m Mode) rank() int {
	if i := slices.Index(modes, m); i >= 0 {
		return i
	}
	return len(modes)
}

// MinMode returns the narrower of two modes.
func MinMode(a, b Mode) Mode {
	if a.Above(b) {
		return b
	}
	return a
}
