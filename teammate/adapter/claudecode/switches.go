package claudecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrHooksOff means that a settings file keeps our hooks from running, or lets others answer beside them.
var ErrHooksOff = errors.New("claudecode: the client would not ask swarm")

// maxSettings bounds a settings file, in bytes.
const maxSettings = 4 << 20

// CheckManaged refuses where settings of the machine's administrator switch hooks off: they count whatever else is set.
// Folder is where they lie; empty is the client's own place on Linux.
func CheckManaged(folder string) error {
	if folder == "" {
		folder = "/etc/claude-code"
	}
	files := []string{filepath.Join(folder, "managed-settings.json")}
	more, err := filepath.Glob(filepath.Join(folder, "managed-settings.d", "*.json"))
	if err != nil {
		return fmt.Errorf("claudecode: %w", err)
	}
	for _, file := range append(files, more...) {
		s, err := readSettings(file)
		if err != nil {
			return err
		}
		switch {
		case s.DisableAllHooks:
			return hooksOff(file, "disableAllHooks", "have it removed")
		case s.AllowManagedHooksOnly:
			return hooksOff(file, "allowManagedHooksOnly", "have it removed")
		case s.pluginHooksOnly():
			return hooksOff(file, "strictPluginOnlyCustomization", "have it removed")
		}
	}
	return nil
}

// CheckSettings refuses settings files, which a client that a person starts reads, that switch hooks off or bring hooks of
// their own that could answer in our place. A file that is not there is fine; one that cannot be read is not. Ours reports
// whether a hook's command is one of swarm's.
func CheckSettings(files []string, ours func(command string) bool) error {
	for _, file := range files {
		s, err := readSettings(file)
		if err != nil {
			return err
		}
		if s.DisableAllHooks {
			return hooksOff(file, "disableAllHooks", "remove it")
		}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			if name := strings.ToUpper(name); slices.Contains(foreign, name) || slices.Contains(loaders, name) || slices.Contains(sources, name) || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "SWARM_") {
				return hooksOff(file, fmt.Sprintf("%q in its env", name), "remove it: it can keep swarm's hooks from running, or from asking swarm")
			}
		}
		for _, event := range []string{"PreToolUse", "PermissionRequest"} {
			for _, group := range s.Hooks[event] {
				for _, h := range group.Hooks {
					if h.Type != "command" || !ours(h.Command) {
						return hooksOff(file, fmt.Sprintf("a hook of its own for %s", event), "remove it: it could answer in a leader's place")
					}
				}
			}
		}
	}
	return nil
}

// loaders are variables by which whoever runs our hook would run something else before it.
var loaders = []string{"BASH_ENV", "ENV", "NODE_OPTIONS"}

// sources are variables by which the client would take its settings and plugins, with hooks of theirs, from other folders.
var sources = []string{"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_PLUGIN_CACHE_DIR", "CLAUDE_CODE_PLUGIN_SEED_DIR", "CLAUDE_CODE_SYNC_PLUGINS"}

func hooksOff(file, what, next string) error {
	return fmt.Errorf("%w: %s has %s: %s", ErrHooksOff, file, what, next)
}

// clientSettings are the parts of a settings file that decide whether our hooks are asked.
type clientSettings struct {
	DisableAllHooks       bool            `json:"disableAllHooks"`
	AllowManagedHooksOnly bool            `json:"allowManagedHooksOnly"`
	StrictPluginOnly      json.RawMessage `json:"strictPluginOnlyCustomization"`
	Env                   map[string]any  `json:"env"`
	Hooks                 map[string][]struct {
		Hooks []struct{ Type, Command string }
	} `json:"hooks"`
}

// pluginHooksOnly reports whether hooks of settings are off: the value is true, or a list that names them.
func (s clientSettings) pluginHooksOnly() bool {
	var all bool
	if json.Unmarshal(s.StrictPluginOnly, &all) == nil {
		return all
	}
	var list []string
	return len(s.StrictPluginOnly) > 0 && (json.Unmarshal(s.StrictPluginOnly, &list) != nil || slices.Contains(list, "hooks"))
}

func readSettings(file string) (s clientSettings, err error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettings) {
		err = fmt.Errorf("it is no plain file of at most %d bytes", maxSettings)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%w: %s cannot be read (%w): correct it", ErrHooksOff, file, err)
	}
	return s, nil
}
