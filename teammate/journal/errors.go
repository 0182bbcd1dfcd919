package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked means that another runner on this machine has the journal open.
	ErrLocked = errors.New("journal: another runner of this teammate is running")
	// ErrNewer means that a later version of swarm wrote the journal. It is refused, and left as it is.
	ErrNewer = errors.New("journal: written by a newer swarm")
	// ErrDamaged means that the journal is not what was written. [*DamagedError] says where.
	ErrDamaged = errors.New("journal: damaged")
	// ErrClosed means that the journal was closed.
	ErrClosed = errors.New("journal: closed")
)

// DamagedError names the line that is not what was written.
type DamagedError struct {
	Path  string
	Line  int // from 1
	Cause error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: %s line %d: %v", ErrDamaged, e.Path, e.Line, e.Cause)
}

// Is reports whether target is [ErrDamaged].
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }
