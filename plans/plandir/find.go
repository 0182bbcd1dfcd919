package plandir

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Find is the name, inside the work folder, of a plan file that was given as an absolute path, as one relative to one of
// the bases (a working directory, the project), or as one relative to the work folder: the first of them that is in the work
// folder, by its real path. The file itself is for [Store.Read]. "" is the working file. Errors are [ErrOutside].
func (s *Store) Find(given string, bases ...string) (string, error) {
	at := s.at()
	if given == "" {
		return filepath.Base(at.file), nil
	}
	if disguised(given) {
		return "", at.outside(given)
	}
	if filepath.IsAbs(given) {
		return s.within(at, given, given)
	}
	elsewhere := ""
	for _, base := range bases {
		if !filepath.IsAbs(base) {
			continue
		}
		path := filepath.Join(base, given)
		if name, err := s.within(at, path, given); err == nil {
			return name, nil
		}
		if _, err := os.Lstat(path); err == nil && elsewhere == "" {
			elsewhere = path
		}
	}
	name, err := s.within(at, filepath.Join(at.dir, given), given)
	if err == nil && elsewhere != "" {
		if _, err := os.Lstat(filepath.Join(at.dir, name)); errors.Is(err, fs.ErrNotExist) {
			return "", at.outside(elsewhere) // this is the file that was meant
		}
	}
	return name, err
}

// disguised reports whether a name hides where it leads, as addresses do.
func disguised(given string) bool {
	plain, err := url.PathUnescape(given)
	if err != nil || plain == given {
		return false
	}
	for _, up := range []string{"..", "/", "\\"} {
		if strings.Count(plain, up) > strings.Count(given, up) {
			return true
		}
	}
	return false
}

// within is the name of a path that lies in the work folder itself.
func (s *Store) within(at place, path, given string) (string, error) {
	dir, name := filepath.Split(filepath.Clean(path))
	if name == "" || !filepath.IsLocal(name) || name == "." || !s.isWork(at, dir) {
		return "", at.outside(given)
	}
	return name, nil
}

// isWork reports whether dir is the work folder, by its own name or another (a link in its path, another case). It only
// chooses the name: the file is then opened in the folder that the store holds.
func (s *Store) isWork(at place, dir string) bool {
	if filepath.Clean(dir) == at.dir {
		return true
	}
	given, err := os.Stat(dir)
	if err != nil {
		return false
	}
	work, err := s.folder(false)
	if err != nil {
		return false
	}
	own, err := work.Stat(".")
	return err == nil && os.SameFile(given, own)
}
