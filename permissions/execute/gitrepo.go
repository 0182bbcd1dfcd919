package execute

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/planswarm/swarm/permissions"
)

const (
	maxGitFile = 1 << 20 // bytes of one configuration file
	maxGitDirs = 1000    // repositories that are looked at for one answer
)

// gitScan collects the exec-bearing keys of repositories.
type gitScan struct {
	found bool
	keys  []string
	seen  map[string]bool // git folders
}

// from goes the way that git goes, from a working directory up. It stops at the first repository that git would surely
// take; one that git might pass by is read, and then the next one above too.
func (s *gitScan) from(dir string) error {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("execute: look for a repository in %q: %w", dir, err)
	}
	for {
		sure, err := s.workTree(at)
		if err != nil || sure {
			return err
		}
		if looksBare(at) {
			s.add("(bare repository)")
			if err := s.gitDir(at, at); err != nil {
				return err
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return nil
		}
		at = up
	}
}

// workTree reads the repository whose working tree is root, when there is one.
func (s *gitScan) workTree(root string) (sure bool, err error) {
	dir := filepath.Join(root, ".git")
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("execute: look for a repository: %w", err)
	case st.Mode().IsRegular():
		if dir, err = gitLink(root); err != nil {
			return false, err
		}
		sure = true // or git stops with an error
	case !st.IsDir():
		return false, fmt.Errorf("execute: %q is neither a folder nor a file: remove it", dir)
	}
	if err := s.gitDir(dir, root); err != nil {
		return false, err
	}
	return sure || surelyGit(dir), s.submodules(root)
}

// gitLink reads a .git that is a file: it names the git folder.
func gitLink(root string) (dir string, err error) {
	name := filepath.Join(root, ".git")
	data, err := readGitFile(name)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !ok || dir == "" {
		return "", fmt.Errorf("execute: %q names no git folder: repair it", name)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	return dir, nil
}

// gitDir reads the configurations of a git folder, and of the submodules that it keeps. Its working tree is root, or lies
// in it.
func (s *gitScan) gitDir(dir, root string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if s.seen[dir] {
		return nil
	}
	if len(s.seen) >= maxGitDirs {
		return fmt.Errorf("execute: more than %d repositories below %q: too many to look at", maxGitDirs, dir)
	}
	s.seen[dir], s.found = true, true
	for _, name := range []string{"config", "config.worktree"} {
		if err := s.config(dir, name, root); err != nil {
			return err
		}
	}
	if data, err := readGitFile(filepath.Join(dir, "commondir")); err == nil { // the folder of a linked worktree
		common := strings.TrimRight(string(data), "\r\n")
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
		if filepath.Base(common) == ".git" {
			root = filepath.Dir(common)
		}
		if err := s.gitDir(common, root); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.modules(filepath.Join(dir, "modules"), root)
}

// modules reads the git folders of submodules. Their names may have slashes, so they may lie deeper.
func (s *gitScan) modules(dir, root string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("execute: look for submodules: %w", err)
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if st, err := os.Stat(at); err != nil || !st.IsDir() {
			continue
		}
		if err := s.module(at, root); err != nil {
			return err
		}
	}
	return nil
}

// module reads a folder among the git folders of submodules: one of them, or one on the way to them.
func (s *gitScan) module(dir, root string) error {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
		return s.gitDir(dir, root)
	}
	if len(s.seen) >= maxGitDirs {
		return fmt.Errorf("execute: more than %d folders above %q: too many to look at", maxGitDirs, dir)
	}
	s.seen[dir] = true // counts, so that links in circles end
	return s.modules(dir, root)
}

// submodules reads the repositories that lie in the working tree itself, where .gitmodules says.
func (s *gitScan) submodules(root string) error {
	data, err := readGitFile(filepath.Join(root, ".gitmodules"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	vars, err := parseGitConfig(data)
	if err != nil {
		return fmt.Errorf("execute: %s/.gitmodules: %w", root, err)
	}
	for _, v := range vars {
		sub := filepath.Join(root, v.value)
		if !strings.HasPrefix(v.key, "submodule.") || !strings.HasSuffix(v.key, ".path") || sub == root || !within(sub, root) {
			continue
		}
		if _, err := s.workTree(sub); err != nil {
			return err
		}
	}
	return nil
}

// config adds the exec-bearing keys of one file in a git folder, if it exists.
func (s *gitScan) config(dir, name, root string) error {
	name = filepath.Join(dir, name)
	data, err := readGitFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	vars, err := parseGitConfig(data)
	if err != nil {
		return fmt.Errorf("execute: %s: %w", name, err)
	}
	for _, v := range vars {
		if permissions.ExecBearingGitKey(v.key) && !ownWorkTree(dir, root, v) {
			s.add(v.key)
		}
	}
	return nil
}

// ownWorkTree reports whether a variable only says where the working tree is, and it is where it belongs: git writes
// that for every submodule.
func ownWorkTree(dir, root string, v gitVar) bool {
	if v.key != "core.worktree" {
		return false
	}
	at := v.value
	if !filepath.IsAbs(at) {
		at = dir + string(filepath.Separator) + at
	}
	real, err := resolve(at)
	return err == nil && within(real, root)
}

func (s *gitScan) add(key string) {
	if !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
}

var headPattern = regexp.MustCompile(`^(ref: refs/[!-~]+|[0-9a-f]{40}|[0-9a-f]{64})\n?$`)

// surelyGit reports whether git takes dir for a repository without any doubt. Of the rest it may pass some by.
func surelyGit(dir string) bool {
	head, err := readGitFile(filepath.Join(dir, "HEAD"))
	return err == nil && headPattern.Match(head) && isDir(dir, "objects") && isDir(dir, "refs")
}

// looksBare reports whether git could take dir itself for a repository.
func looksBare(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && (isDir(dir, "objects") || isDir(dir, "refs"))
}

func isDir(dir, name string) bool {
	st, err := os.Stat(filepath.Join(dir, name))
	return err == nil && st.IsDir()
}

// readGitFile reads a regular file of reasonable size. It does not wait for the other end of a pipe.
func readGitFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("execute: read git's configuration: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("execute: read git's configuration: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxGitFile {
		return nil, fmt.Errorf("execute: %q is no file of at most %d bytes: look at it", name, maxGitFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile+1))
	if err != nil {
		return nil, fmt.Errorf("execute: read git's configuration: %w", err)
	}
	return data, nil
}
