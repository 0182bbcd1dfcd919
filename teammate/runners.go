package teammate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// How much of a working tree is looked at for runner files, and how much of each is kept. What is beyond is not recorded:
// the commands that obey it ask.
const (
	maxTreeEntries = 20_000
	maxRunnerFiles = 64
	maxRunnerBytes = 256 << 10
	maxDifference  = 64 << 10 // bytes of what has changed that a leader is shown
)

// unlooked are folders of which no command's runner file is expected in a tree's own work: they may be huge.
var unlooked = []string{".git", "node_modules", "vendor"}

// runnerKeep holds the bytes of runner files by their digest, so that a leader can be shown what has changed.
type runnerKeep struct {
	mu   sync.Mutex
	keep keep
}

func (k *runnerKeep) load(folder keep) (err error) {
	k.keep, err = folder.sub("runners")
	return err
}

// put keeps the bytes of a file. Without room they are not kept: the change is then told without them.
func (k *runnerKeep) put(digest string, content []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(content) > maxRunnerBytes {
		return nil
	}
	return k.keep.putBytes(digest, content)
}

// get returns the bytes with a digest, or false when they are not kept or not what they were.
func (k *runnerKeep) get(digest string) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keep.root == nil || !isDigest(digest) {
		return nil, false
	}
	content, err := k.keep.root.ReadFile(digest)
	if err != nil || digestOf(content) != digest {
		return nil, false
	}
	return content, true
}

// only forgets what none of these files needs.
func (k *runnerKeep) only(files []permissions.RunnerFile) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	names, err := k.keep.names()
	for _, name := range names {
		if !slices.ContainsFunc(files, func(f permissions.RunnerFile) bool { return f.Digest == name }) {
			err = errors.Join(err, k.keep.remove(name))
		}
	}
	return err
}

func isDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// runnerFiles finds the files that say what the commands of the asked intents run, as they are now, and keeps their bytes.
func (r *Runner) runnerFiles(ctx context.Context, prompts []permissions.Prompt, planned []string) []permissions.RunnerFile {
	var names []string
	for _, p := range prompts {
		names = append(names, r.cfg.Tables.RunnerNames(p.Intent)...)
	}
	tree, err := os.OpenRoot(r.cfg.Tree)
	if err != nil || len(names) == 0 {
		return nil
	}
	defer tree.Close()
	var files []permissions.RunnerFile
	for _, at := range findRunners(ctx, r.cfg.Tree, names, planned) {
		digest, content, err := r.readRunner(tree, at)
		if err != nil || digest == "" {
			continue // what cannot be read is asked about when it is used
		}
		if err := r.runners.put(digest, content); err != nil {
			r.log.Warn("teammate: a runner file is not kept, its change will be told without its text", "cause", err)
		}
		files = append(files, permissions.RunnerFile{Path: at, Digest: digest})
	}
	return planmode.PlanRunners(files, planned, names)
}

// readRunner returns a file's digest, as a program would read it, and its bytes where it lies inside the tree. The digest
// is "" when there is none.
func (r *Runner) readRunner(tree *os.Root, at string) (digest string, content []byte, err error) {
	digest, err = execute.Resolver{}.Digest(filepath.Join(r.cfg.Tree, filepath.FromSlash(at)))
	if err != nil || digest == "" {
		return "", nil, err
	}
	content, err = readInside(tree, at)
	if err != nil || digestOf(content) != digest {
		content = nil // outside, or changing just now: known by its digest alone
	}
	return digest, content, nil
}

// readInside reads a regular file that lies inside the tree, also behind a link.
func readInside(tree *os.Root, at string) ([]byte, error) {
	f, err := tree.OpenFile(filepath.FromSlash(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("teammate: %s is no regular file", at)
	}
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// findRunners lists files with one of the names, as slash paths inside the tree: those that the plan names first, then
// folder by folder from the top, as far as the limits go.
func findRunners(ctx context.Context, tree string, names, planned []string) []string {
	var found []string
	for _, at := range planned {
		if slices.Contains(names, path.Base(at)) && filepath.IsLocal(filepath.FromSlash(at)) && len(found) < maxRunnerFiles {
			found = append(found, at)
		}
	}
	entries := 0
	folders := []string{"."}
	for len(folders) > 0 {
		dir := folders[0]
		folders = folders[1:]
		for _, e := range readFolder(filepath.Join(tree, filepath.FromSlash(dir)), maxTreeEntries-entries) {
			if entries++; entries > maxTreeEntries || len(found) >= maxRunnerFiles || ctx.Err() != nil {
				return found
			}
			at := path.Join(dir, e.Name())
			switch {
			case e.IsDir() && !slices.Contains(unlooked, e.Name()):
				folders = append(folders, at)
			case !e.IsDir() && slices.Contains(names, e.Name()) && !slices.Contains(found, at):
				found = append(found, at)
			}
		}
	}
	return found
}

// readFolder lists at most so many entries of a folder, sorted.
func readFolder(dir string, most int) []fs.DirEntry {
	f, err := os.Open(dir)
	if err != nil || most <= 0 {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(most + 1) // as far as it can be read
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// exactly are the runner files of a call's command, for a grant for exactly that, or why there can be no such grant.
func (r *Runner) exactly(v View, call permissions.Call) (files []permissions.RunnerFile, onceOnly string) {
	files, err := r.cfg.Engine.ExactRunners(call, r.judging(v))
	if err != nil {
		return nil, err.Error()
	}
	if len(files) > maxRunnerFiles {
		return nil, fmt.Sprintf("it obeys %d files", len(files))
	}
	return files, ""
}

// keepRunners keeps the bytes of runner files as they were judged, and forgets those that nobody remembers any more. The
// caller holds the lock.
func (r *Runner) keepRunners(files []permissions.RunnerFile) {
	tree, err := os.OpenRoot(r.cfg.Tree)
	if err != nil {
		return
	}
	defer tree.Close()
	for _, f := range files {
		if _, kept := r.runners.get(f.Digest); kept {
			continue
		}
		if content, err := readInside(tree, f.Path); err == nil && digestOf(content) == f.Digest {
			if err := r.runners.put(f.Digest, content); err != nil {
				r.log.Warn("teammate: a runner file is not kept, its change will be told without its text", "cause", err)
			}
		}
	}
	remembered := slices.Clone(files)
	if p := r.session.Pending; p != nil {
		remembered = append(remembered, p.Runners...)
	}
	for _, g := range r.session.Grants {
		remembered = append(remembered, g.Runners...)
	}
	for _, a := range r.session.Asks {
		remembered = append(remembered, a.Obeys...)
	}
	if err := r.runners.only(remembered); err != nil {
		r.log.Warn("teammate: old runner files are still kept", "cause", err)
	}
}

// difference tells a leader how runner files differ from those that the grants remember: as they were when the plan was
// submitted, or when exactly this command was asked. Each line of a file stands behind a sign of its own, so that none can
// pass for ours.
func (r *Runner) difference(changed []permissions.RunnerFile, grants []permissions.Grant, argv []string) string {
	tree, err := os.OpenRoot(r.cfg.Tree)
	if err != nil {
		return ""
	}
	defer tree.Close()
	var b strings.Builder
	for _, now := range changed {
		was, since := recorded(grants, now.Path, argv)
		title, text := r.differenceOf(tree, was, now, since)
		fmt.Fprintf(&b, "%s %s\n", plans.VisibleLine(now.Path), title)
		b.WriteString(shortened(text, maxDifference-b.Len()))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// recorded is the file as the grants remember it, and since when; without a digest when they do not. A grant for exactly
// this command comes first.
func recorded(grants []permissions.Grant, at string, argv []string) (was permissions.RunnerFile, since string) {
	was, since = permissions.RunnerFile{Path: at}, "the plan was submitted"
	found := false
	for _, g := range grants {
		n := len(argv) - len(g.Argv)
		exact := len(g.Argv) > 0 && n >= 0 && slices.Equal(argv[n:], g.Argv)
		if len(g.Argv) > 0 && !exact || found && !exact {
			continue
		}
		i := slices.IndexFunc(g.Runners, func(f permissions.RunnerFile) bool { return f.Path == at })
		if i >= 0 {
			was, found = g.Runners[i], true
		}
		if exact {
			return was, "exactly this command was allowed for the plan"
		}
	}
	return was, since
}

func (r *Runner) differenceOf(tree *os.Root, was, now permissions.RunnerFile, since string) (title, text string) {
	var before, after []byte
	if now.Digest == permissions.Unreadable {
		return "cannot be read: it is no file, or too large", ""
	}
	if now.Digest != "" {
		content, err := readInside(tree, now.Path)
		switch {
		case err != nil:
			return "has changed since " + since + ", and what it holds now is not shown: it lies outside of the working tree, or cannot be read", ""
		case digestOf(content) != now.Digest:
			return "is changing just now: it is asked about anew", ""
		}
		after = content
	}
	kept := true
	if was.Digest != "" {
		before, kept = r.runners.get(was.Digest)
	}
	switch {
	case now.Digest == "":
		title = "is gone since " + since
	case was.Digest == "":
		title = "was not there when " + since
	default:
		title = "has changed since " + since
	}
	if !kept {
		title += "; what it was is not kept, this is all of it"
	}
	added, removed, text := plans.Diff(before, after)
	return fmt.Sprintf("%s (-%d +%d lines, SHA-256 now %s):", title, removed, added, orNone(now.Digest)), text
}

func orNone(digest string) string {
	if digest == "" {
		return "none"
	}
	return digest
}

// shortened cuts a difference after a whole line, and says so.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := strings.LastIndexByte(text[:max(most, 0)], '\n') + 1
	return text[:cut] + "(not all of it is shown)\n"
}
