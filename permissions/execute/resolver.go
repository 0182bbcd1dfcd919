package execute

import (
	"path/filepath"

	"github.com/planswarm/swarm/permissions"
)

// Resolver answers the engine from the disk, as [permissions.Resolver] and [permissions.Globber]. It starts no program:
// git's configuration is read here, because a git that looks at a repository is what is being judged, and a process for
// each call would cost milliseconds. Anything that git could read in another way is an error, at which the engine asks.
// Safe for any number of calls at once.
type Resolver struct{}

var (
	_ permissions.Resolver = Resolver{}
	_ permissions.Globber  = Resolver{}
)

// EvalSymlinks follows every link of path, also the last one and one that leads to what does not exist. What does not
// exist keeps its name below the part that does.
func (Resolver) EvalSymlinks(path string) (string, error) { return resolve(path) }

// Glob expands a pattern of [filepath.Match].
func (Resolver) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

// GitConfig looks for the repository that git would find from dir, and reads its configuration, that of its worktree and
// those of its submodules, as far as .gitmodules and its modules folder name them. Files that are included are not read:
// that something is included is an exec-bearing key itself.
func (Resolver) GitConfig(dir string) (permissions.GitInfo, error) {
	s := gitScan{seen: map[string]bool{}}
	if err := s.from(dir); err != nil {
		return permissions.GitInfo{}, err
	}
	return permissions.GitInfo{Repository: s.found, ExecKeys: s.keys}, nil
}

// Digest reads a regular file, through links as a program would. Nothing there, also at the end of a link, is "".
func (Resolver) Digest(path string) (string, error) { return fileDigest(path) }
