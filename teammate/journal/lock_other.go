//go:build !linux

package journal

import (
	"errors"
	"os"
)

// takeLock refuses: a runner needs Linux (locks, subreaper, landlock).
func takeLock(*os.Root) (*os.File, error) {
	return nil, errors.New("journal: runners need Linux: use one, or a container")
}

func unlock(f *os.File) error { return f.Close() }

func syncDir(d *os.File) error { return d.Sync() }
