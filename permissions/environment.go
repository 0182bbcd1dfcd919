package permissions

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// prefixes are the variables that may stand before a command, and what their values may look like.
var prefixes = map[string]func(string) bool{
	"CI": plainValue, "NODE_ENV": plainValue, "GOOS": plainValue, "GOARCH": plainValue, "GOARM": plainValue, "GOAMD64": plainValue, "CGO_ENABLED": plainValue,
	"GOMAXPROCS": plainValue, "GOTRACEBACK": plainValue, "RUST_BACKTRACE": plainValue, "NO_COLOR": plainValue, "FORCE_COLOR": plainValue, "CLICOLOR": plainValue,
	"GO111MODULE": func(s string) bool { return s != "off" && plainValue(s) }, "RUST_LOG": plainValue, "CARGO_TERM_COLOR": plainValue, "CARGO_INCREMENTAL": plainValue, "PYTHONUNBUFFERED": plainValue, "PYTHONDONTWRITEBYTECODE": plainValue, "PYTHONHASHSEED": plainValue,
	"RAILS_ENV": plainValue, "RACK_ENV": plainValue, "MIX_ENV": plainValue, "APP_ENV": plainValue, "FLASK_ENV": plainValue, "FLASK_DEBUG": plainValue, "DEBUG": plainValue, "VERBOSE": plainValue, "LOG_LEVEL": plainValue,
	"NEXT_TELEMETRY_DISABLED": plainValue, "DOTNET_CLI_TELEMETRY_OPTOUT": plainValue, "DOTNET_NOLOGO": plainValue, "ASPNETCORE_ENVIRONMENT": plainValue, "DEBIAN_FRONTEND": plainValue, "PIP_DISABLE_PIP_VERSION_CHECK": plainValue,
	"RUSTFLAGS": rustWarnings, "RUSTDOCFLAGS": rustWarnings,
	"PORT": plainValue, "COLUMNS": plainValue, "TERM": plainValue, "TZ": zone, "PAGER": plainPager, "GIT_PAGER": plainPager, "GH_PAGER": plainPager, "MANPAGER": plainPager,
	"LANG": locale, "LC_ALL": locale, "LC_COLLATE": locale, "LC_CTYPE": locale, "LC_MESSAGES": locale, "LC_NUMERIC": locale, "LC_TIME": locale,
}

// allowedPrefix reports whether NAME=value before a command changes nothing about which code runs.
func allowedPrefix(a shellcmd.Assign) bool {
	fits := prefixes[a.Name]
	return fits != nil && !a.Odd && a.Value.Literal() && fits(a.Value.Text)
}

func plainValue(s string) bool {
	return len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.,-", r))
	})
}

// rustWarnings are flags of rustc that say what is a warning and what an error, and nothing else: others name a linker.
func rustWarnings(s string) bool {
	return slices.Contains([]string{"-D warnings", "-Dwarnings", "--deny warnings", "--deny=warnings", "-A warnings", "-Awarnings", "-D warnings -A dead_code", "-C debuginfo=0", "-Cdebuginfo=0", ""}, s)
}

// plainPager shows everything at once.
func plainPager(s string) bool { return s == "cat" || s == "" }

// zone is a time zone by name; a path would be read as a file.
func zone(s string) bool {
	return !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ":") && !strings.Contains(s, "..") && plainValue(strings.NewReplacer("/", "", "+", "", ":", "").Replace(s))
}

// locale accepts those in which every parser reads the same bytes: C, POSIX and UTF-8.
func locale(s string) bool {
	if s == "C" || s == "POSIX" || s == "" {
		return true
	}
	name, charset, ok := strings.Cut(s, ".")
	return ok && plainValue(name) && (strings.EqualFold(charset, "UTF-8") || strings.EqualFold(charset, "UTF8"))
}

// passed are the variables of the runner that reach every command, and what their values may look like.
var passed = map[string]func(string) bool{
	"HOME": rooted, "USER": plainValue, "LOGNAME": plainValue, "TERM": plainValue, "TZ": zone, "TMPDIR": rooted, "CI": plainValue,
	"LANG": locale, "LC_ALL": locale, "LC_COLLATE": locale, "LC_CTYPE": locale, "LC_MESSAGES": locale, "LC_NUMERIC": locale, "LC_TIME": locale,
}

func rooted(s string) bool { return strings.HasPrefix(s, "/") && clean(s) }

func clean(s string) bool {
	return len(s) <= 4096 && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// hardening keeps git from starting what a configuration names and from asking. An external diff cannot be switched off
// this way (an empty one fails): a repository that names one asks instead.
var hardening = [][2]string{
	{"safe.bareRepository", "explicit"}, {"core.fsmonitor", "false"}, {"log.showSignature", "false"}, {"core.pager", "cat"}, {"diff.ignoreSubmodules", "all"},
}

// hookless keeps git from running hooks, in lines that only read: git diff writes a fresh index where it can, whatever
// GIT_OPTIONAL_LOCKS says, and then runs post-index-change.
var hookless = [2]string{"core.hooksPath", "/dev/null"}

// contract builds how an allowed line is carried out: the whole environment from empty.
func (v *view) contract(d Decision) *Contract {
	c := &Contract{Command: v.call.Command, Dir: v.cwd, Tree: v.realTree, Env: v.environment(d), Runners: v.obeyed}
	c.Hash = c.Sum()
	return c
}

// Obey binds the contract to runner files besides those that it has: with other content it is not carried out.
func (c *Contract) Obey(files []RunnerFile) {
	for _, f := range files {
		if !slices.Contains(c.Runners, f) {
			c.Runners = append(c.Runners, f)
		}
	}
	c.Hash = c.Sum()
}

// Sum is what Hash must be: the lower hex SHA-256 of "swarm/contract/v1\n" and then, each after its length as 8 bytes
// big endian, the command, the directory, the tree and every entry of the environment in order. With runner files it is
// of "swarm/contract/v2\n" and of the number of entries of the environment, then the same, then each file's path and digest.
func (c *Contract) Sum() string {
	var room [2048]byte
	b := room[:0]
	if len(c.Runners) == 0 {
		b = append(b, "swarm/contract/v1\n"...)
	} else {
		b = appendParts(append(b, "swarm/contract/v2\n"...), strconv.Itoa(len(c.Env)))
	}
	b = appendParts(appendParts(b, c.Command, c.Dir, c.Tree), c.Env...)
	for _, f := range c.Runners {
		b = appendParts(b, f.Path, f.Digest)
	}
	return digest(b)
}

// fixed are the variables of every contract that depend on the runner alone.
func (e *Engine) fixed() environ {
	env := environ{"GOENV=off", "PAGER=cat", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1"}
	for name, fits := range passed {
		if value := e.env[name]; value != "" && fits(value) {
			env.set(name, value)
		}
	}
	return env
}

// hardened are the variables that hand [hardening] to git, and hookless with it where a line only reads.
var (
	hardened         = sync.OnceValue(func() environ { return gitSettings(hardening) })
	hardenedHookless = sync.OnceValue(func() environ { return gitSettings(append(slices.Clone(hardening), hookless)) })
)

func gitSettings(settings [][2]string) environ {
	env := environ{gitConfig + "COUNT=" + strconv.Itoa(len(settings))}
	for i, kv := range settings {
		n := strconv.Itoa(i)
		env.set(gitConfig+"KEY_"+n, kv[0])
		env.set(gitConfig+"VALUE_"+n, kv[1])
	}
	return env
}

const gitConfig = "GIT_CONFIG_"

// environ is "NAME=value" for each variable, in no order.
type environ []string

func (env *environ) set(name, value string) {
	entry := name + "=" + value
	for i, e := range *env {
		if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			(*env)[i] = entry
			return
		}
	}
	*env = append(*env, entry)
}

func (v *view) environment(d Decision) []string {
	env := append(make(environ, 0, len(v.e.base)+len(hardened())+8), v.e.base...)
	env.set("PATH", v.pathVar())
	if v.home != "" {
		env.set("HOME", v.home)
	}
	v.goEnvironment(&env, d)
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, gitConfig) })
	if onlyTables(d) {
		env = append(env, hardenedHookless()...)
	} else {
		env = append(env, hardened()...)
	}
	slices.Sort(env)
	return env
}

// goEnvironment lets a line that only reads start nothing and fetch nothing; others get the variables that their
// intents name, and what no intent decided gets the caches.
func (v *view) goEnvironment(env *environ, d Decision) {
	if slices.ContainsFunc(d.Commands, readsWithGo) {
		env.set("GOFLAGS", "-buildvcs=false") // go list asks the version control system, and that runs what a repository names
	}
	if onlyTables(d) {
		*env = append(*env, "GOPROXY=off", "GOTOOLCHAIN=local", "GIT_ALLOW_PROTOCOL=none", "CARGO_NET_OFFLINE=true")
		return
	}
	for _, in := range v.intentsOf(d) {
		for _, name := range in.Env {
			value := v.e.env[name]
			isPath := strings.HasSuffix(name, "CACHE") || slices.Contains(places, name)
			if value != "" && clean(value) && (!isPath || rooted(value)) {
				env.set(name, value)
			}
		}
	}
	for _, c := range d.Commands {
		if in, ok := v.intentOfGrant(c.GrantID); ok {
			for name, value := range in.Set {
				env.set(name, value)
			}
		}
	}
}

// places are further variables of intents that hold an absolute path.
var places = []string{
	"GOPATH", "XDG_CACHE_HOME", "npm_config_cache", "YARN_CACHE_FOLDER", "PIP_CACHE_DIR", "UV_CACHE_DIR", "POETRY_CACHE_DIR", "NUGET_PACKAGES", "COMPOSER_CACHE_DIR", "TF_PLUGIN_CACHE_DIR", "SSH_AUTH_SOCK",
}

func readsWithGo(c CommandVerdict) bool {
	return c.Reason == reasonReads && slices.Contains(c.Argv, "go")
}

func (v *view) intentsOf(d Decision) []intent.Intent {
	var out []intent.Intent
	for _, c := range d.Commands {
		if c.Reason == reasonReads {
			continue
		}
		in, ok := v.intentOfGrant(c.GrantID)
		if !ok {
			return []intent.Intent{{Env: intent.Caches}}
		}
		out = append(out, in)
	}
	return out
}

// intentOfGrant is false for what no grant let pass, and for a grant of exactly one command.
func (v *view) intentOfGrant(id string) (intent.Intent, bool) {
	i := slices.IndexFunc(v.state.Grants, func(g Grant) bool { return g.ID == id && id != "" })
	if i < 0 {
		return intent.Intent{}, false
	}
	in, _, known := v.e.tables.named(v.state.Grants[i].Intent)
	return in, known
}

// pathVar is the fixed PATH: absolute entries, none of them inside the tree.
func (v *view) pathVar() string {
	var keep []string
	for p := range strings.SplitSeq(v.e.path, ":") {
		s := v.place(p, "")
		if !strings.HasPrefix(p, "/") || !clean(p) || s.unclear || within(v.tree, s.name) || within(v.realTree, s.real) || within(v.realTree, s.name) || within(v.tree, s.real) {
			continue
		}
		if !slices.Contains(keep, s.name) {
			keep = append(keep, s.name)
		}
	}
	if len(keep) == 0 {
		return defaultPath
	}
	return strings.Join(keep, ":")
}
