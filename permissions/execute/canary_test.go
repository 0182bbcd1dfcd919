//go:build linux

package execute_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
)

// A nest is a working tree with a repository, and a program outside of it that leaves a mark where it runs.
type nest struct {
	stirred             int64
	tree, home, outside string
	canary              string // the program
	mark                string
}

func newNest(t testing.TB) *nest {
	t.Helper()
	dir := tempDir(t)
	n := &nest{tree: dir + "/tree", home: dir + "/home", outside: dir + "/outside", canary: dir + "/outside/canary", mark: dir + "/mark"}
	repository(t, n.tree)
	writeFile(t, n.home+"/x", "")
	n.program(t, n.canary)
	n.file(t, "a.txt", "one\n")
	n.file(t, "go.mod", "module x\n\ngo 1.21\n")
	n.file(t, "x_test.go", "package main\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n")
	n.file(t, "main.go", "package main\n\nfunc main() {}\n")
	n.file(t, "Makefile", "test:\n\t@echo tested\n")
	n.file(t, "package.json", `{"name":"x","version":"1.0.0","scripts":{"test":"echo tested"}}`)
	git(t, n.tree, "add", ".")
	git(t, n.tree, "commit", "-q", "-m", "y")
	n.file(t, "a.txt", "two\n") // as long as it was: git has to read it
	return n
}

func (n *nest) file(t testing.TB, name, content string) { writeFile(t, n.tree+"/"+name, content) }

// program makes a program that leaves the mark.
func (n *nest) program(t testing.TB, name string) {
	t.Helper()
	writeFile(t, name, "#!/bin/sh\n: >"+n.mark+"\nexit 0\n")
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
}

// library makes a shared library that leaves the mark when it is loaded.
func (n *nest) library(t testing.TB) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc here to make a library with")
	}
	source, lib := n.outside+"/lib.c", n.outside+"/lib.so"
	writeFile(t, source, `#include <fcntl.h>
#include <unistd.h>
static void leave(void) { close(open("`+n.mark+`", O_CREAT|O_WRONLY, 0644)); }
__attribute__((constructor)) static void loaded(void) { leave(); }
unsigned la_version(unsigned v) { leave(); return v; }
`)
	cmd := exec.Command(gcc, "-shared", "-fPIC", "-o", lib, source)
	cmd.Env = path
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	return lib
}

// marked reports whether the canary ran, and takes the mark away.
func (n *nest) marked() bool { return os.Remove(n.mark) == nil }

// stir makes the index older than a file that has not changed: git writes a fresh one when it looks, and tells a hook.
func (n *nest) stir() {
	n.stirred++ // another time each time: a query before may have put the last one into the index
	_ = os.Chtimes(n.tree+"/go.mod", time.Time{}, time.Unix(1_000_000_000+n.stirred, 0))
}

// control carries a line out as a shell would that nobody hardened: by it is shown that the canary can sing.
func (n *nest) control(t testing.TB, line string, env []string) {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", line)
	cmd.Dir, cmd.Env = n.tree, append([]string{path[0] + ":/usr/local/go/bin", "HOME=" + n.home, "GOCACHE=" + goCache(), "GIT_CONFIG_NOSYSTEM=1", "EMAIL=x@x.invalid", "GIT_TERMINAL_PROMPT=0"}, env...)
	cmd.WaitDelay = time.Second
	n.stir()
	out, _ := cmd.CombinedOutput()
	if !n.marked() {
		t.Errorf("control: %s runs no canary, so that this row proves nothing: %s", line, out)
	}
}

func goCache() string {
	if dir, err := os.UserCacheDir(); err == nil {
		return dir + "/go-build"
	}
	return "/tmp"
}

// judge decides a line with the environment of this process, as a runner does.
func (n *nest) judge(line string) permissions.Decision {
	s := permissions.State{Mode: permissions.ModeDefault, Tree: n.tree, Home: n.home, Now: time.Now()}
	for _, prompt := range []string{"run tests", "build", "run the linter", "format code"} {
		s.Grants = append(s.Grants, permissions.Grant{
			GrantTerms: permissions.GrantTerms{Prompt: prompt, Intent: permissions.ResolvePrompt("Bash", prompt).Intent, Tree: ".", ExpiresAt: s.Now.Add(time.Hour)},
			ID:         "r/" + prompt, Root: n.tree,
			Runners: []permissions.RunnerFile{{Path: "Makefile", Planned: true}, {Path: "package.json", Planned: true}},
		})
	}
	engine := permissions.New(permissions.Config{Resolver: execute.Resolver{}, BaseEnv: append(os.Environ(), "GOCACHE="+goCache()), Path: execute.CleanPath(os.Getenv("PATH"), n.tree)})
	return engine.Decide(permissions.Call{Tool: "Bash", Command: line, Cwd: n.tree}, s)
}

// carry judges a line and, when it is allowed, really carries it out. No canary may run.
func (n *nest) carry(t testing.TB, line string) permissions.Decision {
	t.Helper()
	n.stir()
	d := n.judge(line)
	if d.Verdict == permissions.Allow {
		out, _, err := run(t, d.Contract)
		if err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	if n.marked() {
		t.Errorf("%s = %s (%s), and the canary ran", line, d.Verdict, d.Reason)
	}
	return d
}

// Each variable stands in the environment of the runner, and everybody's commands are carried out.
func TestNoVariableOfTheRunnerRunsACanary(t *testing.T) {
	const everyday = "ls -la; cat a.txt | head -1; git status; git diff; git log -p -2; git show; git blame a.txt; grep -rn one .; find . -name '*.go'; sort a.txt"
	type row struct {
		name    string
		env     func(t *testing.T, n *nest) []string
		control string // a line that runs the canary in a plain shell; empty when that needs a terminal, or what is not here
		command string // that is carried out; empty is everyday
	}
	set := func(kv ...string) func(*testing.T, *nest) []string {
		return func(_ *testing.T, n *nest) (out []string) {
			for _, e := range kv {
				out = append(out, strings.NewReplacer("@", n.canary, "%out", n.outside, "%mark", n.mark, "%tree", n.tree).Replace(e))
			}
			return out
		}
	}
	file := func(name, content string, kv ...string) func(*testing.T, *nest) []string {
		return func(t *testing.T, n *nest) []string {
			writeFile(t, n.outside+"/"+name, strings.NewReplacer("@", n.canary, "%out", n.outside, "%mark", n.mark).Replace(content))
			return set(kv...)(t, n)
		}
	}
	programs := func(dir string, kv ...string) func(*testing.T, *nest) []string {
		return func(t *testing.T, n *nest) []string {
			at := strings.NewReplacer("%out", n.outside, "%tree", n.tree).Replace(dir)
			for _, name := range []string{"ls", "git", "cat", "go", "head", "make", "node", "npm", "sh", "git-status", "git-remote-https", "as", "ld", "gcc"} {
				n.program(t, at+"/"+name)
			}
			return set(kv...)(t, n)
		}
	}
	library := func(name string) func(*testing.T, *nest) []string {
		return func(t *testing.T, n *nest) []string { return []string{name + "=" + n.library(t)} }
	}
	rows := []row{
		{"functions", set("BASH_FUNC_ls%%=() { @; }", "BASH_FUNC_cat%%=() { @; }", "BASH_FUNC_git%%=() { @; }"), "ls", ""},
		{"a function named like a path", set("BASH_FUNC_/bin/ls%%=() { @; }", "BASH_FUNC_cd%%=() { @; }"), "cd /", ""},
		{"BASH_ENV", file("rc", "@\n", "BASH_ENV=%out/rc"), "ls", ""},
		{"ENV", file("rc", "@\n", "ENV=%out/rc"), "", ""},
		{"SHELLOPTS and PS4", set("SHELLOPTS=xtrace", "PS4=$(@)"), unlessRoot("ls"), ""}, // root's bash takes no PS4 from there
		{"BASHOPTS", set("BASHOPTS=extdebug:sourcepath", "PS4=$(@)", "PROMPT_COMMAND=@", "TRAP=@"), "", ""},
		{"PATH into the tree", programs("%tree/bin", "PATH=%tree/bin:/usr/bin:/bin"), "ls", ""},
		{"PATH .", programs("%tree", "PATH=.:/usr/bin:/bin"), "ls", ""},
		{"PATH with an empty entry", programs("%tree", "PATH=:/usr/bin:/bin"), "ls", ""},
		{"PATH with a relative entry", programs("%tree/bin", "PATH=bin:/usr/bin:/bin"), "ls", ""},
		{"PATH that others write", func(t *testing.T, n *nest) []string {
			env := programs("%out/open", "PATH=%out/open:/usr/bin:/bin")(t, n)
			if err := os.Chmod(n.outside+"/open", 0o777); err != nil {
				t.Fatal(err)
			}
			return env
		}, "ls", ""},
		{"PATH by a link into the tree", func(t *testing.T, n *nest) []string {
			env := programs("%tree/bin", "PATH=%out/link:/usr/bin:/bin")(t, n)
			if err := os.Symlink(n.tree+"/bin", n.outside+"/link"); err != nil {
				t.Fatal(err)
			}
			return env
		}, "ls", ""},
		{"LD_PRELOAD", library("LD_PRELOAD"), "ls", ""},
		{"LD_AUDIT", library("LD_AUDIT"), "ls", ""},
		{"LD_LIBRARY_PATH", set("LD_LIBRARY_PATH=%out", "GCONV_PATH=%out", "LOCPATH=%out", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1"), "", ""},
		{"GIT_DIR", func(t *testing.T, n *nest) []string {
			repository(t, n.outside+"/evil")
			git(t, n.outside+"/evil", "config", "core.fsmonitor", n.canary)
			return []string{"GIT_DIR=" + n.outside + "/evil/.git"}
		}, "git status", ""},
		{"GIT_CONFIG_GLOBAL", file("config", "[core]\nfsmonitor=@\n", "GIT_CONFIG_GLOBAL=%out/config"), "git status", ""},
		{"GIT_CONFIG_SYSTEM", file("config", "[core]\nfsmonitor=@\n", "GIT_CONFIG_SYSTEM=%out/config", "GIT_CONFIG_NOSYSTEM=0"), "git status", ""},
		{"XDG_CONFIG_HOME", file("xdg/git/config", "[core]\nfsmonitor=@\n", "XDG_CONFIG_HOME=%out/xdg"), "git status", ""},
		{"HOME", file(".gitconfig", "[core]\nfsmonitor=@\n", "HOME=%out"), "git status", ""},
		{"GIT_CONFIG_COUNT", set("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=@"), "git status", ""},
		{"GIT_CONFIG_COUNT beyond ours", set("GIT_CONFIG_COUNT=9", "GIT_CONFIG_KEY_8=core.fsmonitor", "GIT_CONFIG_VALUE_8=@", "GIT_CONFIG_KEY_5=core.fsmonitor", "GIT_CONFIG_VALUE_5=@"), "", ""},
		{"GIT_CONFIG_PARAMETERS", set("GIT_CONFIG_PARAMETERS='core.fsmonitor=@'"), "git status", ""},
		{"GIT_EXTERNAL_DIFF", set("GIT_EXTERNAL_DIFF=@"), "git diff", ""},
		{"GIT_TRACE", set("GIT_TRACE=%mark"), "git status", ""},
		{"GIT_TRACE2_EVENT", set("GIT_TRACE2_EVENT=%mark", "GIT_TRACE_PERFORMANCE=%mark", "GIT_TRACE_SETUP=%mark"), "git status", ""},
		{"GIT_EXEC_PATH", programs("%out/core", "GIT_EXEC_PATH=%out/core"), "git ls-remote https://host.invalid/x", ""},
		{"GIT_SSH_COMMAND", set("GIT_SSH_COMMAND=@", "GIT_SSH_VARIANT=ssh"), "git ls-remote ssh://host.invalid/x", "git ls-remote ssh://host.invalid/x"},
		{"GIT_SSH", set("GIT_SSH=@"), "git ls-remote ssh://host.invalid/x", "git ls-remote ssh://host.invalid/x"},
		{"GIT_PROXY_COMMAND", set("GIT_PROXY_COMMAND=@"), "git ls-remote git://host.invalid/x", "git ls-remote git://host.invalid/x"},
		{"GIT_ASKPASS", set("GIT_ASKPASS=@", "SSH_ASKPASS=@"), "printf 'protocol=https\\nhost=h\\n\\n' | git credential fill", ""},
		{"GIT_EDITOR", set("GIT_EDITOR=@", "EDITOR=@", "VISUAL=@", "GIT_SEQUENCE_EDITOR=@"), "git commit --amend", ""},
		{"PAGER", set("PAGER=@", "GIT_PAGER=@", "LESSOPEN=|@ %s", "GIT_PAGER_IN_USE=1", "MANPAGER=@", "LESS=+!@"), "", ""},
		{"LESSOPEN", set("LESSOPEN=|@ %s", "LESSCLOSE=@"), "less a.txt", "less a.txt"},
		{"GIT_ATTR_SOURCE", set("GIT_ATTR_SOURCE=HEAD", "GIT_WORK_TREE=%out", "GIT_INDEX_FILE=%out/index", "GIT_COMMON_DIR=%out", "GIT_OBJECT_DIRECTORY=%out", "GIT_TEMPLATE_DIR=%out"), "", ""},
		{"GOFLAGS=-exec", set("GOFLAGS=-exec=@"), "go test ./...", "go test ./..."},
		{"GOFLAGS=-toolexec", set("GOFLAGS=-toolexec=@"), "go vet ./...", "go vet ./...; go list ./..."},
		{"GOENV", file("goenv", "GOFLAGS=-toolexec=@\n", "GOENV=%out/goenv"), "go vet ./...", "go vet ./...; go list ./..."},
		{"the file of go env -w", func(t *testing.T, n *nest) []string {
			writeFile(t, n.home+"/.config/go/env", "GOFLAGS=-toolexec="+n.canary+"\n")
			return nil
		}, "go vet ./...", "go vet ./...; go list ./...; go test ./..."},
		{"GOCACHEPROG", set("GOCACHEPROG=@"), "go vet ./...", "go vet ./...; go list ./..."},
		{"GOROOT", programs("%out/bin", "GOROOT=%out", "GOTOOLDIR=%out/bin", "GOPACKAGESDRIVER=@", "GOBIN=%out/bin"), "", "go vet ./...; go list ./..."},
		{"CC", func(t *testing.T, n *nest) []string {
			n.file(t, "c/c.go", "package c\n\nimport \"C\"\n")
			return set("CC=@", "CXX=@", "FC=@", "AR=@", "PKG_CONFIG=@", "CGO_ENABLED=1")(t, n)
		}, "go vet ./c", "go vet ./c"},
		{"COMPILER_PATH", func(t *testing.T, n *nest) []string {
			n.file(t, "c/c.go", "package c\n\n// int x = 7;\nimport \"C\"\n\nvar X = C.x\n")
			return programs("%out/bin", "COMPILER_PATH=%out/bin", "GCC_EXEC_PREFIX=%out/bin/", "CGO_ENABLED=1")(t, n)
		}, "", "go vet ./c"},
		{"NODE_OPTIONS", file("c.js", "require('fs').writeFileSync('%mark', '')\n", "NODE_OPTIONS=--require=%out/c.js"), "npm test", "npm test; node --version"},
		{"npm_config_script_shell", set("npm_config_script_shell=@"), "npm test", "npm test"},
		{"npm_config_userconfig", file("npmrc", "script-shell=@\n", "npm_config_userconfig=%out/npmrc"), "npm test", "npm test"},
		{"npm_config_node_options", file("c.js", "require('fs').writeFileSync('%mark', '')\n", "npm_config_node_options=--require=%out/c.js", "npm_config_prefix=%out"), "", "npm test"},
		{"PYTHONPATH", file("sitecustomize.py", "open('%mark', 'w')\n", "PYTHONPATH=%out", "PYTHONSTARTUP=%out/sitecustomize.py", "PYTHONDONTWRITEBYTECODE=1"), "python3 -m unittest", "python3 -m unittest; python3 --version"},
		{"PYTHONWARNINGS", file("w.py", "open('%mark', 'w')\nclass W(Warning): pass\n", "PYTHONWARNINGS=error::w.W", "PYTHONPATH=%out", "PYTHONBREAKPOINT=os.system", "PYTEST_ADDOPTS=-p w", "PYTEST_PLUGINS=w"), "", "python3 -m unittest; pytest"},
		{"PERL5OPT", file("Canary.pm", "open(F, '>', '%mark'); 1;\n", "PERL5OPT=-MCanary", "PERL5LIB=%out"), "perl -e 1", ""},
		{"RUBYOPT", file("canary.rb", "File.write('%mark', '')\n", "RUBYOPT=-rcanary", "RUBYLIB=%out", "BUNDLE_GEMFILE=%out/Gemfile", "GEM_PATH=%out"), "", "ls; ruby --version"},
		{"MAKEFLAGS", set("MAKEFLAGS=--eval=$$(shell\\ @)"), "make test", "make test"},
		{"GNUMAKEFLAGS", set("GNUMAKEFLAGS=--eval=$$(shell\\ @)", "MFLAGS=-e", "MAKELEVEL=0"), "make test", "make test"},
		{"MAKEFILES", file("evil.mk", "X := $(shell @)\n", "MAKEFILES=%out/evil.mk"), "make test", "make test"},
		{"make's SHELL", set("SHELL=@", "MAKESHELL=@", "CONFIG_SHELL=@"), "", "make test"},
		{"TAR_OPTIONS", set("TAR_OPTIONS=--checkpoint=1 --checkpoint-action=exec=@"), "tar cf - a.txt", "tar cf - a.txt"},
		{"RIPGREP_CONFIG_PATH", file("rg", "--pre=@\n", "RIPGREP_CONFIG_PATH=%out/rg"), "", "rg one"},
		{"others'", set("FZF_DEFAULT_COMMAND=@", "FZF_DEFAULT_OPTS=--preview=@", "RUSTC_WRAPPER=@", "RUSTC=@", "CARGO_HOME=%out", "JAVA_TOOL_OPTIONS=-javaagent:@", "_JAVA_OPTIONS=-javaagent:@", "MAVEN_OPTS=-javaagent:@",
			"GRADLE_OPTS=-javaagent:@", "PHP_INI_SCAN_DIR=%out", "PHPRC=%out", "LUA_INIT=@%out/x", "R_PROFILE=%out/x", "GREP_OPTIONS=-f@", "MANOPT=-P@", "BROWSER=@", "DOCKER_HOST=unix://%out/x", "KUBECONFIG=%out/x",
			"DOTNET_STARTUP_HOOKS=%out/x.dll", "CORECLR_PROFILER_PATH=%out/lib.so", "ERL_FLAGS=-eval x", "GHCRTS=x", "OPENSSL_CONF=%out/x", "OPENSSL_ENGINES=%out", "CURL_HOME=%out", "WGETRC=%out/x", "INPUTRC=%out/x",
			"TERMINFO=%out", "MAGIC=%out/magic", "PKG_CONFIG_PATH=%out", "XDG_DATA_DIRS=%out", "DYLD_INSERT_LIBRARIES=%out/lib.so", "GIO_EXTRA_MODULES=%out", "GTK_MODULES=x", "CDPATH=%out", "IFS=a", "GLOBIGNORE=*", "POSIXLY_CORRECT=1"), "", ""},
	}
	for i, r := range rows {
		if raced && i%8 > 0 {
			continue // its race detector has nothing to find in shells and git, and takes its time
		}
		t.Run(r.name, func(t *testing.T) {
			n := newNest(t)
			env := r.env(t, n)
			if r.control != "" && installed(r.control) {
				n.control(t, r.control, env)
			}
			for _, e := range env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			command := r.command
			if command == "" {
				command = everyday
			}
			d := n.carry(t, command)
			if asked := strings.Contains(command, "ls-remote") || strings.HasPrefix(command, "less") || strings.HasPrefix(command, "tar "); !asked && d.Verdict != permissions.Allow {
				t.Errorf("%s = %s (%s): the row proves nothing", command, d.Verdict, d.Reason)
			}
		})
	}
}

func unlessRoot(control string) string {
	if os.Geteuid() == 0 {
		return ""
	}
	return control
}

// installed reports whether the program that a line begins with is here.
func installed(line string) bool {
	_, err := exec.LookPath(strings.Fields(line)[0])
	return err == nil || strings.HasPrefix(line, "cd ")
}
