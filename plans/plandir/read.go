package plandir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/planswarm/swarm/plans"
)

// ReadFile reads a plan from a folder that is not a store's, a working tree for instance, by the same rules as
// [Store.Read]. The name may lead through folders inside dir, and through links that stay in it; the file itself is no
// link.
func ReadFile(dir, name string) (plans.Plan, error) {
	at := place{dir: dir, file: filepath.Join(dir, "plan.md")}
	if !filepath.IsLocal(name) {
		return plans.Plan{}, at.outside(name)
	}
	at.file = filepath.Join(dir, name)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return plans.Plan{}, fmt.Errorf("plandir: %w", err)
	}
	defer root.Close()
	return at.read(root, filepath.Clean(name))
}

// read reads and checks one plan file.
func (p place) read(root *os.Root, name string) (plans.Plan, error) {
	content, err := p.bytes(root, name)
	if err != nil {
		return plans.Plan{}, err
	}
	if err := plans.Check(content); err != nil {
		var bad *plans.ContentError
		if errors.As(err, &bad) {
			bad.Name = name
		}
		return plans.Plan{}, err
	}
	return plans.New(filepath.Base(name), filepath.Join(p.dir, name), content), nil
}

// bytes reads a regular file, one byte more than a plan may have at most.
func (p place) bytes(root *os.Root, name string) ([]byte, error) {
	f, err := p.open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, plans.MaxBytes+1))
	if err != nil {
		return nil, p.unreadable(name, reason(err))
	}
	return content, nil
}

// open opens a regular file that has this one name. Everything is asked of the open descriptor: what the name means a
// moment before or after is of no matter. A pipe or device does not block it.
func (p place) open(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, p.explain(root, name, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, p.unreadable(name, reason(err))
	}
	if what := irregular(info); what != "" {
		f.Close()
		return nil, p.irregular(name, what)
	}
	// os.Root follows links that stay inside. Then the name is not this file.
	if named, err := root.Lstat(name); err != nil || !os.SameFile(named, info) {
		f.Close()
		return nil, p.irregular(name, replaced)
	}
	return f, nil
}

// replaced is what a name is that was a link when it was opened, if only for a moment.
const replaced = "a link, or was replaced while it was read"

// explain says why a file could not be opened.
func (p place) explain(root *os.Root, name string, err error) error {
	info, lerr := root.Lstat(name)
	var errno syscall.Errno
	system := errors.As(err, &errno) // os.Root's own refusal to leave is no error number
	switch {
	case lerr == nil && info.Mode()&fs.ModeSymlink != 0:
		return p.linked(root, name)
	case lerr == nil && !info.Mode().IsRegular():
		return p.irregular(name, irregular(info))
	case errors.Is(err, fs.ErrNotExist):
		return p.missing(name)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrInvalid), lerr != nil && !errors.Is(lerr, fs.ErrNotExist):
		return p.outside(name) // also a folder on the way that is a link to the outside
	case !system || errno == syscall.ELOOP:
		return p.irregular(name, replaced)
	default:
		return p.unreadable(name, reason(err))
	}
}

// linked says where a link leads that was not opened: out of the folder, in a circle, or to nothing.
func (p place) linked(root *os.Root, name string) error {
	target, err := root.Readlink(name)
	if err != nil {
		return p.irregular(name, replaced)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(p.dir, filepath.Dir(name), target)
	}
	_, err = filepath.EvalSymlinks(target)
	inside := filepath.Dir(filepath.Clean(target)) == filepath.Join(p.dir, filepath.Dir(name))
	if inside && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return p.irregular(name, "a symbolic link")
	}
	return p.leads(name, target)
}

// irregular says what a file is, unless it is a regular file with one name.
func irregular(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case !mode.IsRegular():
		return "not a regular file"
	case links(info) > 1:
		return fmt.Sprintf("one of %d names of the same file", links(info))
	}
	return ""
}

// reason is the cause of a file error without its path.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
