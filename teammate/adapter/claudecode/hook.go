package claudecode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/gate"
)

// hookInput is what the client tells a hook.
type hookInput struct {
	Event          string         `json:"hook_event_name"`
	SessionID      string         `json:"session_id"`
	AgentID        string         `json:"agent_id"` // of a child; empty for the teammate itself
	Mode           string         `json:"permission_mode"`
	ToolName       string         `json:"tool_name"`
	ToolInput      map[string]any `json:"tool_input"`
	ToolUseID      string         `json:"tool_use_id"`
	Cwd            string         `json:"cwd"`
	StopHookActive bool           `json:"stop_hook_active"`
}

// Deny is what a hook answers when nobody can be asked: the tool is not used, and the model reads why.
func Deny(reason string) any { return verdict("deny", reason, nil) }

func verdict(decision, reason string, input map[string]any) any {
	out := object{"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
	if input != nil {
		out["updatedInput"] = input
	}
	return object{"hookSpecificOutput": out}
}

// Hook answers the client's PreToolUse hook. It judges and waits for nobody: what has to be asked comes back as
// can_use_tool. It may be called by several at once.
func (a *Agent) Hook(ctx context.Context, args gate.HookArgs) (any, error) {
	var in hookInput
	if args.Client != "claude" {
		return nil, fmt.Errorf("claudecode: a hook of %q asks here", args.Client)
	}
	if err := json.Unmarshal(args.Payload, &in); err != nil || in.Event != "PreToolUse" || in.ToolName == "" {
		return nil, fmt.Errorf("claudecode: no PreToolUse event: %.80q", args.Payload)
	}
	answer := a.judged(ctx, in)
	if in.AgentID == "" { // a child is held to plan mode, and reminded by nobody
		remind(answer, a.runner.Remind(handIn, a.ownPlan()))
	}
	return answer, nil
}

// judged is the verdict about a tool's use, whoever's it is: a sub-agent is in plan mode as long as its teammate is.
func (a *Agent) judged(ctx context.Context, in hookInput) any {
	if in.ToolName == "ExitPlanMode" && a.defers(in) {
		return a.putOff(ctx, in)
	}
	if answer, done := a.ungated(ctx, in); done {
		return answer
	}
	call := callOf(in.ToolName, in.ToolInput, in.Cwd)
	if d, decided := a.ownPlanFile(call); decided {
		a.noteOwnPlan(in, d)
		return verdict(string(d.Verdict), d.Reason, nil)
	}
	j, err := a.gate.Judge(ctx, call, false)
	if err != nil {
		return Deny(why(err))
	}
	switch j.Decision.Verdict {
	case permissions.Allow:
		return verdict("allow", j.Decision.Reason, a.rewritten(call, in.ToolInput, a.permit(call, j)))
	case permissions.Ask:
		a.willAsk(in.ToolUseID, in.Cwd)
		return verdict("ask", j.Decision.Reason, nil)
	}
	a.runner.Refused(call, j.Decision, j.Decision.Reason)
	return Deny(j.Decision.Reason + a.runner.Again(call, j.Decision))
}

// ungated is the verdict about tools that leaders are asked with, or that are verbs of the gate: they are no calls to judge.
func (a *Agent) ungated(ctx context.Context, in hookInput) (answer any, done bool) {
	switch {
	case in.ToolName == "ExitPlanMode", in.ToolName == "AskUserQuestion":
		return verdict("ask", "a leader is asked", nil), true
	case in.ToolName == "EnterPlanMode": // 2.1.197 asks nobody (measured)
		if err := a.runner.Enter(ctx, planmode.ByAgent); err != nil {
			return Deny(why(err)), true
		}
		return verdict("allow", "plan mode narrows", in.ToolInput), true
	case a.cfg.Attach == "" && a.cfg.ownTool(in.ToolName): // the gate judges it; by hand, any server may have its name
		return verdict("allow", "a verb of swarm", in.ToolInput), true
	}
	return nil, false
}

// permit is for a line of Bash. What another tool calls its command is its own affair, and stays as it was judged.
func (a *Agent) permit(call permissions.Call, j gate.Judgement) string {
	if call.Tool != "Bash" {
		return ""
	}
	return a.gate.Permit(j)
}

// callOf is a use of one of the client's tools, as it is judged.
func callOf(tool string, input map[string]any, cwd string) permissions.Call {
	text := func(name string) string { s, _ := input[name].(string); return s }
	call := permissions.Call{Tool: tool, Cwd: cwd, Args: mustJSON(input)}
	switch tool {
	case "Bash":
		call.Command, call.Args = text("command"), ""
	case "Write":
		call.Path, call.Change = text("file_path"), gate.EditArgs{Content: []byte(text("content"))}.Shown()
	case "Edit":
		call.Path = text("file_path")
		call.Change = gate.EditArgs{Replace: &gate.Replace{Old: text("old_string"), New: text("new_string")}}.Shown()
	case "NotebookEdit":
		call.Path, call.Change = text("notebook_path"), mustJSON(input)
	case "Read", "NotebookRead":
		call.Path = text("file_path")
	case "Glob", "Grep", "LS":
		call.Path = text("path")
	}
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		call.Server, _, _ = strings.Cut(rest, "__")
	}
	return call
}

// ownPlanFile decides about the client's own plan files, ~/.claude/plans/*.md: the model writes its plan there, and what
// is handed in is read from the call. Nothing else in that folder is touched, and no link leads out of it.
func (a *Agent) ownPlanFile(call permissions.Call) (permissions.Decision, bool) {
	return planFile(call, plansFolder(a.cfg.Env))
}

func planFile(call permissions.Call, plans string) (permissions.Decision, bool) {
	if call.Tool != "Write" && call.Tool != "Edit" && call.Tool != "Read" || filepath.Ext(call.Path) != ".md" || !filepath.IsAbs(call.Path) {
		return permissions.Decision{}, false
	}
	folder, err := filepath.EvalSymlinks(plans)
	if err != nil {
		return permissions.Decision{}, false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(call.Path))
	if err != nil || dir != folder {
		return permissions.Decision{}, false
	}
	if info, err := os.Lstat(filepath.Join(dir, filepath.Base(call.Path))); err == nil && !info.Mode().IsRegular() {
		return permissions.Decision{Verdict: permissions.Deny, Reason: "the plan file is not a plain file"}, true
	}
	return permissions.Decision{Verdict: permissions.Allow, Reason: "the plan file"}, true
}

// plansFolder is where the client keeps its plans.
func plansFolder(env []string) string {
	config, home := "", ""
	for _, kv := range env {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "CLAUDE_CONFIG_DIR":
			config = value
		case "HOME":
			home = value
		}
	}
	if config == "" {
		config = filepath.Join(home, ".claude")
	}
	return filepath.Join(config, "plans")
}
