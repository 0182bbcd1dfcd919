// Package repostate tells what a plan was made against: the commit of a git working tree, whether the tracked files are
// as committed, and the hashes of the files that the plan names; and later, which of them have moved.
//
//	base, reads, err := repostate.Read(ctx, tree, facts.Paths(found))
//	...
//	changed, head, err := repostate.Moved(ctx, tree, base, reads)
//
// It runs no program. A repository's configuration and attributes make git itself run programs of the repository's
// choice, `git status` and `git diff` included (filters, fsmonitor), and they may change between a look at them and the
// command: so HEAD, refs, the index and the one commit object are read here, as files, each bounded in size. Where they
// say something that is not understood (a split or sparse index, reftables, a commit stored as a delta), the tree counts
// as dirty: [plans.Base].Dirty is false only where every tracked file was found to be as committed.
package repostate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/planswarm/swarm/plans"
)

const (
	// MaxFile is the largest file that is hashed; a larger one is left out.
	MaxFile = 16 << 20
	// maxTotal is how much is hashed for one plan.
	maxTotal = 256 << 20
)

// Read tells the state of a working tree, an absolute path, and the hashes of the files at paths (slashes, relative to
// it). Of the paths, only regular files inside the tree of at most [MaxFile] bytes are hashed; what is outside, missing,
// a folder or larger is left out. A tree that is in no git repository has the zero Base. Errors are about the tree as a
// whole, or ctx.
func Read(ctx context.Context, tree string, paths []string) (plans.Base, []plans.Read, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return plans.Base{}, nil, fmt.Errorf("repostate: working tree: %w", err)
	}
	defer root.Close()
	var reads []plans.Read
	budget := int64(maxTotal)
	for _, path := range paths {
		if digest, ok := hashFile(ctx, root, path, &budget); ok {
			reads = append(reads, plans.Read{Path: path, Digest: digest})
		}
	}
	base := readBase(ctx, tree, true)
	if ctx.Err() != nil {
		return plans.Base{}, nil, fmt.Errorf("repostate: %w", context.Cause(ctx))
	}
	return base, reads, nil
}

// Moved tells which of the files that a plan rests on are not any more what they were (changed, gone, or not readable),
// and the commit that the tree is at now, "" when it is that of base.
func Moved(ctx context.Context, tree string, base plans.Base, reads []plans.Read) (changed []string, head string, err error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, "", fmt.Errorf("repostate: working tree: %w", err)
	}
	defer root.Close()
	budget := int64(maxTotal)
	for _, r := range reads {
		if digest, ok := hashFile(ctx, root, r.Path, &budget); !ok || digest != r.Digest {
			changed = append(changed, r.Path)
		}
	}
	head = readBase(ctx, tree, false).Commit
	if ctx.Err() != nil {
		return nil, "", fmt.Errorf("repostate: %w", context.Cause(ctx))
	}
	if head == base.Commit {
		head = ""
	}
	return changed, head, nil
}

// readBase reads the commit, and, where asked to, compares the tracked files with it. A folder of which nothing is
// tracked belongs to no repository, though one lies around it.
func readBase(ctx context.Context, tree string, compare bool) plans.Base {
	repo, ok := findRepo(tree)
	if !ok {
		return plans.Base{}
	}
	defer repo.close()
	commit, err := repo.head()
	if err != nil || commit == "" {
		return plans.Base{Dirty: true}
	}
	ix, written, err := repo.readIndex(commit)
	switch {
	case err != nil:
		return plans.Base{Commit: commit, Dirty: true}
	case repo.prefix != "" && !ix.below(repo.prefix):
		return plans.Base{}
	case !compare:
		return plans.Base{Commit: commit}
	}
	return plans.Base{Commit: commit, Dirty: !repo.clean(ctx, commit, ix, written)}
}

// hashFile is the hex SHA-256 of a regular file inside root. It takes what it reads from the budget.
func hashFile(ctx context.Context, root *os.Root, path string, budget *int64) (string, bool) {
	name := filepath.FromSlash(path)
	if ctx.Err() != nil || !filepath.IsLocal(name) {
		return "", false
	}
	f, size, err := openRegular(root, name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if size > min(MaxFile, *budget) {
		return "", false
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, MaxFile+1))
	*budget -= n
	if err != nil || n > MaxFile {
		return "", false
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

// errIrregular: what is no regular file is not read.
var errIrregular = errors.New("not a regular file")

// openRegular opens a regular file inside root without waiting for anything, and tells its size.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// readSmall reads a regular file of at most limit bytes.
func readSmall(root *os.Root, name string, limit int64) ([]byte, error) {
	f, size, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", name, size, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
