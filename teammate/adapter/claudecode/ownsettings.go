package claudecode

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// OwnHookFor is how long a hook in a person's own session waits for a leader before it denies by itself: an hour before the
// client would give it up, and let the call through.
const OwnHookFor = hookTimeout*time.Second - time.Hour

// ownArgv is the command line of a client that a person sits at.
func (c *Config) ownArgv(mode, resume string) []string {
	argv := []string{
		c.Client, "--permission-mode", mode, "--setting-sources", "", "--strict-mcp-config", "--mcp-config=" + c.mcpServers(),
		"--settings", OwnSettings(c.Executable, ""),
	}
	if text := join(c.Memory...); text != "" {
		argv = append(argv, "--append-system-prompt", text)
	}
	if c.Mode == permissions.ModeBypass {
		argv = append(argv, "--allow-dangerously-skip-permissions")
	}
	if resume != "" {
		argv = append(argv, "--resume", resume)
	}
	argv = append(argv, c.rest...)
	if c.Task != "" && resume == "" {
		argv = append(argv, "--", c.Task)
	}
	return argv
}

// OwnSettings are settings for a client that a person sits at, as JSON: each event that may let something through goes to
// one command of the swarm program, which denies by itself; a program that is gone denies too, since 2 is the one exit code
// of a hook that refuses. Attach is the address file of a client that is started by hand, or empty.
func OwnSettings(executable, attach string) string {
	long, brief := ownHooks(executable, attach)
	hook := func(matcher, line string, timeout int) []any {
		h := object{"hooks": []any{object{"type": "command", "command": line, "timeout": timeout}}}
		if matcher != "" {
			h["matcher"] = matcher
		}
		return []any{h}
	}
	const soon = 30 // seconds
	return mustJSON(object{
		"permissions": object{"disableAutoMode": "disable"},
		"hooks": object{
			"PreToolUse":        hook("*", long, hookTimeout),
			"PermissionRequest": hook("*", long, hookTimeout),
			"PostToolUse":       hook("*", long, hookTimeout),
			"UserPromptSubmit":  hook("", brief, soon),
			"SessionStart":      hook("", brief, soon),
			"SubagentStart":     hook("", brief, soon),
			"Stop":              hook("", brief, soon),
		},
	})
}

// ownHooks are the two lines of a shell that hooks are: of what may let something through, and of what only tells.
func ownHooks(executable, attach string) (long, brief string) {
	c := Config{Executable: executable, Attach: attach}
	return c.command("hook", "claude", "--for", OwnHookFor.String()) + " || exit 2", c.command("hook", "claude")
}

// IsOwnHook reports whether a hook's command is exactly one of [OwnSettings].
func IsOwnHook(command, executable, attach string) bool {
	long, brief := ownHooks(executable, attach)
	return command == long || command == brief
}

// permissionAnswer is what a PermissionRequest hook answers, with a line for the person at the terminal.
func permissionAnswer(decision object, line string) any {
	out := object{"hookSpecificOutput": object{"hookEventName": "PermissionRequest", "decision": decision}}
	if line != "" {
		out["systemMessage"] = line
	}
	return out
}

// withContext hands the model a text with an event.
func withContext(event, text string) object {
	if text == "" {
		return object{}
	}
	return object{"hookSpecificOutput": object{"hookEventName": event, "additionalContext": text}}
}

// Refuse is what a hook answers to an event when nobody can be asked. An event that lets nothing through is let be.
func Refuse(event, reason string) any {
	switch event {
	case "PermissionRequest":
		return permissionAnswer(denies("%s", reason), "")
	case "PostToolUse":
		return object{"decision": "block", "reason": reason}
	case "UserPromptSubmit", "SessionStart", "SubagentStart", "Stop", "SessionEnd":
		return object{}
	}
	return Deny(reason)
}

// EventOf is the name of a hook's event, or "" where there is none to read.
func EventOf(payload []byte) string {
	var in hookInput
	if json.Unmarshal(payload, &in) != nil {
		return ""
	}
	return in.Event
}

// allow notes that a use of a tool was judged: the client's own rules may have it asked all the same.
func (o *Own) allow(tool string, input map[string]any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.allowed[useKey(tool, input)] = true
}

// wasAllowed reports whether a use was noted, and forgets it.
func (o *Own) wasAllowed(tool string, input map[string]any) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := useKey(tool, input)
	defer delete(o.allowed, key)
	return o.allowed[key]
}

func useKey(tool string, input map[string]any) string {
	return fmt.Sprintf("%s %s", tool, mustJSON(input))
}

// begin notes that a use of a tool came to our hook.
func (o *Own) begin(in hookInput) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun[in.ToolUseID] = true
}

// hasBegun reports whether a use of a tool came to our hook, as far as that can be known.
func (o *Own) hasBegun(in hookInput) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer delete(o.begun, in.ToolUseID)
	return o.begun[in.ToolUseID] || !o.watched || in.ToolUseID == ""
}
