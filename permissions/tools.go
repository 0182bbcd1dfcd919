package permissions

import (
	"maps"
	"slices"
	"strings"
)

// toolClass is what a tool does, whatever its client calls it.
type toolClass uint8

const (
	classUnknown toolClass = iota
	classRead
	classSearch // reads what is below a folder
	classEdit
	classRun
	classNetwork
	classEnter // narrows: into plan mode
	classLeave // out of plan mode: never by a verdict
	classTalk  // asks a person, keeps a list: touches nothing
	classAgent // starts a child that stands behind the same gate
)

// toolClasses has the names of Claude, Gemini and Qwen, Kimi, and Codex.
var toolClasses = map[string]toolClass{
	"Read": classRead, "NotebookRead": classRead, "LS": classRead, "read_file": classRead, "list_directory": classRead, "ReadFile": classRead,
	"ReadMediaFile": classRead, "list_dir": classRead, "view_image": classRead,
	"Glob": classSearch, "Grep": classSearch, "glob": classSearch, "search_file_content": classSearch, "grep_search": classSearch, "grep_files": classSearch,
	"read_many_files": classSearch,
	"Edit":            classEdit, "Write": classEdit, "MultiEdit": classEdit, "NotebookEdit": classEdit, "replace": classEdit, "edit": classEdit, "write_file": classEdit,
	"WriteFile": classEdit, "StrReplaceFile": classEdit, "apply_patch": classEdit,
	"Bash": classRun, "run_shell_command": classRun, "Shell": classRun, "shell": classRun, "exec_command": classRun, "local_shell": classRun, "shell_command": classRun, "container.exec": classRun,
	"WebFetch": classNetwork, "WebSearch": classNetwork, "web_fetch": classNetwork, "google_web_search": classNetwork, "FetchURL": classNetwork,
	"SearchWeb": classNetwork, "web_search": classNetwork,
	"EnterPlanMode": classEnter, "enter_plan_mode": classEnter,
	"ExitPlanMode": classLeave, "exit_plan_mode": classLeave,
	"AskUserQuestion": classTalk, "ask_user": classTalk, "TodoWrite": classTalk, "TodoRead": classTalk, "write_todos": classTalk, "SetTodoList": classTalk, "update_plan": classTalk,
	"TaskCreate": classTalk, "TaskUpdate": classTalk, "TaskList": classTalk, "TaskGet": classTalk, "todo_write": classTalk, "Think": classTalk, "request_user_input": classTalk,
	"BashOutput": classTalk, "TaskOutput": classTalk, "KillShell": classTalk, "TaskStop": classTalk, // of what was allowed to run
	"Task": classAgent, "Agent": classAgent, "AgentSwarm": classAgent, "codebase_investigator": classAgent, "spawn_agent": classAgent,
	"invoke_agent": classAgent, "generalist": classAgent, "task": classAgent, "CreateSubagent": classAgent, "send_input": classAgent, "wait_agent": classAgent,
	"close_agent": classAgent, "resume_agent": classAgent,
}

// family tells tools of one class apart that do different things.
func family(tool string) string {
	switch tool {
	case "WebSearch", "google_web_search", "SearchWeb", "web_search":
		return "search"
	}
	return ""
}

func classOf(tool string) toolClass { return toolClasses[tool] }

// KnownTools lists the names of tools that the engine knows, whichever agent calls them so.
func KnownTools() []string { return slices.Sorted(maps.Keys(toolClasses)) }

// ToolClass says what a tool does: read, edit, run, network, plan, ask, agent, or unknown.
func ToolClass(tool string) string {
	switch classOf(tool) {
	case classRead, classSearch:
		return "read"
	case classEdit:
		return "edit"
	case classRun:
		return "run"
	case classNetwork:
		return "network"
	case classEnter, classLeave:
		return "plan"
	case classTalk:
		return "ask"
	case classAgent:
		return "agent"
	}
	return "unknown"
}

// tool judges a call by the class of its tool.
func (v *view) tool() Decision {
	if text, ok := v.patch(); ok {
		return v.patched(text)
	}
	if v.class == classRun {
		return v.line()
	}
	if d, decided := v.toolRules(); decided {
		return d
	}
	if v.odd != "" {
		return v.unclear()
	}
	switch v.class {
	case classRead, classSearch:
		return v.read()
	case classEdit:
		return v.edit()
	case classEnter, classTalk, classAgent:
		return v.capped(allow("it changes nothing by itself"))
	case classLeave:
		if v.mode != ModePlan {
			return v.capped(allow("not in plan mode"))
		}
		return ask("only a leader's decision ends plan mode: submit the plan")
	}
	return v.other()
}

// line judges a command line. Of a call whose arguments cannot all be understood none is allowed.
func (v *view) line() Decision {
	if v.odd != "" && (v.givenVerb() || v.givenReach().forbidden) {
		return deny(reasonForbidden)
	}
	d := v.bash()
	if v.odd != "" && (d.Verdict == Allow || v.call.Command == "") {
		d.Verdict, d.Reason = Ask, v.odd
	}
	return d
}

// unclear judges a file tool of which it cannot be told what it is about.
func (v *view) unclear() Decision {
	switch {
	case v.givenReach().forbidden:
		return deny(reasonForbidden)
	case v.class == classEdit && v.mode == ModePlan:
		return deny(reasonPlanning)
	}
	return ask(v.odd)
}

// other judges the network and tools that are not known.
func (v *view) other() Decision {
	r := v.reachOf(v.call.Path, v.startDirs())
	given := v.givenReach()
	if r.forbidden || given.forbidden || v.reachOf(v.call.Command, v.startDirs()).forbidden {
		return deny(reasonForbidden)
	}
	if mentions(v.call.Command) || v.givenVerb() {
		return deny(reasonVerb)
	}
	given.whole = false // a server may be asked about the tree
	r.add(given)
	if v.call.Tool == "save_memory" && !v.state.Answered { // it writes an agent's memory, which later sessions obey
		if v.mode == ModePlan {
			return deny(reasonPlanning)
		}
		return ask(reasonProtected)
	}
	switch {
	case r.secret && !v.state.Answered:
		return ask(reasonSecret)
	case r.protected && v.class == classUnknown && !v.state.Answered:
		return ask(reasonProtected)
	case v.onlyReadsBySaying() && v.call.Command == "" && r == (reach{}):
		return v.capped(allow("its server, which is trusted, says that it only reads"))
	case v.mode != ModePlan && v.allowedByRule():
		return v.capped(allow("an allow rule names this tool"))
	case v.mode == ModeBypass && v.call.Command == "" && r == (reach{}):
		return v.capped(allow("bypassPermissions"))
	case v.class == classNetwork:
		return ask("it uses the network")
	}
	return ask("tool " + strings.ToValidUTF8(v.call.Tool[:min(len(v.call.Tool), 80)], "?") + " is not known")
}

func (v *view) startDirs() []string {
	if v.cwd == "" {
		return nil
	}
	return []string{v.cwd}
}

const (
	reasonForbidden = "swarm's own state and keys are out of reach in every mode: leave that folder alone"
	reasonProtected = "it may write a protected file (agents' settings and memory, git, CI): a leader must say so"
	reasonPlanning  = "plan mode writes nothing but the plan file: put the change into the plan"
	reasonSecret    = "credentials usually lie there: a leader must say so"
)

// target is where a file tool points: its path, or the directory it runs in.
func (v *view) target() (spot, bool) {
	p := v.expandHome(v.call.Path)
	if p == "" {
		p = "."
	}
	if p == "." && v.cwd == "" || v.tree == "" {
		return spot{}, false
	}
	s := v.place(p, v.cwd)
	return s, !s.unclear
}

func (v *view) read() Decision {
	s, ok := v.target()
	r := v.reachOfSpot(s)
	r.add(v.reachOfToken(v.expandHome(v.call.Path), v.cwd))
	switch {
	case r.forbidden && !(ok && v.isPlan(s)):
		return deny(reasonForbidden)
	case !ok:
		return ask("it cannot be told where this leads: give an absolute path")
	case v.isPlan(s):
		return v.capped(allow("the plan file"))
	case r.secret && !v.state.Answered:
		return ask(reasonSecret)
	case v.class == classSearch && v.holdsForbidden(s):
		return ask("swarm's own state lies below it: search a smaller folder")
	case !v.inTree(s) && v.mode != ModeBypass && (v.mode == ModePlan || !v.allowedByRule()):
		return ask("it reads outside the working tree")
	}
	if why := v.comesBy(); why != "" {
		return ask(why)
	}
	if v.inTree(s) {
		return v.capped(allow("it reads inside the working tree"))
	}
	return v.capped(allow(v.beyond()))
}

func (v *view) edit() Decision {
	s, ok := v.target()
	r := v.reachOfSpot(s)
	ok = ok && v.call.Path != ""
	switch {
	case r.forbidden:
		return deny(reasonForbidden)
	case ok && v.isPlan(s):
		return v.editPlan()
	case v.mode == ModePlan:
		return deny(reasonPlanning)
	case !ok:
		return ask("it cannot be told which file this writes: give an absolute path")
	case r.protected && !v.state.Answered:
		return ask(reasonProtected)
	case r.secret && !v.state.Answered:
		return ask(reasonSecret)
	case v.mode == ModeBypass:
		return v.capped(allow("bypassPermissions"))
	case !v.inTree(s):
		return ask("it writes outside the working tree")
	case v.mode == ModeAcceptEdits, v.mode == ModeAuto:
		return v.capped(allow("edits inside the working tree pass in " + string(v.mode)))
	case v.allowedByRule():
		return v.capped(allow("an allow rule names this file"))
	}
	return ask("edits are asked in " + string(v.mode))
}

// editPlan: the plan file may be written while planning; afterwards it is a file of the tree.
func (v *view) editPlan() Decision {
	switch v.mode {
	case ModePlan, ModeAcceptEdits, ModeAuto, ModeBypass:
		return v.capped(allow("the plan file"))
	}
	return ask("edits are asked in " + string(v.mode))
}

func (v *view) beyond() string {
	if v.mode == ModeBypass {
		return "bypassPermissions"
	}
	return "an allow rule names it"
}
