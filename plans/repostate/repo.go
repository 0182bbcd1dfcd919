package repostate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// repo is a repository that a working tree belongs to.
type repo struct {
	top    string   // the folder that has .git
	prefix string   // of the tree inside it: "" or "a/b/"
	git    *os.Root // .git, or the worktree's own folder in it
	common *os.Root // what all worktrees share
}

const (
	maxLink   = 4 << 10 // HEAD, a ref, .git as a file
	maxPacked = 64 << 20
	maxRefs   = 5 // symbolic refs on the way from HEAD
)

var errNotUnderstood = errors.New("not understood")

// findRepo looks for the repository of a tree, upwards as git does.
func findRepo(tree string) (*repo, bool) {
	tree = filepath.Clean(tree)
	for top := tree; ; top = filepath.Dir(top) {
		if dir, ok := gitDir(top); ok {
			r, err := openRepo(top, dir)
			if err != nil {
				return nil, false
			}
			if rel, err := filepath.Rel(top, tree); err == nil && rel != "." {
				r.prefix = filepath.ToSlash(rel) + "/"
			}
			return r, true
		}
		if top == filepath.Dir(top) {
			return nil, false
		}
	}
}

// gitDir is the folder of the repository that has top as its working tree.
func gitDir(top string) (string, bool) {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err != nil:
		return "", false
	case info.IsDir():
		return dotGit, true
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", false
	}
	defer root.Close()
	data, err := readSmall(root, ".git", maxLink)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if err != nil || !ok {
		return "", false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	return dir, true
}

func openRepo(top, dir string) (*repo, error) {
	git, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	common := dir
	if data, err := readSmall(git, "commondir", maxLink); err == nil {
		common = strings.TrimSpace(string(data))
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
	}
	shared, err := os.OpenRoot(common)
	if err == nil {
		_, err = git.Lstat("HEAD")
	}
	if err != nil {
		git.Close()
		if shared != nil {
			shared.Close()
		}
		return nil, err
	}
	return &repo{top: top, git: git, common: shared}, nil
}

func (r *repo) close() {
	r.git.Close()
	r.common.Close()
}

// head is the commit that HEAD leads to; "" when its branch has none yet.
func (r *repo) head() (string, error) {
	root, name := r.git, "HEAD"
	for range maxRefs {
		data, err := readSmall(root, filepath.FromSlash(name), maxLink)
		if errors.Is(err, fs.ErrNotExist) && name != "HEAD" {
			return r.packedRef(name)
		}
		if err != nil {
			return "", err
		}
		text := strings.TrimSpace(string(data))
		next, symbolic := strings.CutPrefix(text, "ref: ")
		if !symbolic {
			return objectName(text)
		}
		if !strings.HasPrefix(next, "refs/") || !filepath.IsLocal(filepath.FromSlash(next)) || next == "refs/heads/.invalid" {
			return "", fmt.Errorf("ref %q: %w", next, errNotUnderstood)
		}
		root, name = r.common, next
	}
	return "", fmt.Errorf("HEAD leads from ref to ref: %w", errNotUnderstood)
}

// packedRef looks a ref up in packed-refs.
func (r *repo) packedRef(name string) (string, error) {
	data, err := readSmall(r.common, "packed-refs", maxPacked)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(data) {
		if value, ok := strings.CutSuffix(strings.TrimSpace(string(line)), " "+name); ok {
			return objectName(value)
		}
	}
	return "", nil
}

// objectName is text when it is the name of an object, by SHA-1 or SHA-256.
func objectName(text string) (string, error) {
	if n := len(text); n != 40 && n != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return "", fmt.Errorf("object name: %w", errNotUnderstood)
	}
	return text, nil
}
