package script

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/planmode"
)

// Config is what an [Agent] runs with. Fields without a default are required.
type Config struct {
	Argv     []string // the program and its arguments; a name without a slash is looked up in PATH
	Name     string   // of the teammate
	Team     string   // name of the team
	Tree     string   // absolute working tree: where the program starts
	Socket   string   // absolute path of the gate
	PlanFile string   // absolute path of the one file to write while planning; its folder is writable
	RunID    string   // of `swarm run`; empty outside

	// Forbidden are folders that no list may open: swarm's state and configuration.
	Forbidden []string
	// Read are more files and folders that the program may read and run.
	Read []string
	// EnvPass are the variables that it inherits. Nil means PATH, HOME, LANG and TERM.
	EnvPass []string
	// Env are more variables, KEY=value. SWARM_* and PATH are ours.
	Env []string
	// Executable is the swarm program. Empty means os.Executable.
	Executable string

	// Stdout and Stderr are where its output goes. Nil drops it.
	Stdout, Stderr io.Writer
	// Resumed reports, when the program is started, whether its runner took up an earlier session: it is told so then, as
	// after a crash of its own. Nil means that it did not.
	Resumed func() bool
	// Restarts is how often a crashed program is started again within Window. Zero means 3; negative means never.
	Restarts int
	// Window is the time that Restarts counts in. Zero means 10 minutes.
	Window time.Duration
	// Crashed is called before a crashed program is started again, and when it will not be. Nil calls nothing.
	Crashed func(again bool)
	// Notified is called with what the program is told; it reads that with `swarm plan status`. Nil calls nothing.
	Notified func(planmode.Notify)
	// Logger receives what happens. Nil means slog.DiscardHandler.
	Logger *slog.Logger
}

func (c *Config) complete() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("script: no program: name one after --")
	}
	for what, path := range map[string]string{"working tree": c.Tree, "socket": c.Socket, "plan file": c.PlanFile} {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("script: %s %q is not absolute: give the full path", what, path)
		}
	}
	for _, kv := range c.Env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || name == "PATH" || strings.HasPrefix(name, "SWARM_") {
			return fmt.Errorf("script: environment entry %q cannot be set: use NAME=value, and another name", kv)
		}
	}
	if c.Executable == "" {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("script: where swarm itself is, is not known: %w", err)
		}
		c.Executable = exe
	}
	if c.EnvPass == nil {
		c.EnvPass = []string{"PATH", "HOME", "LANG", "TERM"}
	}
	if c.Restarts == 0 {
		c.Restarts = 3
	}
	if c.Window == 0 {
		c.Window = 10 * time.Minute
	}
	if c.Resumed == nil {
		c.Resumed = func() bool { return false }
	}
	if c.Crashed == nil {
		c.Crashed = func(bool) {}
	}
	if c.Notified == nil {
		c.Notified = func(planmode.Notify) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// environment is the whole environment of the program: what it may inherit, what the configuration adds, and how it finds
// its gate. There is never a key, an address of the broker or a token in it.
func (c *Config) environment(bin, tmp string, resumed bool) []string {
	env := map[string]string{}
	for _, name := range c.EnvPass {
		if v, ok := os.LookupEnv(name); ok && !strings.HasPrefix(name, "SWARM_") {
			env[name] = v
		}
	}
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	env["PATH"] = strings.Join(append([]string{bin}, absolute(env["PATH"])...), string(filepath.ListSeparator))
	env["TMPDIR"] = tmp
	env["SWARM_SOCKET"], env["SWARM_NAME"], env["SWARM_TEAM"] = c.Socket, c.Name, c.Team
	env["SWARM_TREE"], env["SWARM_PLAN_FILE"] = c.Tree, c.PlanFile
	if c.RunID != "" {
		env["SWARM_RUN"] = c.RunID
	}
	if resumed {
		env["SWARM_RESUMED"] = "1"
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// absolute returns the entries of a PATH that do not depend on where one stands.
func absolute(path string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return []string{"/usr/local/bin", "/usr/bin", "/bin"}
	}
	return dirs
}
