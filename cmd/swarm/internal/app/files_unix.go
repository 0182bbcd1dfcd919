//go:build unix

package app

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const posix = true

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked by another process")

// lock takes a file's lock for as long as the file is open. The kernel gives it back when the process dies.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
