package claudecode

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// Alone answers an event of a client whose settings name a teammate that has no runner. It is its person's own then, and
// nothing is said, but for plan mode: no leader can be asked, so that nothing leaves it and nothing but reading is let
// through. Where the runner died, nobody has said that the client is free, and why names it: that holds in every mode.
// Plans is the folder of the client's own plan files, which may be written.
func Alone(event []byte, engine *permissions.Engine, home, plans, why string) any {
	var in hookInput
	if json.Unmarshal(event, &in) != nil || in.Event == "" {
		return Deny("the client's event cannot be read")
	}
	if in.Event != "PreToolUse" && in.Event != "PermissionRequest" && (in.Event != "PostToolUse" || in.ToolName != "ExitPlanMode") {
		return object{}
	}
	if why == "" && in.Mode != string(permissions.ModePlan) {
		return object{}
	}
	if why == "" {
		why = "no runner of swarm is attached: nobody can approve a plan"
	}
	if in.ToolName != "ExitPlanMode" && onlyReads(in, engine, home, plans) {
		return object{}
	}
	return Refuse(in.Event, why)
}

// onlyReads reports whether a use of a tool changes nothing but the client's plan file, in the client's own surroundings.
func onlyReads(in hookInput, engine *permissions.Engine, home, plans string) bool {
	switch in.ToolName {
	case "EnterPlanMode", "AskUserQuestion", "TodoWrite":
		return true
	}
	call := callOf(in.ToolName, in.ToolInput, in.Cwd)
	call.Foreign = true
	if d, decided := planFile(call, plans); decided {
		return d.Verdict == permissions.Allow
	}
	if !filepath.IsAbs(in.Cwd) || in.ToolName == "Agent" || in.ToolName == "Task" {
		return false
	}
	d := engine.Decide(call, permissions.State{Mode: permissions.ModePlan, Tree: in.Cwd, Home: home, Unattended: true, Now: time.Now()})
	return d.Verdict == permissions.Allow
}

// PlansFolder is where a client with such an environment keeps its plans.
func PlansFolder(env []string) string { return plansFolder(env) }
