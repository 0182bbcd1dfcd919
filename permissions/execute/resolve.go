package execute

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is how many links that lead nowhere are followed, one after the other.
const maxLinks = 40

// resolve follows every symbolic link of an absolute path, also one that leads to what does not exist: creating the one
// creates the other. What does not exist is kept as it is written, below the deepest folder that does.
func resolve(path string) (string, error) { return resolveLinks(path, maxLinks) }

func resolveLinks(path string, links int) (string, error) {
	if links == 0 {
		return "", fmt.Errorf("execute: %q: too many links", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if target, err := os.Readlink(path); err == nil { // a link that leads nowhere
		if !filepath.IsAbs(target) {
			target = filepath.Dir(path) + string(filepath.Separator) + target // ".." is for the links to say
		}
		return resolveLinks(target, links-1)
	}
	dir, base := filepath.Split(path)
	if base == ".." || filepath.Clean(dir) == path {
		return "", err // what does not exist has no parent that one could go back to
	}
	parent, err := resolveLinks(trimSlash(dir), links)
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, base), nil
}

// trimSlash drops slashes at the end, but not the root's own.
func trimSlash(dir string) string {
	for len(dir) > 1 && os.IsPathSeparator(dir[len(dir)-1]) {
		dir = dir[:len(dir)-1]
	}
	return dir
}
