package script

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const lockName = "lock"

// takeLock marks a folder as in use. The kernel gives the lock back when the process ends, however it ends. It has its name
// only when it is held: nobody sees one that is not held yet.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes the folders that killed runners of this name have left: those that are ours, and whose lock nobody holds.
func sweep(temp, name string) {
	found, err := filepath.Glob(filepath.Join(temp, "swarm-"+name+"-*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		number := strings.TrimPrefix(filepath.Base(dir), "swarm-"+name+"-")
		if strings.Trim(number, "0123456789") == "" && isOurs(dir) && isLeft(dir) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}

// isOurs reports whether a folder is one itself, no link to one, and belongs to this user.
func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// isLeft reports whether nobody holds the lock of a folder. One without a lock is of an earlier version, or just made.
func isLeft(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
