package plandir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".writing-"

// replace makes data the content of name: it has the old bytes or the new ones, on disk. keep is called when the new ones
// are safe and the old ones still there; its error stops the change.
func replace(root *os.Root, name string, data []byte, mode fs.FileMode, keep func() error) error {
	temp, err := writeTemp(root, data, mode)
	if err != nil {
		return err
	}
	if err = keep(); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return syncDir(root)
}

// create makes data the content of name, on disk, or reports fs.ErrExist and leaves what is there.
func create(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	temp, err := writeTemp(root, data, mode)
	if err != nil {
		return err
	}
	err = root.Link(temp, name)
	if cannotLink(err) {
		if _, there := root.Lstat(name); there == nil {
			return errors.Join(fs.ErrExist, root.Remove(temp))
		}
		if err = root.Rename(temp, name); err == nil {
			return syncDir(root)
		}
	}
	if err := errors.Join(err, root.Remove(temp)); err != nil {
		return err
	}
	return syncDir(root)
}

// writeTemp writes a new file, on disk, under a name of its own.
func writeTemp(root *os.Root, data []byte, mode fs.FileMode) (name string, err error) {
	name = tempPrefix + rand.Text()
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, root.Remove(name))
	}
	return name, nil
}

// sweep removes what an interrupted write left behind.
func sweep(root *os.Root) {
	for _, name := range names(root, ".") {
		if strings.HasPrefix(name, tempPrefix) {
			_ = root.Remove(name) // in the way of nobody
		}
	}
}

// names lists a folder; one that cannot be read has none.
func names(root *os.Root, dir string) []string {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1)
	return list
}

// sameAs reports whether a stored file has these bytes.
func sameAs(root *os.Root, name string, data []byte) bool {
	there, err := root.ReadFile(name)
	return err == nil && bytes.Equal(there, data)
}
