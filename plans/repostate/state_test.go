package repostate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/repostate"
)

// git runs the real git, away from anybody's configuration.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, "", args...)
}

func gitIn(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// repository has two commits of three files and a link.
func repository(t testing.TB, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	git(t, filepath.Dir(dir), append(append([]string{"init", "-q"}, args...), dir)...)
	write(t, filepath.Join(dir, "a.go"), "package a\n")
	write(t, filepath.Join(dir, "sub", "b.go"), "package b\n")
	write(t, filepath.Join(dir, "sub", "deep", "c.go"), "package c\n")
	if err := os.Symlink("a.go", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	write(t, filepath.Join(dir, "a.go"), "package a // two\n")
	git(t, dir, "commit", "-q", "-am", "two")
	return dir
}

func base(t testing.TB, tree string) plans.Base {
	t.Helper()
	b, _, err := repostate.Read(t.Context(), tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBaseIsWhatGitSays(t *testing.T) {
	for _, tt := range []struct {
		name string
		tree func(t *testing.T) string
	}{
		{"plain", func(t *testing.T) string { return repository(t) }},
		{"sha256", func(t *testing.T) string { return repository(t, "--object-format=sha256") }},
		{"subfolder", func(t *testing.T) string { return filepath.Join(repository(t), "sub") }},
		{"packed", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "gc", "-q")
			return dir
		}},
		{"one of many in a pack", func(t *testing.T) string {
			dir := repository(t)
			var commits strings.Builder
			commits.WriteString("blob\nmark :1\ndata 1\nx\n")
			for i := range 600 {
				fmt.Fprintf(&commits, "commit refs/heads/main\ncommitter t <t@t> %d +0000\ndata 1\nx\nM 644 :1 f\n", i)
			}
			gitIn(t, dir, commits.String(), "fast-import", "--quiet", "--force")
			git(t, dir, "reset", "-q", "--hard")
			if packs, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*.pack")); len(packs) != 1 {
				t.Fatalf("packs %q, want one", packs)
			}
			return dir
		}},
		{"packed refs only", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "pack-refs", "--all")
			return dir
		}},
		{"detached", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "checkout", "-q", "HEAD~1")
			return dir
		}},
		{"worktree", func(t *testing.T) string {
			dir := repository(t)
			tree := filepath.Join(t.TempDir(), "tree")
			git(t, dir, "worktree", "add", "-q", "-b", "swarm/shop/api", tree)
			return tree
		}},
		{"clone", func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "clone")
			git(t, filepath.Dir(dir), "clone", "-q", "file://"+repository(t), dir)
			return dir
		}},
		{"index version 4", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "update-index", "--index-version", "4")
			git(t, dir, "reset", "-q", "--hard")
			return dir
		}},
		{"version 3", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "update-index", "--skip-worktree", "a.go")
			git(t, dir, "write-tree") // the cached tree again
			os.Remove(filepath.Join(dir, "a.go"))
			return dir
		}},
		{"copied", func(t *testing.T) string { // other times and inodes
			dir := repository(t)
			to := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			return to
		}},
		{"untracked", func(t *testing.T) string {
			dir := repository(t)
			write(t, filepath.Join(dir, "new.go"), "x")
			return dir
		}},
		{"branch switched", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "checkout", "-q", "-b", "x", "HEAD~1")
			git(t, dir, "checkout", "-q", "main")
			return dir
		}},
		{"merged", func(t *testing.T) string {
			dir := repository(t)
			git(t, dir, "checkout", "-q", "-b", "x", "HEAD~1")
			write(t, filepath.Join(dir, "x.go"), "x")
			git(t, dir, "add", ".")
			git(t, dir, "commit", "-q", "-m", "x")
			git(t, dir, "merge", "-q", "-m", "merge", "main")
			return dir
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := tt.tree(t)
			want := plans.Base{Commit: git(t, tree, "rev-parse", "HEAD")}
			if got := base(t, tree); got != want {
				t.Errorf("base = %+v, want %+v", got, want)
			}
		})
	}
}

func TestDirty(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir string)
	}{
		{"changed", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.go"), "package b // two\n") }},
		{"changed, with the old time", func(t *testing.T, dir string) {
			old, err := os.Stat(filepath.Join(dir, "a.go"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "a.go"), "package b // two\n")
			if err := os.Chtimes(filepath.Join(dir, "a.go"), old.ModTime(), old.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		{"deeper", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "sub", "deep", "c.go"), "x") }},
		{"removed", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "a.go")) }},
		{"folder gone", func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "sub")) }},
		{"a link now", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "a.go"))
			os.Symlink("sub/b.go", filepath.Join(dir, "a.go"))
		}},
		{"folder is a link now", func(t *testing.T, dir string) {
			os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "..", "elsewhere"))
			os.Symlink("../elsewhere", filepath.Join(dir, "sub"))
			write(t, filepath.Join(dir, "sub", "b.go"), "other\n")
		}},
		{"link elsewhere", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "link"))
			os.Symlink("sub", filepath.Join(dir, "link"))
		}},
		{"staged", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a.go"), "x")
			git(t, dir, "add", ".")
		}},
		{"staged new", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "new.go"), "x")
			git(t, dir, "add", ".")
		}},
		{"staged, tree written", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a.go"), "x")
			git(t, dir, "add", ".")
			git(t, dir, "write-tree")
		}},
		{"intent to add", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "new.go"), "x")
			git(t, dir, "add", "-N", ".")
		}},
		{"soft reset", func(t *testing.T, dir string) { git(t, dir, "reset", "-q", "--soft", "HEAD~1") }},
		{"index gone", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, ".git", "index")) }},
		{"split index", func(t *testing.T, dir string) { git(t, dir, "update-index", "--split-index") }},
		{"objects gone", func(t *testing.T, dir string) {
			os.RemoveAll(filepath.Join(dir, ".git", "objects"))
			os.MkdirAll(filepath.Join(dir, ".git", "objects", "pack"), 0o755)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := repository(t)
			if b := base(t, dir); b.Dirty {
				t.Fatalf("dirty before: %+v", b)
			}
			tt.make(t, dir)
			if b := base(t, dir); !b.Dirty || b.Commit == "" {
				t.Errorf("base = %+v, want the commit, dirty", b)
			}
		})
	}
}

// Nothing that a repository configures is run.
func TestNoProgramOfTheRepositoryRuns(t *testing.T) {
	dir := repository(t)
	canary := filepath.Join(t.TempDir(), "canary")
	run := "touch " + canary + "; cat"
	for _, key := range []string{"filter.x.clean", "filter.x.smudge", "filter.x.process", "core.fsmonitor", "diff.x.textconv", "diff.external", "core.sshCommand", "core.pager", "gpg.program", "alias.status"} {
		git(t, dir, "config", key, run)
	}
	write(t, filepath.Join(dir, ".git", "info", "attributes"), "* filter=x diff=x\n")
	hook := filepath.Join(dir, ".git", "hooks", "post-index-change")
	write(t, hook, "#!/bin/sh\n"+run+"\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.go"), "changed\n")
	b, reads, err := repostate.Read(t.Context(), dir, []string{"a.go"})
	if err != nil || !b.Dirty || len(reads) != 1 {
		t.Errorf("Read = %+v, %v, %v", b, reads, err)
	}
	if _, _, err := repostate.Moved(t.Context(), dir, b, reads); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(canary); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program of the repository ran: %v", err)
	}
}

func TestNoRepository(t *testing.T) {
	dir := t.TempDir()
	if b := base(t, dir); b != (plans.Base{}) {
		t.Errorf("base of a plain folder = %+v", b)
	}
	if _, _, err := repostate.Read(t.Context(), filepath.Join(dir, "gone"), nil); err == nil {
		t.Error("Read of no folder succeeded")
	}
	git(t, dir, "init", "-q")
	if b := base(t, dir); b != (plans.Base{Dirty: true}) {
		t.Errorf("base of a repository without a commit = %+v, want dirty", b)
	}
	repo := repository(t)
	copied := filepath.Join(repo, "copies", "one")
	write(t, filepath.Join(copied, "a.go"), "x")
	if b := base(t, copied); b != (plans.Base{}) {
		t.Errorf("base of an untracked folder inside a repository = %+v, want none", b)
	}
}

func TestDamagedRepositories(t *testing.T) {
	big := strings.Repeat("x", 10<<10)
	for name, put := range map[string]func(git string) error{
		"no HEAD":   func(g string) error { return os.Remove(filepath.Join(g, "HEAD")) },
		"junk HEAD": func(g string) error { return os.WriteFile(filepath.Join(g, "HEAD"), []byte("junk"), 0o644) },
		"big HEAD":  func(g string) error { return os.WriteFile(filepath.Join(g, "HEAD"), []byte(big), 0o644) },
		"HEAD outside": func(g string) error {
			return os.WriteFile(filepath.Join(g, "HEAD"), []byte("ref: refs/../../../secret\n"), 0o644)
		},
		"ref loop": func(g string) error {
			return os.WriteFile(filepath.Join(g, "refs", "heads", "main"), []byte("ref: refs/heads/main\n"), 0o644)
		},
		"reftable": func(g string) error {
			return os.WriteFile(filepath.Join(g, "HEAD"), []byte("ref: refs/heads/.invalid\n"), 0o644)
		},
		"HEAD a folder": func(g string) error {
			return errors.Join(os.Remove(filepath.Join(g, "HEAD")), os.Mkdir(filepath.Join(g, "HEAD"), 0o755))
		},
		"HEAD a link": func(g string) error {
			return errors.Join(os.Remove(filepath.Join(g, "HEAD")), os.Symlink("/etc/passwd", filepath.Join(g, "HEAD")))
		},
		"git elsewhere": func(g string) error {
			return errors.Join(os.RemoveAll(g), os.WriteFile(g, []byte("gitdir: /nowhere\n"), 0o644))
		},
		"git a big file": func(g string) error { return errors.Join(os.RemoveAll(g), os.WriteFile(g, []byte(big), 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			if err := put(filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
			b, reads, err := repostate.Read(t.Context(), dir, []string{"a.go"})
			if err != nil || b.Commit != "" || len(reads) != 1 {
				t.Errorf("Read = %+v, %v, %v; want no commit, and the file", b, reads, err)
			}
		})
	}
}

func TestReads(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "secret")
	write(t, filepath.Join(dir, "a.go"), "abc")
	write(t, filepath.Join(dir, "sub", "b.go"), "")
	write(t, filepath.Join(dir, "large"), strings.Repeat("x", repostate.MaxFile+1))
	write(t, filepath.Join(dir, "largest"), strings.Repeat("x", repostate.MaxFile))
	for name, target := range map[string]string{"out": secret, "up": "..", "in": "a.go"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, reads, err := repostate.Read(t.Context(), dir, []string{
		"a.go", "sub/b.go", "sub", "large", "largest", "gone", "out", "in", "../secret", secret, "/etc/passwd", "up/x", "~/x", ".", "", "a.go\x00",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range reads {
		got = append(got, r.Path+" "+r.Digest[:8])
	}
	want := []string{"a.go ba7816bf", "sub/b.go e3b0c442", "largest " + plans.Digest([]byte(strings.Repeat("x", repostate.MaxFile)))[:8], "in ba7816bf"}
	if !slices.Equal(got, want) {
		t.Errorf("reads %q, want %q", got, want)
	}
}

func TestMoved(t *testing.T) {
	dir := repository(t)
	paths := []string{"a.go", "sub/b.go", "sub/deep/c.go"}
	b, reads, err := repostate.Read(t.Context(), dir, paths)
	if err != nil || len(reads) != 3 {
		t.Fatal(reads, err)
	}
	moved := func() ([]string, string) {
		t.Helper()
		changed, head, err := repostate.Moved(t.Context(), dir, b, reads)
		if err != nil {
			t.Fatal(err)
		}
		return changed, head
	}
	if changed, head := moved(); changed != nil || head != "" {
		t.Errorf("nothing moved = %q, %q", changed, head)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a.go"), later, later); err != nil {
		t.Fatal(err)
	}
	if changed, _ := moved(); changed != nil {
		t.Errorf("touched = %q, want nothing: content counts", changed)
	}
	write(t, filepath.Join(dir, "a.go"), "other\n")
	os.Remove(filepath.Join(dir, "sub", "b.go"))
	git(t, dir, "commit", "-q", "-am", "three")
	changed, head := moved()
	if want := []string{"a.go", "sub/b.go"}; !slices.Equal(changed, want) || head != git(t, dir, "rev-parse", "HEAD") {
		t.Errorf("moved = %q, %q; want %q and the new commit", changed, head, want)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, _, err := repostate.Read(ctx, repository(t), []string{"a.go"}); !errors.Is(err, cause) {
		t.Errorf("Read = %v, want the cause", err)
	}
	if _, _, err := repostate.Moved(ctx, t.TempDir(), plans.Base{}, nil); !errors.Is(err, cause) {
		t.Errorf("Moved = %v, want the cause", err)
	}
}

// Any index is read or refused.
func FuzzIndex(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Fatal("git is not installed: apt-get install git")
	}
	dir := repository(f)
	for _, version := range []string{"2", "4"} {
		git(f, dir, "update-index", "--index-version", version)
		data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, ".git", "index"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := repostate.Read(t.Context(), dir, nil); err != nil {
			t.Fatal(err)
		}
	})
}
