package plandir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/planswarm/swarm/plans"
)

// What can be wrong with a plan file. The errors that wrap these are one line for the agent, and end with what to do
// next; errors about content wrap those of package plans (plans.ErrEmpty, plans.ErrNotUTF8, plans.ErrTooLarge).
var (
	ErrOutside    = errors.New("plandir: not in the plan folder")
	ErrNotExist   = fs.ErrNotExist
	ErrNotRegular = errors.New("plandir: not a regular file of its own")
	ErrUnreadable = errors.New("plandir: cannot be read")
)

// What can be wrong with the store.
var (
	// ErrTaken means that a revision is stored already, with other content.
	ErrTaken = errors.New("plandir: this revision is stored with other content")
	// ErrDamaged means that a stored revision is not what it was.
	ErrDamaged = errors.New("plandir: a stored revision is damaged")
	// ErrNewer means that a stored revision was written by a newer version.
	ErrNewer = errors.New("plandir: written by a newer swarm: use that version")
	// ErrBadID means that a plan id or revision cannot be a name on disk.
	ErrBadID = errors.New("plandir: not a plan id and revision")
)

// fileError is one line for the agent, with the reasons for callers.
type fileError struct {
	reasons []error
	text    string
}

func (e *fileError) Error() string   { return e.text }
func (e *fileError) Unwrap() []error { return e.reasons }

func because(text string, reasons ...error) error { return &fileError{reasons, text} }

// place is where a plan file is looked for: its folder, and the file that errors point to.
type place struct {
	dir, file string
	warning   string // why a configured folder was not taken
	own       bool   // the folder is the store's
	root      string // of the store
}

// shown is a path that somebody gave, cut where it is longer than any that can be opened.
func shown(path string) string { return plans.Cut(path, 4096) }

// outside is the first family: access denied, with both paths.
func (p place) outside(given string) error {
	return because(fmt.Sprintf("access denied: plan %q is outside the plan folder %q: write the plan to %q, then submit again", shown(given), p.dir, p.file), ErrOutside)
}

// leads is outside for a link, whose end is named too.
func (p place) leads(given, target string) error {
	return because(fmt.Sprintf("access denied: plan %q leads to %q, outside the plan folder %q: write the plan to %q, then submit again", shown(given), shown(target), p.dir, p.file), ErrOutside, ErrNotRegular)
}

// moved is outside for a folder that is no more what it was.
func (p place) moved(cause error) error {
	return because(fmt.Sprintf("access denied: the plan folder %q is not the folder that it was (%v): put the folder back, write the plan to %q, then submit again", p.dir, cause, p.file), ErrOutside)
}

// missing is the second family: it does not exist. The third, it is empty, is plans.ContentError's.
func (p place) missing(name string) error {
	return because(fmt.Sprintf("plan %q does not exist: write the plan there, then submit again", filepath.Join(p.dir, name)), ErrNotExist)
}

func (p place) irregular(name, what string) error {
	return because(fmt.Sprintf("plan %q is %s: write the plan to %q as a file of its own, then submit again", name, what, p.file), ErrNotRegular)
}

func (p place) unreadable(name string, cause error) error {
	return because(fmt.Sprintf("plan %q cannot be read (%v): make it readable, then submit again", name, cause), ErrUnreadable)
}
