package execute

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden closes this process's memory and environment to other processes of the same user, and switches core files off,
// for itself and what it starts. Call it before a seed is loaded. It does not stop root, nor a program that was started
// by a debugger.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("execute: close own memory: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("execute: switch core files off: %w", err)
	}
	return nil
}
