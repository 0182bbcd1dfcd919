package repostate

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Modes of entries.
const (
	modeType = 0o170000
	modeFile = 0o100000
	modeLink = 0o120000
	modeRepo = 0o160000 // a submodule, which has a state of its own
)

// readIndex reads the index of the working tree, and when it was written.
func (r *repo) readIndex(commit string) (index, fs.FileInfo, error) {
	f, size, err := openRegular(r.git, "index")
	if err != nil {
		return index{}, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && size > maxIndex {
		err = fmt.Errorf("index has %d bytes, at most %d are read", size, maxIndex)
	}
	if err != nil {
		return index{}, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return index{}, nil, err
	}
	ix, err := parseIndex(data, len(commit)/2)
	return ix, info, err
}

// clean reports whether the tracked files below the tree are known to be as in the commit: the index has the commit's
// tree, and each file has the bytes of its entry. Files that git does not track are of no matter.
func (r *repo) clean(ctx context.Context, commit string, ix index, written fs.FileInfo) bool {
	tree, err := r.treeOf(commit)
	return err == nil && ix.tree == tree && r.unchanged(ctx, ix, written)
}

// unchanged reports whether the working tree has what the index says.
func (r *repo) unchanged(ctx context.Context, ix index, written fs.FileInfo) bool {
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return false
	}
	defer root.Close()
	w := worktree{root: root, written: written, budget: maxTotal}
	for _, e := range ix.entries {
		if !strings.HasPrefix(e.name, r.prefix) || e.absent || e.mode&modeType == modeRepo {
			continue
		}
		if ctx.Err() != nil || e.unsure || !w.has(e) {
			return false
		}
	}
	return true
}

// worktree compares files with entries.
type worktree struct {
	root    *os.Root
	written fs.FileInfo // the index: what changed as late as it was written may have changed after it, too
	budget  int64       // bytes that may still be hashed
}

// has reports whether the file of an entry has the entry's bytes. They are hashed only where size and times differ.
func (w *worktree) has(e entry) bool {
	name := filepath.FromSlash(e.name)
	if !filepath.IsLocal(name) {
		return false
	}
	info, err := os.Lstat(filepath.Join(w.root.Name(), name))
	if err != nil {
		return false
	}
	switch e.mode & modeType {
	case modeFile:
		return info.Mode().IsRegular() && (w.sameStat(e, info) || w.sameBytes(e, name))
	case modeLink:
		target, err := w.root.Readlink(name)
		return err == nil && info.Mode()&fs.ModeSymlink != 0 && blob(e, int64(len(target)), strings.NewReader(filepath.ToSlash(target)))
	default:
		return false
	}
}

// sameStat reports whether size and times say that the file is the one that the entry was made of.
func (w *worktree) sameStat(e entry, info fs.FileInfo) bool {
	t := info.ModTime()
	changed, known := changeTime(info)
	return uint32(info.Size()) == e.size && uint32(t.Unix()) == e.mtime[0] && uint32(t.Nanosecond()) == e.mtime[1] &&
		(!known || changed == e.ctime) && t.Before(w.written.ModTime())
}

func (w *worktree) sameBytes(e entry, name string) bool {
	f, size, err := openRegular(w.root, name)
	if err != nil {
		return false
	}
	defer f.Close()
	if w.budget -= size; w.budget < 0 || uint32(size) != e.size && e.size != 0 {
		return false
	}
	return blob(e, size, f)
}

// blob reports whether content is the object of an entry.
func blob(e entry, size int64, content io.Reader) bool {
	var h hash.Hash = sha256.New()
	if len(e.oid) == sha1.Size {
		h = sha1.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	n, err := io.Copy(h, io.LimitReader(content, size))
	return err == nil && n == size && string(h.Sum(nil)) == e.oid
}
