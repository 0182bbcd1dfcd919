//go:build unix

package plandir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK

// links is how many names the file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) // another type on other systems
	}
	return 1
}

// syncDir has the names in a folder on disk.
func syncDir(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}

// cannotLink reports whether the file system has no hard links.
func cannotLink(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}

// openToOthers reports whether others than the owner may change what is in a folder.
func openToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
