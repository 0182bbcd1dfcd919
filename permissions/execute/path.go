package execute

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fallbackPath is what a PATH with nothing left becomes: an unset one would let bash take its own, which may name the
// current directory.
const fallbackPath = "/usr/bin:/bin"

// CleanPath returns those folders of a PATH from which a program may be run by its bare name: absolute, existing, not
// inside tree, and such that only root and the present user decide what lies in them. That means owned by one of the
// two, not writable by others, and not by a group that has further members; the same holds for every folder above,
// where one with the sticky bit is enough (nobody but the owner can replace what is in it). Links are resolved and
// duplicates dropped. When nothing is left it is /usr/bin:/bin.
func CleanPath(path, tree string) string {
	realTree, err := resolve(tree)
	if err != nil {
		realTree = tree
	}
	var kept []string
	who := newAccounts()
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || within(filepath.Clean(dir), tree) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || within(real, realTree) || slices.Contains(kept, real) || !who.trust(real) {
			continue
		}
		kept = append(kept, real)
	}
	if len(kept) == 0 {
		return fallbackPath
	}
	return strings.Join(kept, string(os.PathListSeparator))
}

// within reports whether path is dir or lies in it. Both are absolute and clean.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
