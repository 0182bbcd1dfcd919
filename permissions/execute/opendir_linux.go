package execute

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openBeneath opens dir, which lies in tree, as a place to run in. Neither path may go through a symbolic link: what was
// judged was resolved, so a link that is there now was put there since. The descriptor stays what it is, whatever
// happens to the path afterwards.
func openBeneath(tree, dir string) (*os.File, error) {
	rel, err := filepath.Rel(tree, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%w: %q is not inside %q", ErrMoved, dir, tree)
	}
	root, err := openPlace(unix.AT_FDCWD, tree, 0)
	if err != nil {
		return nil, moved(tree, err)
	}
	if rel == "." {
		return os.NewFile(uintptr(root), dir), nil
	}
	defer unix.Close(root)
	fd, err := openPlace(root, rel, unix.RESOLVE_BENEATH)
	if err != nil {
		return nil, moved(dir, err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// openPlace opens a directory for entering it, by a path without links.
func openPlace(at int, path string, resolve uint64) (int, error) {
	return unix.Openat2(at, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | resolve,
	})
}

// moved says what is wrong with a directory that can no longer be opened.
func moved(path string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("%w: %q goes through a symbolic link: ask again with the resolved path", ErrMoved, path)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: openat2 is missing: Linux 5.6 or newer is needed", ErrRefused)
	}
	return fmt.Errorf("%w: %q: %w", ErrMoved, path, err)
}
