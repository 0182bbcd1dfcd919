package gate

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/planswarm/swarm/teammate"
)

// maxEdit is the largest file that is edited, in bytes.
const maxEdit = 8 << 20

// target is a file to be changed: a real folder, with no link in it, and the way from there. It is judged by the same path
// that it is opened by, and each folder on the way is opened as the one that was looked at.
type target struct {
	root string   // real, absolute: the working tree, or the plan's folder
	way  []string // folders below it, then the file
}

func (t target) path() string { return filepath.Join(append([]string{t.root}, t.way...)...) }
func (t target) name() string { return t.way[len(t.way)-1] }

// findTarget finds the file that a client means. Links are followed now, once.
func findTarget(path, cwd, tree, planFile string) (target, error) {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return target{}, fail(exitUsage, "bad_path", "name a file", "path %q is none", path)
	case !filepath.IsAbs(path) && cwd == "":
		return target{}, fail(exitUsage, "bad_path", "give the full path", "path %q is relative, and the directory is not known", path)
	case !filepath.IsAbs(path):
		path = filepath.Join(cwd, path)
	}
	real, err := teammate.RealPath(filepath.Clean(path))
	if err != nil {
		return target{}, fail(exitUsage, "bad_path", "name a file in the working tree", "%v", err)
	}
	for _, root := range []string{tree, filepath.Dir(planFile)} {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, real); err == nil && rel != "." && filepath.IsLocal(rel) {
			return target{root, strings.Split(rel, string(filepath.Separator))}, nil
		}
	}
	return target{}, fail(exitDenied, "outside", "edit files in the working tree", "%q is outside of the working tree", path)
}

// maxShown is how much of an edit a leader is shown, in bytes.
const maxShown = 64 << 10

// Shown is the edit as a leader reads it, with a digest of what does not fit or is no text. The same text is the same
// edit: an answer to one is never an answer to another.
func (a EditArgs) Shown() string {
	var b strings.Builder
	part := func(title string, content []byte) {
		text := content[:min(len(content), maxShown)]
		fmt.Fprintf(&b, "%s (%d bytes):\n", title, len(content)) // so that no text can pass for the next part's title
		b.WriteString(strings.ToValidUTF8(string(text), "\uFFFD"))
		if len(text) < len(content) || !utf8.Valid(content) {
			fmt.Fprintf(&b, "\n(not all of it is shown; SHA-256 %x)", sha256.Sum256(content))
		}
		b.WriteString("\n")
	}
	if a.Replace != nil {
		part("replace", []byte(a.Replace.Old))
		part("with", []byte(a.Replace.New))
	} else {
		part("write", a.Content)
	}
	return b.String()
}

// change writes the file whole, in one step: others see the old bytes or the new ones.
func (t target) change(ctx context.Context, a EditArgs) (int, error) {
	dir, err := t.open(a.Replace == nil)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	mode, old, err := t.read(dir)
	if err != nil {
		return 0, err
	}
	content := a.Content
	if a.Replace != nil {
		if content, err = replaced(t.path(), old, *a.Replace); err != nil {
			return 0, err
		}
	}
	if len(content) > maxEdit {
		return 0, fail(exitUsage, "too_large", "write a smaller file", "%d bytes, and at most %d are written", len(content), maxEdit)
	}
	if ctx.Err() != nil { // plan mode was entered meanwhile
		return 0, fail(exitDenied, "stopped", "", "nothing was written: %v", context.Cause(ctx))
	}
	return len(content), replaceFile(dir, t.name(), mode, content)
}

// open descends to the file's folder, one folder at a time: each must be the real one that stands there, so that a link
// which takes its place meanwhile is not followed. Missing folders are made.
func (t target) open(make bool) (*os.Root, error) {
	at, err := os.OpenRoot(t.root)
	if err != nil {
		return nil, fmt.Errorf("gate: edit: %w", err)
	}
	for _, name := range t.way[:len(t.way)-1] {
		next, err := descend(at, name, make)
		err = errors.Join(err, at.Close())
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func descend(at *os.Root, name string, make bool) (*os.Root, error) {
	info, err := at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := at.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("gate: edit: %w", err)
		}
		info, err = at.Lstat(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(filepath.Join(at.Name(), name))
	case err != nil:
		return nil, fmt.Errorf("gate: edit: %w", err)
	case !info.IsDir():
		return nil, fail(exitDenied, "moved", "try again", "%s is no folder any more", filepath.Join(at.Name(), name))
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("gate: edit: %w", err)
	}
	if is, err := next.Stat("."); err != nil || !os.SameFile(info, is) {
		_ = next.Close()
		return nil, fail(exitDenied, "moved", "try again", "%s was replaced meanwhile", filepath.Join(at.Name(), name))
	}
	return next, nil
}

// read returns the file's mode and bytes; a new file has none.
func (t target) read(dir *os.Root) (fs.FileMode, []byte, error) {
	info, err := dir.Lstat(t.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, nil, nil
	case err != nil:
		return 0, nil, fmt.Errorf("gate: edit: %w", err)
	case !info.Mode().IsRegular():
		return 0, nil, fail(exitUsage, "bad_path", "name a file", "%s is no regular file", t.path())
	case info.Size() > maxEdit:
		return 0, nil, fail(exitUsage, "too_large", "edit smaller files", "%s has %d bytes, and at most %d are edited", t.path(), info.Size(), maxEdit)
	}
	f, err := dir.Open(t.name())
	if err != nil {
		return 0, nil, fmt.Errorf("gate: edit: %w", err)
	}
	old, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	return info.Mode().Perm(), old, errors.Join(err, f.Close())
}

func replaced(path string, old []byte, r Replace) ([]byte, error) {
	switch n := bytes.Count(old, []byte(r.Old)); {
	case old == nil:
		return nil, notFound(path)
	case r.Old == "":
		return nil, fail(exitUsage, "bad_replace", "give the text that stands there", "the old text is empty")
	case n == 0:
		return nil, fail(exitUsage, "bad_replace", "read the file again", "the old text does not stand in %s", path)
	case n > 1:
		return nil, fail(exitUsage, "bad_replace", "give more of what stands around it", "the old text stands %d times in %s", n, path)
	}
	return bytes.Replace(old, []byte(r.Old), []byte(r.New), 1), nil
}

func replaceFile(dir *os.Root, name string, mode fs.FileMode, content []byte) error {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	tmp := ".swarm-edit-" + hex.EncodeToString(random[:])
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("gate: edit: %w", err)
	}
	if _, err = f.Write(content); err == nil {
		err = f.Chmod(mode) // whatever the umask took away
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.Rename(tmp, name)
	}
	if err != nil {
		_ = dir.Remove(tmp)
		return fmt.Errorf("gate: edit: %w", err)
	}
	return nil
}
