package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/plans"
)

// A worktree is a git working tree of a teammate's own, beside the repository, on a branch of its own. It holds the work of
// a teammate that is started again under the same name.
type worktree struct {
	repo   string // the root of the repository's own working tree
	path   string
	branch string
	base   string // the commit that the branch began at, as far as it was made here
}

// gitWithin is how long one step of git may take.
const gitWithin = 2 * time.Minute

// git runs git in a folder. Neither hooks nor the fsmonitor of the repository run; see [checkPrograms] for what else it names.
func git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C", dir}, args...)...)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// unread are the keys that would have git run programs, and do not in the steps here: [git] switches the first two off, and
// no step asks for an editor, a pager or an alias.
var unread = []string{"core.hookspath", "core.fsmonitor", "core.editor", "core.pager"}

// checkPrograms refuses a repository whose own configuration has git run programs, a filter for example: they would run
// outside of what a teammate is held to. What the person's own configuration has git run is the person's.
func checkPrograms(dir string) error {
	info, err := execute.Resolver{}.GitConfig(dir)
	if err != nil {
		return err
	}
	for _, key := range info.ExecKeys {
		if !slices.Contains(unread, key) && !strings.HasPrefix(key, "alias.") && !strings.HasPrefix(key, "pager.") {
			return fmt.Errorf("its own git configuration has %s, with which git runs a program or reads more configuration", key)
		}
	}
	return nil
}

// openWorktree makes the worktree of a teammate, or finds the one that it had. Tree is in the repository; the tree to work in
// is the same folder of the worktree.
func openWorktree(tree, team, name string) (w worktree, inside string, err error) {
	no := func(what string, err error, next string) (worktree, string, error) {
		return worktree{}, "", fail(exitUsage, "no_worktree", fmt.Sprintf("%s (%s)", what, plans.VisibleLine(plainError(err))), next)
	}
	if err := checkPrograms(tree); err != nil {
		return no(fmt.Sprintf("the repository of %s cannot have a worktree", tree), err, "remove it with git config --unset, or leave --worktree out")
	}
	root, err := git(tree, "rev-parse", "--show-toplevel")
	if err != nil {
		return no(fmt.Sprintf("%s is in no git repository", tree), err, "leave --worktree out, or name one with --tree")
	}
	base, err := git(tree, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return no("the repository has no commit to begin with", err, "make one, or leave --worktree out")
	}
	below, err := filepath.Rel(root, tree)
	if err != nil {
		return no("the folder cannot be found in its repository", err, "name another with --tree")
	}
	w = worktree{repo: root, path: root + ".worktrees" + string(os.PathSeparator) + team + "-" + name, branch: "swarm/" + team + "/" + name, base: base}
	switch _, err := os.Lstat(w.path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := w.add(); err != nil {
			return no(fmt.Sprintf("%s cannot be made", w.path), err, "see git worktree list, or leave --worktree out")
		}
	case err != nil:
		return no(fmt.Sprintf("%s cannot be used", w.path), err, "leave --worktree out")
	default:
		if on, err := git(w.path, "symbolic-ref", "--short", "HEAD"); err != nil || on != w.branch || !w.isRoot() {
			return no(fmt.Sprintf("%s is there, and is not the worktree of branch %s", w.path, w.branch), err, "move it away, or choose another --name")
		}
	}
	inside = filepath.Join(w.path, below)
	if err := os.MkdirAll(inside, 0o755); err != nil {
		return no(fmt.Sprintf("%s cannot be made", inside), err, "name another folder with --tree")
	}
	return w, inside, nil
}

// add makes the worktree, on its branch where that is there already.
func (w worktree) add() error {
	_, _ = git(w.repo, "worktree", "prune") // one that was removed by hand is in nobody's way
	if _, err := git(w.repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.branch); err == nil {
		_, err = git(w.repo, "worktree", "add", "--quiet", w.path, w.branch)
		return err
	}
	_, err := git(w.repo, "worktree", "add", "--quiet", "-b", w.branch, w.path, w.base)
	return err
}

// isRoot reports whether the path is the root of a worktree, and no folder of another one.
func (w worktree) isRoot() bool {
	root, err := git(w.path, "rev-parse", "--show-toplevel")
	return err == nil && root == w.path
}

// finish removes a worktree in which nothing is, and its branch when it holds nothing of its own, and says what is kept. What
// is not committed is never removed, ignored files among it.
func (w worktree) finish() string {
	var changed string
	err := checkPrograms(w.path) // again: it may have come while the teammate worked
	if err == nil {
		changed, err = git(w.path, "status", "--porcelain", "--ignored", "--untracked-files=all")
	}
	if err != nil {
		return fmt.Sprintf("its worktree %s is kept: %s", w.path, plans.VisibleLine(plainError(err)))
	}
	own, err := git(w.path, "rev-list", "--count", "HEAD", "--not", "--exclude="+w.branch, "--branches", "--remotes", "--tags")
	if err != nil {
		own = "unknown"
	}
	if changed != "" || own != "0" {
		files := 0
		if changed != "" {
			files = strings.Count(changed, "\n") + 1
		}
		return fmt.Sprintf("its worktree is kept: %s, branch %s: commits of its own %s, files not committed %d", w.path, w.branch, own, files)
	}
	if _, err := git(w.repo, "worktree", "remove", w.path); err != nil { // git looks again
		return fmt.Sprintf("its worktree %s is kept: %s", w.path, plans.VisibleLine(plainError(err)))
	}
	_, _ = git(w.repo, "branch", "-d", w.branch) // refused where it holds something that is nowhere else
	_ = os.Remove(filepath.Dir(w.path))          // when it was the last
	return "its worktree held nothing of its own, and is removed"
}

func plainError(err error) string {
	if err == nil {
		return "it is another one"
	}
	return err.Error()
}
