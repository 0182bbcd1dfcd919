package permissions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// dangerous are variables that made an innocent command run something else, or could. None reaches a contract.
var dangerous = []string{
	"BASH_FUNC_ls%%=() { canary; }", "BASH_ENV=/canary", "ENV=/canary", "SHELLOPTS=xtrace", "BASHOPTS=canary", "PS4=$(canary)", "PROMPT_COMMAND=canary", "IFS=canary", "CDPATH=/canary",
	"GLOBIGNORE=canary", "POSIXLY_CORRECT=canary", "LD_PRELOAD=/canary", "LD_LIBRARY_PATH=/canary", "LD_AUDIT=/canary", "DYLD_INSERT_LIBRARIES=/canary", "GCONV_PATH=/canary", "LOCPATH=/canary",
	"NLSPATH=/canary", "MALLOC_CHECK_=canary", "GIT_DIR=/canary", "GIT_WORK_TREE=/canary", "GIT_SSH_COMMAND=canary", "GIT_SSH=canary", "GIT_EDITOR=canary", "GIT_ASKPASS=canary",
	"GIT_EXTERNAL_DIFF=canary", "GIT_CONFIG_GLOBAL=/canary", "GIT_CONFIG_SYSTEM=/canary", "GIT_CONFIG_PARAMETERS='canary'", "GIT_CONFIG_KEY_0=canary", "GIT_CONFIG_VALUE_0=canary", "GIT_EXEC_PATH=/canary",
	"GIT_TEMPLATE_DIR=/canary", "GIT_INDEX_FILE=/canary", "GIT_TRACE=/canary", "GIT_PAGER=canary", "PAGER=canary", "EDITOR=canary", "VISUAL=canary", "SSH_ASKPASS=canary", "SSH_AUTH_SOCK=/canary",
	"GOFLAGS=-exec=canary", "GOENV=/canary", "GOROOT=/canary", "GOTOOLDIR=/canary", "GOCACHEPROG=canary", "GOAUTH=canary", "GOINSECURE=canary", "GOEXPERIMENT=canary", "GODEBUG=canary", "GOVCS=canary",
	"CC=canary", "CXX=canary", "AR=canary", "FC=canary", "CGO_CFLAGS=-canary", "CGO_LDFLAGS=-canary", "PKG_CONFIG=canary", "GCCGO=canary", "NODE_OPTIONS=--require=canary", "NODE_PATH=/canary",
	"npm_config_script_shell=canary", "NPM_CONFIG_REGISTRY=canary", "PYTHONPATH=/canary", "PYTHONSTARTUP=/canary", "PYTHONHOME=/canary", "PYTEST_ADDOPTS=-p canary", "PYTEST_PLUGINS=canary",
	"PIP_INDEX_URL=canary", "VIRTUAL_ENV=/canary", "MAKEFLAGS=--eval=canary", "GNUMAKEFLAGS=canary", "MAKEFILES=canary", "RUSTC_WRAPPER=canary", "RUSTC=canary", "RUSTFLAGS=-canary", "CARGO_HOME=/canary",
	"JAVA_TOOL_OPTIONS=-javaagent:canary", "MAVEN_OPTS=canary", "GRADLE_OPTS=canary", "RUBYOPT=-rcanary", "RUBYLIB=/canary", "GEM_PATH=/canary", "BUNDLE_GEMFILE=/canary", "PERL5OPT=-Mcanary",
	"PERL5LIB=/canary", "PHP_INI_SCAN_DIR=/canary", "LESSOPEN=|canary", "GREP_OPTIONS=canary", "LS_COLORS=canary", "TERMINFO=/canary", "TERMCAP=/canary", "XDG_CONFIG_HOME=/canary",
	"SWARM_SOCKET=/canary", "SWARM_AS=canary", "AWS_SECRET_ACCESS_KEY=canary", "GITHUB_TOKEN=canary", "DOCKER_HOST=canary", "KUBECONFIG=/canary", "http_proxy=canary", "SHELL=/canary", "PWD=/canary",
	"OLDPWD=/canary", "FOO=canary",
	// allowed by name, refused by value
	"TZ=:/canary", "LANG=../canary.UTF-8", "LC_ALL=canary.GBK", "TERM=../canary", "USER=$(canary)", "CI=canary\nX=1", "TMPDIR=canary", "LC_CTYPE=/canary.UTF-8",
}

func TestDangerousVariablesNeverReachAContract(t *testing.T) {
	for _, command := range []string{"ls", "git status", "go test ./...", "make lint", "rm x"} {
		for _, kv := range append(slices.Clone(dangerous), "") {
			base := []string{kv, "HOME=/home/user", "USER=u"}
			if kv == "" {
				base = append(dangerous, "GOCACHE=canary", "GOPATH=canary")
			}
			s := state(permissions.ModeBypass)
			s.Grants = []permissions.Grant{grant("run tests")}
			s.Rules = []permissions.Rule{bashRule(permissions.Allow, "make:*")}
			d := permissions.New(permissions.Config{Resolver: permissions.Lexical(), BaseEnv: base, Path: "/usr/bin:/bin"}).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s)
			if d.Contract == nil {
				t.Fatalf("%s: no contract: %s", command, d.Reason)
			}
			for _, e := range d.Contract.Env {
				if strings.Contains(e, "canary") || strings.ContainsAny(e, "\n\x00") {
					t.Errorf("%s with %q: the contract has %q", command, kv, e)
				}
			}
		}
	}
}

func contractOf(t *testing.T, cfg permissions.Config, command string) *permissions.Contract {
	t.Helper()
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("run tests")}
	d := permissions.New(cfg).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project/sub"}, s)
	if d.Contract == nil {
		t.Fatalf("%s: no contract: %s", command, d.Reason)
	}
	return d.Contract
}

func TestTheContractIsWhatWasJudged(t *testing.T) {
	cfg := permissions.Config{Resolver: permissions.Lexical(), Path: "/opt/go/bin:/usr/bin", BaseEnv: []string{
		"HOME=/elsewhere", "USER=u", "LANG=en_US.UTF-8", "TERM=xterm", "TZ=Europe/Berlin", "TMPDIR=/tmp/u", "CI=true", "GOCACHE=/c", "GOMODCACHE=/m", "GOPATH=/g", "GOPROXY=https://p.example.invalid",
		"GOPRIVATE=x", "GOSUMDB=off", "GONOSUMDB=x", "GOTOOLCHAIN=go1.26.0", "GOFLAGS=-mod=mod",
	}}
	command := "go test ./... 2>&1 # \u00e9"
	c := contractOf(t, cfg, command)
	if c.Command != command || c.Dir != "/project/sub" || c.Tree != "/project" || c.Hash != c.Sum() || len(c.Hash) != 64 {
		t.Errorf("contract %+v", c)
	}
	hardened := []string{
		"GIT_CONFIG_COUNT=5", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_KEY_2=log.showSignature", "GIT_CONFIG_KEY_3=core.pager", "GIT_CONFIG_KEY_4=diff.ignoreSubmodules",
		"GIT_CONFIG_VALUE_0=explicit", "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_VALUE_2=false", "GIT_CONFIG_VALUE_3=cat", "GIT_CONFIG_VALUE_4=all", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0",
	}
	plain := []string{"CI=true", "HOME=/home/user", "LANG=en_US.UTF-8", "PAGER=cat", "PATH=/opt/go/bin:/usr/bin", "TERM=xterm", "TMPDIR=/tmp/u", "TZ=Europe/Berlin", "USER=u", "GOENV=off"}
	granted := []string{"GOCACHE=/c", "GOMODCACHE=/m", "GOPATH=/g", "GOPROXY=https://p.example.invalid", "GOPRIVATE=x", "GOSUMDB=off", "GONOSUMDB=x", "GOTOOLCHAIN=go1.26.0", "npm_config_yes=false"}
	want := slices.Concat(hardened, plain, granted)
	slices.Sort(want)
	if !slices.Equal(c.Env, want) {
		t.Errorf("environment\n got %q\nwant %q", c.Env, want)
	}
	// A line that only reads fetches nothing and starts nothing.
	reads := slices.Concat(hardened[1:], plain, []string{
		"GIT_CONFIG_COUNT=6", "GIT_CONFIG_KEY_5=core.hooksPath", "GIT_CONFIG_VALUE_5=/dev/null",
		"GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false", "GIT_ALLOW_PROTOCOL=none", "CARGO_NET_OFFLINE=true",
	})
	slices.Sort(reads)
	if c := contractOf(t, cfg, "go list ./..."); !slices.Equal(c.Env, reads) {
		t.Errorf("environment of a read\n got %q\nwant %q", c.Env, reads)
	}
	if c := contractOf(t, cfg, "timeout 9 go list ./... && go test ./..."); !slices.Contains(c.Env, "GOFLAGS=-buildvcs=false") {
		t.Error("go list beside a granted command asks the version control system")
	}
}

func TestContractsDiffer(t *testing.T) {
	cfg := lexical
	a, b := contractOf(t, cfg, "ls"), contractOf(t, cfg, "ls ")
	if a.Hash == b.Hash {
		t.Error("two commands, one hash")
	}
	if c := contractOf(t, permissions.Config{Resolver: permissions.Lexical(), BaseEnv: []string{"CI=1"}}, "ls"); c.Hash == a.Hash {
		t.Error("two environments, one hash")
	}
	if c := contractOf(t, cfg, "ls"); c.Hash != a.Hash {
		t.Error("the same contract, two hashes")
	}
	call := permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project"}
	other := call
	other.Cwd = "/project/sub"
	engine, s := permissions.New(cfg), state(permissions.ModePlan)
	if x, y := engine.Decide(call, s), engine.Decide(other, s); x.Hash == y.Hash || x.Hash == "" {
		t.Errorf("hashes of two calls: %s, %s", x.Hash, y.Hash)
	}
}

func TestPathHasNothingOfTheTree(t *testing.T) {
	resolver := disk{links: map[string]string{"/opt/tools": "/project/tools"}, git: permissions.GitInfo{Repository: true}}
	for path, want := range map[string]string{
		"/usr/bin:/bin":                             "/usr/bin:/bin",
		"":                                          "/usr/local/bin:/usr/bin:/bin",
		":/usr/bin::":                               "/usr/bin",
		".:bin:../x:/usr/bin":                       "/usr/bin",
		"/project:/project/bin:/usr/bin":            "/usr/bin",
		"/x/../project/bin:/usr/bin":                "/usr/bin",
		"/opt/tools:/opt/tools/x:/usr/bin":          "/usr/bin",
		"/projects/bin:/usr/bin:/usr/bin/":          "/projects/bin:/usr/bin",
		"/project/node_modules/.bin":                "/usr/local/bin:/usr/bin:/bin",
		"~/bin:/usr/bin":                            "/usr/bin",
		"/usr/bin:/home/user/.local/state/swarm/ln": "/usr/bin:/home/user/.local/state/swarm/ln",
	} {
		c := contractOf(t, permissions.Config{Path: path, Resolver: resolver}, "ls")
		if !slices.Contains(c.Env, "PATH="+want) {
			t.Errorf("PATH %q becomes %q, want %q", path, c.Env[slices.IndexFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") })], want)
		}
	}
}

func TestNoContractWithoutAnAllow(t *testing.T) {
	for _, command := range []string{"rm x", "go test -exec x", "swarm approve r"} {
		if d := decide(command, state(permissions.ModeDefault)); d.Contract != nil {
			t.Errorf("%s: %s with a contract", command, d.Verdict)
		}
	}
	if d := permissions.New(lexical).Decide(permissions.Call{Tool: "Read", Path: "a", Cwd: "/project"}, state(permissions.ModePlan)); d.Contract != nil {
		t.Error("a read tool got a contract")
	}
}
