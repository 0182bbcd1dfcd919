package claudecode

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// Tested are the versions of Claude Code that the conformance tests have passed with.
var Tested = []string{"2.1.197"}

// Config is what an [Agent] runs with. Fields without a default are required.
type Config struct {
	Client   string   // absolute path of the claude program
	Task     string   // what the agent is told first
	Args     []string // more arguments for the client: see [Passed]
	Name     string   // of the teammate
	Team     string   // name of the team
	Tree     string   // absolute working tree: where the client starts
	Socket   string   // absolute path of the gate
	PlanFile string   // absolute path that a plan is handed in at
	RunID    string   // of `swarm run`; empty outside

	// Tools are those of our MCP server, `swarm mcp`, which the client starts. Nil gives it none.
	Tools []string
	// Mode is the widest mode that may be asked for later: bypassPermissions has to be known at the start.
	Mode permissions.Mode
	// SessionFile is where the client's session id is kept: a runner that takes up an earlier session resumes it. Empty keeps
	// none, and each start is a new session.
	SessionFile string
	// Detach has the client end while a plan waits for a leader ([ErrDeferred]), which DeferFile keeps. Watch has a runner that
	// takes such a session up wait for the decision, without a client.
	Detach, Watch bool
	DeferFile     string
	// Memory are texts for the system prompt: the CLAUDE.md files that the client will not read itself.
	Memory []string
	// Env is the environment that the client inherits. Nil means os.Environ. SWARM_* are ours.
	Env []string
	// Executable is the swarm program. Empty means os.Executable.
	Executable string
	// Stderr is where the client's own complaints go, Said where the text of the model goes. Nil drops it.
	Stderr, Said io.Writer
	// Logger receives what happens. Nil means slog.DiscardHandler.
	Logger *slog.Logger

	// Attach is the address file of a client that a person starts by hand: there is no Client then. Empty where we start it.
	Attach string

	rest    []string // of Args, for the client
	servers map[string]json.RawMessage
	own     bool // a person sits at it, and gives it its tasks
}

func (c *Config) complete() error {
	if c.Attach != "" {
		c.Client = c.Attach // there is no program to name
	}
	for what, path := range map[string]string{"client": c.Client, "working tree": c.Tree, "socket": c.Socket, "plan file": c.PlanFile} {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("claudecode: %s %q is not absolute: give the full path", what, path)
		}
	}
	if strings.TrimSpace(c.Task) == "" && !c.own {
		return errors.New("claudecode: there is no task: write it after --")
	}
	var err error
	if c.rest, c.servers, err = split(c.Args); err != nil {
		return err
	}
	if c.Executable == "" {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("claudecode: where swarm itself is, is not known: %w", err)
		}
		c.Executable = exe
	}
	c.Mode = cmp.Or(c.Mode, permissions.ModeDefault)
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if c.Said == nil {
		c.Said = io.Discard
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// argv is the client's command line. The task is no part of it: it is the first message.
func (c *Config) argv(mode, resume string) []string {
	argv := []string{
		c.Client, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages",
		"--permission-mode", mode, "--permission-prompt-tool", "stdio",
		"--setting-sources", "", "--strict-mcp-config", "--mcp-config=" + c.mcpServers(), "--settings", c.settings(),
	}
	if c.Mode == permissions.ModeBypass {
		argv = append(argv, "--allow-dangerously-skip-permissions")
	}
	if resume != "" {
		argv = append(argv, "--resume", resume)
	}
	return append(argv, c.rest...)
}

// hookTimeout is how long the client waits for our hook, in seconds. The hook denies by itself long before, and a client
// that waits in vain lets the call through: it is to wait for one that was stopped, too.
const hookTimeout = 24 * 60 * 60

// settings are the only ones that the client has. To it, 2 is the one exit code of a hook that refuses: with any other, as
// of a program that is gone or was killed, it lets the call through (measured).
func (c *Config) settings() string {
	type object = map[string]any
	return mustJSON(object{
		"permissions": object{"disableAutoMode": "disable"},
		"hooks": object{"PreToolUse": []any{object{
			"matcher": "*", "hooks": []any{object{"type": "command", "command": c.command("hook", "claude") + " || exit 2", "timeout": hookTimeout}},
		}}},
	})
}

// command is a line of a shell that calls swarm. The words are ours, and need no quotes.
func (c *Config) command(words ...string) string {
	line := quoted(c.Executable) + " " + strings.Join(words, " ")
	if c.Attach != "" {
		line += " --attach " + quoted(c.Attach)
	}
	return line
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// foreign are variables that say how a client is to run, where it was started by another one. The last three would switch our
// hook off, or have another program run in its place.
var foreign = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SHELL_PREFIX",
}

func (c *Config) environment() []string {
	var env []string
	for _, kv := range c.Env {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "SWARM_") && !slices.Contains(foreign, name) {
			env = append(env, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.ownVariables())) {
		env = append(env, name+"="+c.ownVariables()[name])
	}
	return append(env, "DISABLE_AUTOUPDATER=1")
}

// ownVariables are how a child finds its gate. There is no secret in them.
func (c *Config) ownVariables() map[string]string {
	own := map[string]string{
		"SWARM_SOCKET": c.Socket, "SWARM_NAME": c.Name, "SWARM_TEAM": c.Team, "SWARM_TREE": c.Tree, "SWARM_PLAN_FILE": c.PlanFile,
	}
	if c.RunID != "" {
		own["SWARM_RUN"] = c.RunID
	}
	return own
}
