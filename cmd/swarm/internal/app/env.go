// Package app joins the parts: broker, coordinator and desk for `swarm up` and `swarm run`, a runner with its gate for
// `swarm teammate`, and a person's connection for the leader's commands. It is the one place where they meet.
package app

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
)

// Env is what every command has: the settings, the project's document, and where to print.
type Env struct {
	Settings config.Settings
	Document *config.Document // nil: none
	In       io.Reader
	Out, Err io.Writer
	JSON     bool
	Terminal bool
	Quiet    bool // nobody is asked for a passphrase: Tab was pressed
}

// team is the team's name, from a flag, the environment or swarm.yaml.
func (e Env) team() (string, error) {
	if e.Settings.Team == "" {
		next := "add --team NAME, export SWARM_TEAM=NAME, or stand in a folder with a swarm.yaml"
		if here := e.running(); len(here) > 0 {
			next += "; running here: " + strings.Join(here, ", ")
		}
		return "", fail(exitUsage, "no_team", "which team is not said", next)
	}
	return e.Settings.Team, checkTeam(e.Settings.Team)
}

// running are the teams whose swarm runs on this machine.
func (e Env) running() []string {
	var names []string
	found, _ := filepath.Glob(filepath.Join(e.Settings.State, "*", "up.json")) // a bad pattern finds none
	for _, path := range found {
		team := filepath.Base(filepath.Dir(path))
		if _, err := e.state(team).address(team); err == nil {
			names = append(names, team)
		}
	}
	return names
}

// logger writes warnings and errors, or more with log.level, to standard error.
func (e Env) logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(e.Settings.LogLevel)); err != nil {
		level = slog.LevelInfo // the settings have been checked
	}
	o := &slog.HandlerOptions{Level: level}
	if e.Settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(e.Err, o))
	}
	return slog.New(newLineHandler(e.Err, level))
}

// ConfigError is the error of a file or settings with problems: a line for each.
func ConfigError(problems []config.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return &leader.Error{Code: exitUsage, Name: "config", Message: strings.Join(lines, "\n")}
}
