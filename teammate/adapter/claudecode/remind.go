package claudecode

import (
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// handIn is how the client's model hands its plan in.
const handIn = "ExitPlanMode"

// remind puts a reminder into a hook's answer: the model reads it with the tool's result.
func remind(answer any, text string) {
	outer, ok := answer.(object)
	if !ok || text == "" {
		return
	}
	if out, ok := outer["hookSpecificOutput"].(object); ok {
		out["additionalContext"] = text
	}
}

// noteOwnPlan remembers where the root agent keeps its plan, for reminders.
func (a *Agent) noteOwnPlan(in hookInput, d permissions.Decision) {
	path, _ := in.ToolInput["file_path"].(string)
	if in.AgentID != "" || in.ToolName == "Read" || d.Verdict != permissions.Allow || path == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.planPath = path
}

// ownPlan is the client's own plan file. The client tells its model where that is; swarm knows it once the model has
// written there.
func (a *Agent) ownPlan() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.planPath == "" {
		return "the plan file that plan mode has named"
	}
	return a.planPath
}

// turned counts the turns of the root agent. One message of the model comes in several parts.
func (a *Agent) turned(m incoming) {
	if m.ParentToolUse != nil {
		return
	}
	a.mu.Lock()
	same := m.Message.ID != "" && m.Message.ID == a.lastMessage
	a.lastMessage = m.Message.ID
	a.mu.Unlock()
	if !same {
		a.runner.Turned(planmode.RoleAssistant)
	}
}
