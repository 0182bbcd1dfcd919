package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/planswarm/swarm/cmd/swarm/internal/events"
)

// RawSettings is the `settings:` part of a file: the only part that other layers override.
type RawSettings struct {
	Server  string        `yaml:"server"`
	Team    string        `yaml:"team"`
	As      string        `yaml:"as"`
	State   string        `yaml:"state"`
	Color   string        `yaml:"color"`
	Timeout time.Duration `yaml:"timeout"`
	Log     struct {
		Level  string `yaml:"level"`
		Format string `yaml:"format"`
	} `yaml:"log"`
}

func (r RawSettings) layer() map[string]any {
	m := map[string]any{}
	add := func(key, value string) {
		if value != "" {
			m[key] = value
		}
	}
	add("server", r.Server)
	add("team", r.Team)
	add("as", r.As)
	add("state", r.State)
	add("color", r.Color)
	logs := map[string]any{}
	if r.Log.Level != "" {
		logs["level"] = r.Log.Level
	}
	if r.Log.Format != "" {
		logs["format"] = r.Log.Format
	}
	if len(logs) > 0 {
		m["log"] = logs
	}
	if r.Timeout > 0 {
		m["timeout"] = r.Timeout
	}
	return m
}

// Settings is where the broker is, who I am, and how to print: flag > SWARM_* > swarm.yaml's settings > user > default.
type Settings struct {
	Server    string        // "embedded", or a URL
	Team      string        // "" when nothing names one
	As        string        // "" when nothing names one
	State     string        // absolute: $XDG_STATE_HOME/swarm, or what was named instead
	Config    string        // absolute: $XDG_CONFIG_HOME/swarm
	LogLevel  string        // debug, info, warn, error
	LogFormat string        // text, json
	Color     string        // auto, always, never
	Timeout   time.Duration // 0 is none
	Caps      Caps          // of the user's configuration
	Leaders   []Leader      // of the user's configuration
	Deadlines Deadlines     // of the user's configuration
	Broker    Broker        // of the user's configuration; its files are absolute
	Defaults  Planning      // of the user's configuration
	Events    []events.Hook // of the user's configuration
	// DefaultState is $XDG_STATE_HOME/swarm: it may hold keys of other teams, wherever State is.
	DefaultState string
}

// keys is the closed list of settings, each with its environment variable.
var keys = []struct{ key, env, fallback string }{
	{"server", "SWARM_SERVER", "embedded"},
	{"team", "SWARM_TEAM", ""},
	{"as", "SWARM_AS", ""},
	{"state", "SWARM_STATE", ""},
	{"log.level", "SWARM_LOG_LEVEL", "warn"},
	{"log.format", "SWARM_LOG_FORMAT", "text"},
	{"color", "SWARM_COLOR", "auto"},
	{"timeout", "SWARM_TIMEOUT", "0s"},
}

// Read layers the settings. flags may lack any of them; doc may be nil.
func Read(flags *pflag.FlagSet, doc *Document) (Settings, []Problem) {
	confDir := UserDir()
	user, problems := LoadUser(filepath.Join(confDir, "config.yaml"))
	if problems != nil {
		return Settings{}, problems
	}
	v := viper.New()
	for _, k := range keys {
		v.SetDefault(k.key, k.fallback)
		_ = v.BindEnv(k.key, k.env) // fails only without a key
		if f := flags.Lookup(k.key); f != nil {
			_ = v.BindPFlag(k.key, f) // fails only for a nil flag
		}
	}
	_ = v.MergeConfigMap(user.Settings.layer()) // a map of scalars always merges
	if doc != nil {
		_ = v.MergeConfigMap(doc.Settings.layer())
	}
	s := Settings{
		Server: v.GetString("server"), Team: v.GetString("team"), As: v.GetString("as"), State: v.GetString("state"),
		LogLevel: v.GetString("log.level"), LogFormat: v.GetString("log.format"), Color: v.GetString("color"),
		Config: confDir, Caps: user.Caps, Leaders: user.Leaders, Deadlines: user.Deadlines, Broker: user.Broker.in(confDir), Defaults: user.Defaults, Events: user.Events,
	}
	if doc != nil && s.Team == "" {
		s.Team = doc.Team
	}
	return s, s.check(v.GetString("timeout"))
}

func (s *Settings) check(timeout string) (problems []Problem) {
	bad := func(key, value, want string) {
		problems = append(problems, Problem{File: "settings", Path: key, Message: fmt.Sprintf("%s cannot be %q", key, value), Suggestion: want})
	}
	t, err := time.ParseDuration(timeout)
	if err != nil || t < 0 {
		bad("timeout", timeout, `write it like "90s" or "30m"; 0s is none`)
	}
	s.Timeout = t
	if !oneOf(s.LogLevel, "debug", "info", "warn", "error") {
		bad("log.level", s.LogLevel, "use debug, info, warn or error")
	}
	if !oneOf(s.LogFormat, "text", "json") {
		bad("log.format", s.LogFormat, "use text or json")
	}
	if !oneOf(s.Color, "auto", "always", "never") {
		bad("color", s.Color, "use auto, always or never")
	}
	s.DefaultState = filepath.Join(baseDir("XDG_STATE_HOME", ".local", "state"), "swarm")
	if s.State == "" {
		s.State = s.DefaultState
	}
	if s.State, err = filepath.Abs(s.State); err != nil {
		bad("state", s.State, err.Error())
	}
	return problems
}

func oneOf(s string, among ...string) bool {
	for _, a := range among {
		if s == a {
			return true
		}
	}
	return false
}

// baseDir is an XDG base folder: the variable when it is an absolute path, as the specification has it, else below HOME.
func baseDir(variable string, below ...string) string {
	if d := os.Getenv(variable); filepath.IsAbs(d) {
		return d
	}
	return filepath.Join(append([]string{homeDir()}, below...)...)
}

// homeDir is the person's home: what the environment names, else what the system has for the user. A relative one would be
// whatever repository one stands in, and a folder that everybody can make is nobody's home: without a home there is a
// place where nothing is.
func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return home
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return filepath.Join(string(filepath.Separator), "nonexistent", "home")
}
