//go:build !linux

package execute

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Proc is a started target. Here there are none.
type Proc struct{}

// ChildMain returns at once: nothing is started by [Start] here.
func ChildMain() {}

// Start fails with [ErrUnsupported]: nothing here could promise that no descendant is left running.
func Start(_ context.Context, s Spec) (*Proc, error) {
	if _, err := s.check(); err != nil {
		return nil, err
	}
	return nil, ErrUnsupported
}

// Pid is 0.
func (*Proc) Pid() int { return 0 }

// Enforcement is zero: nothing is enforced.
func (*Proc) Enforcement() Enforcement { return Enforcement{} }

// Done is nil.
func (*Proc) Done() <-chan struct{} { return nil }

// Wait fails with [ErrUnsupported].
func (*Proc) Wait() (status int, err error) { return 0, ErrUnsupported }

// Kill fails with [ErrUnsupported].
func (*Proc) Kill() error { return ErrUnsupported }

// Signal fails with [ErrUnsupported].
func (*Proc) Signal(syscall.Signal) error { return ErrUnsupported }

// Supported reports that nothing is confined here.
func Supported() (abi int, ok bool) { return 0, false }

// Harden fails with [ErrUnsupported]: this process's memory is as open as the system leaves it.
func Harden() error { return fmt.Errorf("execute: cannot close own memory: %w", ErrUnsupported) }

// openBeneath opens a directory to fail with later: nothing can be started in it.
func openBeneath(tree, dir string) (*os.File, error) {
	if !within(filepath.Clean(dir), filepath.Clean(tree)) {
		return nil, fmt.Errorf("%w: %q is not inside %q", ErrMoved, dir, tree)
	}
	return os.Open(dir)
}

// canFilter: there are no socket filters here.
func canFilter() bool { return false }
