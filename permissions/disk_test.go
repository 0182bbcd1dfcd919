package permissions_test

import (
	"errors"
	"path"
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// disk is a Resolver over a few links, in memory.
type disk struct {
	links   map[string]string // link -> absolute target
	globs   map[string][]string
	git     permissions.GitInfo
	gitErr  error
	failing string            // paths below it cannot be resolved
	digests map[string]string // file -> digest; "!" cannot be read
}

func (d disk) EvalSymlinks(p string) (string, error) {
	if d.failing != "" && strings.HasPrefix(p, d.failing) {
		return "", errors.New("permission denied")
	}
	real := "/"
	for c := range strings.SplitSeq(p, "/") {
		if c == ".." {
			real = path.Dir(real)
			continue
		}
		real = path.Join(real, c)
		for range 8 {
			to, ok := d.links[real]
			if !ok {
				break
			}
			real = to
		}
	}
	return real, nil
}

func (d disk) GitConfig(string) (permissions.GitInfo, error) { return d.git, d.gitErr }

func (d disk) Glob(pattern string) ([]string, error) { return d.globs[pattern], nil }

func (d disk) Digest(p string) (string, error) {
	if d.digests[p] == "!" {
		return "", errors.New("permission denied")
	}
	return d.digests[p], nil
}

// blind is a Resolver that cannot expand patterns.
type blind struct{ disk disk }

func (b blind) EvalSymlinks(p string) (string, error) { return b.disk.EvalSymlinks(p) }
func (b blind) GitConfig(string) (permissions.GitInfo, error) {
	return permissions.GitInfo{Repository: true}, nil
}

func (b blind) Digest(p string) (string, error) { return b.disk.Digest(p) }
