package claudecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// passed are the flags of the client that a person may pass on, with the number of their values; many is any number from
// one. Every other flag could let the client out of its gate, or somebody else in, also one that a later version has.
var passed = map[string]int{
	"--model": 1, "--fallback-model": 1, "--effort": 1, "--betas": many, "--max-budget-usd": 1,
	"--system-prompt": 1, "--append-system-prompt": 1,
	"--tools": many, "--disallowedTools": many, "--disallowed-tools": many, // they only narrow
	"--disable-slash-commands": 0, "--exclude-dynamic-system-prompt-sections": 0,
	"--mcp-config": many,
}

const many = -1

const mcpConfig = "--mcp-config"

// Passed are the flags of the client that may be passed on, in order.
func Passed() []string { return slices.Sorted(maps.Keys(passed)) }

// ErrFlag means that an argument for the client is not passed on.
var ErrFlag = errors.New("claudecode: not passed on")

// CheckArgs reports why arguments are not passed on to the client, as [ErrFlag], and the error of an MCP configuration.
func CheckArgs(args []string) error {
	_, _, err := split(args)
	return err
}

// split takes the arguments for the client apart: those that it gets as they are, and the MCP servers that are handed over
// with ours.
func split(args []string) (rest []string, servers map[string]json.RawMessage, err error) {
	servers = map[string]json.RawMessage{}
	for len(args) > 0 {
		arg := args[0]
		name, value, attached := strings.Cut(arg, "=")
		n, known := passed[name]
		switch {
		case !strings.HasPrefix(arg, "-"):
			return nil, nil, fmt.Errorf("%w: %.60q is no flag of the client: the task is one word, in quotes", ErrFlag, arg)
		case !known:
			return nil, nil, fmt.Errorf("%w: the client's flag %.60q could let it out of its gate, or is not known here; you may pass %s", ErrFlag, name, strings.Join(Passed(), ", "))
		case attached && n == 0:
			return nil, nil, fmt.Errorf("%w: the client's flag %s takes no value", ErrFlag, name)
		}
		args = args[1:]
		var values []string
		for !attached && len(args) > 0 && (n == many || len(values) < n) && !strings.HasPrefix(args[0], "-") {
			values, args = append(values, args[0]), args[1:]
		}
		if attached {
			values = []string{value}
		}
		if n != 0 && len(values) == 0 {
			return nil, nil, fmt.Errorf("%w: the client's flag %s takes a value: write %s=VALUE", ErrFlag, name, name)
		}
		switch {
		case name == mcpConfig:
			err = addServers(servers, values)
		case n == 0:
			rest = append(rest, name)
		default:
			for _, v := range values {
				rest = append(rest, name+"="+v) // the client cannot take a value for a flag
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return rest, servers, nil
}

// maxServers bounds an MCP configuration, in bytes.
const maxServers = 1 << 20

// addServers reads MCP configurations, each a file or the JSON itself, as the client does. They are read once: what the
// client gets is what was checked.
func addServers(servers map[string]json.RawMessage, values []string) error {
	for _, v := range values {
		data := []byte(v)
		if !strings.HasPrefix(strings.TrimSpace(v), "{") {
			info, err := os.Stat(v)
			if err == nil && (!info.Mode().IsRegular() || info.Size() > maxServers) {
				err = fmt.Errorf("it is no plain file of at most %d bytes", maxServers)
			}
			if err == nil {
				data, err = os.ReadFile(v)
			}
			if err != nil {
				return fmt.Errorf("%w: the MCP configuration %.200q cannot be read: %w", ErrFlag, v, err)
			}
		}
		var doc struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		}
		if err := json.Unmarshal(data, &doc); err != nil || len(doc.Servers) == 0 {
			return fmt.Errorf("%w: the MCP configuration %.200q has no mcpServers: write {\"mcpServers\": {\"NAME\": {…}}}", ErrFlag, v)
		}
		for name, server := range doc.Servers {
			if _, twice := servers[name]; twice || name == ownServer || !serverName.MatchString(name) {
				return fmt.Errorf("%w: an MCP server cannot be called %.60q here: choose another name of letters and digits, with single - and _ between", ErrFlag, name)
			}
			servers[name] = server
		}
	}
	return nil
}

// serverName are names that the client keeps, and that can be told from their tools' names.
var serverName = regexp.MustCompile(`^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$`)

// ownServer is the name of our MCP server: what its tools do is judged where they ask.
const ownServer = "swarm"

// mcpServers is the client's whole MCP configuration: with --strict-mcp-config it has no other.
func (c *Config) mcpServers() string {
	all := map[string]any{}
	for name, s := range c.servers {
		all[name] = s
	}
	if len(c.Tools) > 0 {
		all[ownServer] = object{"type": "stdio", "command": c.Executable, "args": []string{"mcp"}, "env": c.ownVariables()}
	}
	return mustJSON(object{"mcpServers": all})
}

// ownTool reports whether a tool of the client is one of our server's.
func (c *Config) ownTool(tool string) bool {
	name, ours := strings.CutPrefix(tool, "mcp__"+ownServer+"__")
	return ours && slices.Contains(c.Tools, name)
}
