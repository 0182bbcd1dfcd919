package planmode

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planswarm/swarm/plans"
)

// ErrUnknownReader means a role that there is not.
var ErrUnknownReader = errors.New("planmode: unknown role")

// Reader is a role of a teammate that only reads, as data: in every mode it is judged as in plan mode, and nothing that a
// leader approves lets it do more. Its plan file is the one thing that it writes. The zero Reader is no role: it does what its
// mode and its plans let it.
type Reader struct {
	Name string
	// Shell has it run commands that only read. Without, it has no shell at all.
	Shell bool
	// Web has a leader be asked about the tools that look something up in the web. Without, they are denied.
	Web  bool
	Does string // in a few words, for people
}

// readers are the roles that only read.
var readers = []Reader{
	{Name: "planner", Web: true, Does: "reads files and the web, has no shell, and writes plans"},
	{Name: "explorer", Shell: true, Does: "reads files and runs commands that only read"},
}

// ReaderOf finds a role by its name; "" is none.
func ReaderOf(name string) (Reader, error) {
	if name == "" {
		return Reader{}, nil
	}
	for _, r := range readers {
		if r.Name == name {
			return r, nil
		}
	}
	return Reader{}, fmt.Errorf("%w %q: use %s", ErrUnknownReader, plans.Cut(plans.VisibleLine(name), 80), strings.Join(ReaderNames(), " or "))
}

// ReaderNames lists the roles that only read.
func ReaderNames() []string {
	var names []string
	for _, r := range readers {
		names = append(names, r.Name)
	}
	return names
}
