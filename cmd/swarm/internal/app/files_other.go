//go:build !unix

package app

import (
	"errors"
	"os"
)

const posix = false

var errLocked = errors.New("locked by another process")

// lock opens the file only: on this system two processes are kept apart by the broker alone.
func lock(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }
