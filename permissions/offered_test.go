package permissions_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/permissions"
)

// What each agent calls its tools, by what they do.
var toolNames = map[string]string{
	"read":    "Read Glob Grep LS NotebookRead read_file list_directory glob search_file_content grep_search read_many_files ReadFile ReadMediaFile list_dir grep_files view_image",
	"edit":    "Edit Write MultiEdit NotebookEdit replace edit write_file WriteFile StrReplaceFile apply_patch",
	"run":     "Bash run_shell_command Shell shell shell_command exec_command local_shell container.exec",
	"network": "WebFetch WebSearch web_fetch google_web_search FetchURL SearchWeb web_search",
	"plan":    "EnterPlanMode ExitPlanMode enter_plan_mode exit_plan_mode",
	"ask": "AskUserQuestion TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet BashOutput TaskOutput KillShell TaskStop ask_user write_todos todo_write SetTodoList Think " +
		"update_plan request_user_input",
	"agent":   "Task Agent AgentSwarm codebase_investigator invoke_agent generalist task CreateSubagent spawn_agent send_input wait_agent close_agent resume_agent",
	"unknown": "Skill SlashCommand save_memory activate_skill write_stdin SendDMail mcp__db__query mcp_db_query bash READ frob",
}

func TestWhatEachToolDoes(t *testing.T) {
	for class, names := range toolNames {
		for name := range strings.FieldsSeq(names) {
			if got := permissions.ToolClass(name); got != class {
				t.Errorf("ToolClass(%s) = %s, want %s", name, got, class)
			}
			if slices.Contains(permissions.KnownTools(), name) != (class != "unknown") {
				t.Errorf("KnownTools says otherwise about %s", name)
			}
		}
	}
	for _, name := range permissions.KnownTools() {
		if !slices.ContainsFunc(strings.Fields(toolNames[permissions.ToolClass(name)]), func(n string) bool { return n == name }) {
			t.Errorf("%s is known as %s, and stands in no list of this test", name, permissions.ToolClass(name))
		}
	}
}

func TestOffered(t *testing.T) {
	tools := strings.Fields("Read Edit Bash WebFetch EnterPlanMode ExitPlanMode TodoWrite Task mcp__db__query Read")
	for name, row := range map[string]struct {
		mode  permissions.Mode
		rules []permissions.Rule
		want  string
	}{
		"plan":                  {permissions.ModePlan, nil, "Read Edit Bash WebFetch ExitPlanMode TodoWrite Task mcp__db__query"},
		"an unknown mode":       {"sometimes", nil, "Read Edit Bash WebFetch ExitPlanMode TodoWrite Task mcp__db__query"},
		"default":               {permissions.ModeDefault, nil, "Read Edit Bash WebFetch EnterPlanMode TodoWrite Task mcp__db__query"},
		"bypass":                {permissions.ModeBypass, nil, "Read Edit Bash WebFetch EnterPlanMode TodoWrite Task mcp__db__query"},
		"dontAsk":               {permissions.ModeDontAsk, nil, "Read Bash EnterPlanMode TodoWrite Task"},
		"dontAsk, allowed":      {permissions.ModeDontAsk, []permissions.Rule{{Verdict: yes, Tool: "Edit", Glob: "docs/**"}, {Verdict: yes, Tool: "mcp__db__*"}}, "Read Edit Bash EnterPlanMode TodoWrite Task mcp__db__query"},
		"denied whole":          {permissions.ModeDefault, []permissions.Rule{{Verdict: never, Tool: "run_shell_command"}, {Verdict: never, Tool: "mcp_db_*"}}, "Read Edit WebFetch EnterPlanMode TodoWrite Task"},
		"denied in part":        {permissions.ModeDefault, []permissions.Rule{{Verdict: never, Tool: "Bash", Argv: []string{"rm"}, Prefix: true}, {Verdict: never, Tool: "Read", Glob: "x/**"}, {Verdict: never, Tool: "WebFetch", Domain: "x.y"}, {Verdict: never, Tool: "Bash", Pattern: regexp.MustCompile("rm")}}, "Read Edit Bash WebFetch EnterPlanMode TodoWrite Task mcp__db__query"},
		"denied elsewhere":      {permissions.ModeDefault, []permissions.Rule{{Verdict: never, Tool: "Bash", Modes: []permissions.Mode{permissions.ModePlan}}}, "Read Edit Bash WebFetch EnterPlanMode TodoWrite Task mcp__db__query"},
		"denied by a low rank":  {permissions.ModeDefault, []permissions.Rule{{Verdict: never, Tool: "*", List: "g", Rank: 1}, {Verdict: yes, Tool: "Bash", Argv: []string{"make"}, List: "g", Rank: 2}}, "Bash"},
		"everything is denied":  {permissions.ModeBypass, []permissions.Rule{{Verdict: never, Tool: "*"}}, ""},
		"asking hides nothing":  {permissions.ModeDefault, []permissions.Rule{{Verdict: maybe, Tool: "*"}}, "Read Edit Bash WebFetch EnterPlanMode TodoWrite Task mcp__db__query"},
		"denied to nobody here": {permissions.ModeDefault, []permissions.Rule{{Verdict: never, Tool: "Bash", When: permissions.Unattended}}, "Read Edit Bash WebFetch EnterPlanMode TodoWrite Task mcp__db__query"},
	} {
		if got := strings.Join(permissions.New(lexical).Offered(row.mode, tools, row.rules...), " "); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// A tool that is not offered is never allowed, whatever it is called with.
func TestWhatIsNotOfferedIsNotAllowed(t *testing.T) {
	engine := permissions.New(lexical)
	all := append(permissions.KnownTools(), "mcp__db__query", "frob")
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		tool := rapid.SampledFrom(all).Draw(t, "tool")
		if rapid.Bool().Draw(t, "whole") {
			s.Rules = append(s.Rules, permissions.Rule{Verdict: rapid.SampledFrom([]permissions.Verdict{yes, maybe, never}).Draw(t, "verdict"), Tool: rapid.SampledFrom(append(all, "*", "mcp__db__*")).Draw(t, "named")})
		}
		call := permissions.Call{Tool: tool, Cwd: "/project", Path: rapid.SampledFrom([]string{"", "a.go", "/project/docs/a", "https://a.b/c"}).Draw(t, "path")}
		if permissions.ToolClass(tool) == "run" {
			call = permissions.Call{Tool: tool, Cwd: "/project", Command: simple(t, "command")}
		}
		d := engine.Decide(call, s)
		offered := engine.Offered(s.Mode, []string{tool}, s.Rules...)
		if class := permissions.ToolClass(tool); d.Verdict == yes && len(offered) == 0 && class != "plan" {
			t.Fatalf("%s is not offered in %s, and Decide(%+v) = allow (%s)", tool, s.Mode, call, d.Reason)
		}
	})
}
