package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// filtered is a repository with one commit, in which git would run a program for each file if a filter "x" were configured.
func filtered(t *testing.T) (tree string, run func(args ...string)) {
	t.Helper()
	tree = filepath.Join(t.TempDir(), "repo")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	run = func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=mia", "-c", "user.email=mia@example.com"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for name, text := range map[string]string{"a.txt": "a\n", ".gitattributes": "* filter=x diff=x merge=x\n"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-q", "-m", "first")
	return tree, run
}

// ran is a program for git to run, and whether it was run. It writes nothing but its mark.
func ran(t *testing.T) (program string, was func() bool) {
	t.Helper()
	mark := filepath.Join(t.TempDir(), "ran")
	return "touch " + mark + "; cat", func() bool {
		_, err := os.Stat(mark)
		return err == nil
	}
}

// What a repository's own configuration has git run is not run for a worktree: the repository is refused, with the key.
func TestWorktreeRunsNoProgramOfTheRepository(t *testing.T) {
	for key, shown := range map[string]string{
		"filter.x.smudge": "", "filter.x.clean": "", "filter.x.process": "", "core.sshCommand": "core.sshcommand",
		"diff.x.command": "", "diff.x.textconv": "", "merge.x.driver": "", "include.path": "", "includeIf.onbranch:swarm/**.path": "includeif.",
	} {
		t.Run(key, func(t *testing.T) {
			tree, run := filtered(t)
			program, was := ran(t)
			run("config", key, program)
			if shown == "" {
				shown = key
			}
			_, _, err := openWorktree(tree, "t", "fixer")
			if err == nil || !strings.Contains(err.Error(), shown) || strings.Contains(err.Error(), "\n") {
				t.Errorf("a repository with %s: %v, want it refused in one line that names the key", key, err)
			}
			if _, err := os.Stat(tree + ".worktrees"); err == nil || was() {
				t.Errorf("a worktree was begun, or the program was run: %v", was())
			}
		})
	}
}

// A filter that is configured while the teammate works is not run when the worktree is looked at in the end: it is kept.
func TestWorktreeRunsNoProgramInTheEnd(t *testing.T) {
	tree, run := filtered(t)
	w, inside, err := openWorktree(tree, "t", "fixer")
	if err != nil {
		t.Fatal(err)
	}
	program, was := ran(t)
	run("config", "filter.x.clean", program)
	if err := os.WriteFile(filepath.Join(inside, "a.txt"), []byte("b\n"), 0o600); err != nil { // status would filter it
		t.Fatal(err)
	}
	if got := w.finish(); was() || !strings.Contains(got, "is kept") || !strings.Contains(got, "filter.x.clean") {
		t.Errorf("finish says %q, run: %v; want it kept, and the key named", got, was())
	}
}

// Keys of which no step here makes use are nobody's reason to refuse.
func TestWorktreeOfAnOrdinaryRepository(t *testing.T) {
	tree, run := filtered(t)
	program, was := ran(t)
	for _, key := range []string{"core.hooksPath", "core.fsmonitor", "core.editor", "core.pager", "alias.st", "pager.log"} {
		run("config", key, program)
	}
	w, _, err := openWorktree(tree, "t", "fixer")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.finish(); was() || !strings.Contains(got, "is removed") {
		t.Errorf("finish says %q, run: %v; want it removed, and nothing run", got, was())
	}
}
