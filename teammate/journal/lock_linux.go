package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// takeLock has the kernel keep other runners of this machine away. It is released when the process ends, however it ends.
func takeLock(root *os.Root) (*os.File, error) {
	f, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		note(f)
		return f, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // only to name it
		return nil, closeAnd(f, fmt.Errorf("%w (%s is held by process %s): stop it first, or choose another name",
			ErrLocked, f.Name(), strings.TrimSpace(string(holder))))
	default:
		return nil, closeAnd(f, fmt.Errorf("journal: lock %s: %w", f.Name(), err))
	}
}

// note writes our process id into the lock, for the message of whoever is refused. A full disk is no reason to stop here.
func note(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
}

// unlock gives the lock back at once: a child that is just being started may have our descriptor for a moment longer.
func unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

func syncDir(d *os.File) error { return d.Sync() }
