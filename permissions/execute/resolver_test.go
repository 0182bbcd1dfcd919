//go:build linux

package execute_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/execute"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// git runs a real git, with no configuration but the repository's.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/usr/bin/git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(path), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// repository is a fresh one with a commit.
func repository(t testing.TB, dir string) string {
	t.Helper()
	git(t, "/", "init", "-q", "-b", "main", dir)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	return dir
}

// wantKeys compares the exec-bearing keys that are found from dir. A nil want is an error.
func wantKeys(t *testing.T, what, dir string, want ...string) {
	t.Helper()
	info, err := execute.Resolver{}.GitConfig(dir)
	slices.Sort(info.ExecKeys)
	slices.Sort(want)
	if err != nil || !slices.Equal(info.ExecKeys, want) {
		t.Errorf("%s: GitConfig = %q, %v, want %q", what, info.ExecKeys, err, want)
	}
}

func TestGitConfig(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	info, err := execute.Resolver{}.GitConfig(dir)
	if err != nil || info.Repository {
		t.Errorf("no repository: %+v, %v", info, err)
	}
	repo := repository(t, dir+"/repo")
	sub := repo + "/a/b"
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if info, err := (execute.Resolver{}).GitConfig(sub); err != nil || !info.Repository {
		t.Errorf("below a repository: %+v, %v, want it found", info, err)
	}
	wantKeys(t, "fresh", repo)
	for _, kv := range []string{
		"filter.x.clean", "diff.x.textconv", "core.fsmonitor", "core.sshCommand", "gpg.program", "credential.helper",
		"include.path", "alias.st", "remote.origin.uploadpack", "includeIf.gitdir:x.path",
	} {
		git(t, repo, "config", kv, "canary")
		wantKeys(t, kv, sub, normal(kv))
		git(t, repo, "config", "--unset", kv)
	}
	writeFile(t, repo+"/.git/config", "[core]\nfsmonitor=x [alias]\n[CORE]PAGER=y\n[diff \"A.b\\\"c\"] textConv=z;[alias]x=y\n[filter.Sub]\n\tsmudge = \\\n [alias]\n")
	wantKeys(t, "odd spellings", repo, "core.fsmonitor", "core.pager", `diff.A.b"c.textconv`, "filter.sub.smudge")
	for what, text := range map[string]string{
		"no bracket": "[core\n", "no section": "fsmonitor=x\n", "NUL": "[core]\n\x00", "escape": "[a]\nb=\\x\n", "quotes": "[a]\nb=\"\n", "text": "hello there\n",
	} {
		writeFile(t, repo+"/.git/config", text)
		if info, err := (execute.Resolver{}).GitConfig(sub); err == nil {
			t.Errorf("%s: GitConfig = %+v, want an error", what, info)
		}
	}
}

// normal is a key as git lists it.
func normal(key string) string {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}

// The file that decides is not always .git/config.
func TestGitConfigElsewhere(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	repo := repository(t, dir+"/repo")
	other := repository(t, dir+"/other")
	git(t, repo, "submodule", "--quiet", "add", other, "deps/sub")
	git(t, repo, "commit", "-q", "-m", "x")
	git(t, repo, "worktree", "add", "-q", dir+"/linked")
	git(t, repo, "config", "extensions.worktreeConfig", "true")
	wantKeys(t, "harmless", repo)
	git(t, dir+"/linked", "config", "--worktree", "core.editor", "x")
	wantKeys(t, "another worktree's", repo)
	wantKeys(t, "the worktree's", dir+"/linked", "core.editor")
	git(t, repo+"/deps/sub", "config", "filter.x.process", "x")
	wantKeys(t, "in the submodule", repo+"/deps/sub", "filter.x.process")
	wantKeys(t, "above the submodule", repo, "filter.x.process")
	wantKeys(t, "both", dir+"/linked", "core.editor", "filter.x.process")
	git(t, repo+"/deps/sub", "config", "--unset", "filter.x.process")
	broken := repo + "/.git/modules/deps/other"
	writeFile(t, broken+"/HEAD", "")
	writeFile(t, broken+"/config", "[")
	if info, err := (execute.Resolver{}).GitConfig(repo); err == nil {
		t.Errorf("a submodule that cannot be read: GitConfig = %+v, want an error", info)
	}
	if err := os.RemoveAll(broken); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", repo+"/.git/modules/deps/circle"); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, "folders in a circle", repo)
	if err := os.Remove(repo + "/.git/modules/deps/circle"); err != nil {
		t.Fatal(err)
	}
	repository(t, repo+"/own") // a submodule whose git folder lies in the tree
	git(t, repo+"/own", "config", "core.askPass", "x")
	writeFile(t, repo+"/.gitmodules", "[submodule \"own\"]\npath = own\n[submodule \"bad\"]\npath = ../../other\n")
	wantKeys(t, "an embedded one", repo, "core.askpass")
}

// What git would pass by does not hide what it finds next.
func TestGitConfigIsNotMisled(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	repo := repository(t, dir+"/repo")
	git(t, repo, "config", "core.pager", "x")
	decoy := repo + "/decoy"
	writeFile(t, decoy+"/.git/HEAD", "no head")
	writeFile(t, decoy+"/.git/config", "[alias]\nx=y\n")
	wantKeys(t, "a decoy", decoy, "alias.x", "core.pager")
	nested := repository(t, repo+"/nested")
	wantKeys(t, "a repository of its own", nested)
	git(t, repo, "init", "-q", "--bare", repo+"/bare")
	wantKeys(t, "a bare one", repo+"/bare", "(bare repository)", "core.pager")
	wantKeys(t, "inside .git", repo+"/.git", "(bare repository)", "core.pager")
	if err := os.Symlink(nested, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, "through a link", dir+"/link")
	for what, create := range map[string]func(name string) error{
		"a pipe":       func(n string) error { return unix.Mkfifo(n, 0o644) },
		"a loop":       func(n string) error { return os.Symlink(".git", n) },
		"a bad link":   func(n string) error { return os.WriteFile(n, []byte("gitdir:x"), 0o644) },
		"a huge file":  func(n string) error { return os.WriteFile(n, make([]byte, 2<<20), 0o644) },
		"pipe as file": func(n string) error { _ = os.Mkdir(n, 0o755); return unix.Mkfifo(n+"/config", 0o644) },
	} {
		root := filepath.Join(dir, what)
		writeFile(t, root+"/x", "")
		if err := create(root + "/.git"); err != nil {
			t.Fatal(err)
		}
		if info, err := (execute.Resolver{}).GitConfig(root); err == nil {
			t.Errorf("%s: GitConfig = %+v, want an error", what, info)
		}
	}
	if _, err := (execute.Resolver{}).GitConfig(dir + "/none"); err == nil {
		t.Error("a missing directory: want an error")
	}
}

// Whatever git reads from a file, we read too, or refuse the file.
func TestGitConfigReadsWhatGitReads(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	repo := repository(t, dir+"/repo")
	head := readFile(t, repo+"/.git/config")
	piece := rapid.SampledFrom([]string{
		"[alias]", "[filter \"x\"]", "[filter \"a\\\"]b\"]", "[diff.Y]", "[", "]", "\"", "\\", "\\\n", "\n", "\r\n", "\r", " ", "\t", "#", ";", "=",
		"clean", "a", "st = x", "textconv=y", "b = \"c # d\"", "\xef\xbb\xbf", "é", "-", "1", "[core]", "pager", ".", "[Alias]z=1",
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(rt, "text"), "")
		writeFile(t, repo+"/.git/config", text+"\n"+head)
		info, err := execute.Resolver{}.GitConfig(repo)
		if err != nil {
			return // the engine asks
		}
		cmd := exec.Command("/usr/bin/git", "config", "--file", repo+"/.git/config", "--list", "--name-only", "-z")
		cmd.Env = []string{"HOME=/nonexistent"}
		out, err := cmd.Output()
		if err != nil {
			return // git refuses, and runs nothing
		}
		for key := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			bearing := strings.HasPrefix(key, "alias.") || strings.HasPrefix(key, "filter.") || key == "core.pager" || strings.HasPrefix(key, "diff.") && strings.HasSuffix(key, ".textconv")
			if bearing && !slices.Contains(info.ExecKeys, key) {
				rt.Fatalf("%q: git reads %q, we read %q", text, key, info.ExecKeys)
			}
		}
	})
}

// FuzzGitConfig: no text makes the reader fail in any way but by an error.
func FuzzGitConfig(f *testing.F) {
	dir := tempDir(f)
	for _, seed := range []string{"[core]\npager=x", "[a \"b\\\"\"]c", "[", "[a]b=\"\\", "[a]\n b = c \\\n d # e", "\xef\xbb\xbf[a]b\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		writeFile(t, dir+"/.git/config", text)
		if info, err := (execute.Resolver{}).GitConfig(dir); err != nil && len(info.ExecKeys) > 0 {
			t.Errorf("%q: keys %q with an error", text, info.ExecKeys)
		}
	})
}

func TestEvalSymlinks(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFile(t, dir+"/real/file", "")
	writeFile(t, dir+"/a/b/file", "")
	for link, to := range map[string]string{
		"link": "real", "up": "a/b", "dangling": "real/later", "far": "/nonexistent/x/y", "chain": "dangling", "loop": "loop", "dots": "up/../new",
	} {
		if err := os.Symlink(to, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"real/file": "real/file", "link/file": "real/file", "link": "real", "real/new": "real/new", "link/new/er": "real/new/er",
		"up/../x": "a/x", "up/..": "a", "dangling": "real/later", "chain": "real/later", "chain/x": "real/later/x",
		"dots": "a/new", ".": "", "none/./x": "none/x",
	} {
		got, err := execute.Resolver{}.EvalSymlinks(dir + "/" + path)
		if want = filepath.Join(dir, want); got != want || err != nil {
			t.Errorf("EvalSymlinks(%s) = %s, %v, want %s", path, got, err, want)
		}
	}
	if got, err := (execute.Resolver{}).EvalSymlinks(dir + "/far"); got != "/nonexistent/x/y" || err != nil {
		t.Errorf("EvalSymlinks(far) = %s, %v", got, err)
	}
	for _, path := range []string{"loop", "loop/x", "real/file/x", "none/../x"} {
		if got, err := (execute.Resolver{}).EvalSymlinks(dir + "/" + path); err == nil {
			t.Errorf("EvalSymlinks(%s) = %s, want an error", path, got)
		}
	}
}

func TestGlob(t *testing.T) {
	dir := tempDir(t)
	writeFile(t, dir+"/a.go", "")
	got, err := execute.Resolver{}.Glob(dir + "/*.go")
	if !slices.Equal(got, []string{dir + "/a.go"}) || err != nil {
		t.Errorf("Glob = %q, %v", got, err)
	}
	if got, err := (execute.Resolver{}).Glob(dir + "/*.none"); len(got) != 0 || err != nil {
		t.Errorf("Glob of nothing = %q, %v, want neither", got, err)
	}
}
