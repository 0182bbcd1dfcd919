package teammatetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An Act is what an agent does in one turn, whatever its client calls the tools. One field besides Told is set.
type Act struct {
	// Told are patterns, each of which must match what the agent was told since its last act.
	Told []string
	// Plan is written and handed in. Again is handed in once more by a client that goes on where it was interrupted; one
	// that begins at its top does nothing.
	Plan, Again *Plan
	Run         string // a line of bash
	Write       string // a file of the tree, whose content is to be "x"
	Child       string // the same, by a sub-agent or a process of the agent's own
	Note        bool   // use the tool of the MCP server that [ServeNotes] is
	Say         string // the end of the turn
}

// A Plan is what an agent hands in.
type Plan struct {
	Text    string
	Prompts []string
}

// Options say how a teammate is started.
type Options struct {
	Mode       string // empty: default
	NoPlan     bool
	Unattended bool
}

func (o Options) flags(name string) []string {
	f := []string{"--name", name}
	if o.Mode != "" {
		f = append(f, "--mode", o.Mode)
	}
	if o.NoPlan {
		f = append(f, "--no-plan")
	}
	if o.Unattended {
		f = append(f, "--unattended")
	}
	return f
}

// Mate is the name of the teammate that [Conform] starts.
const Mate = "api"

// A Part is an agent that has its acts.
type Part struct {
	// Env is added to the environment of the whole swarm.
	Env []string
	// Args are what starts its teammate: they follow `swarm teammate`, and go before the task.
	Args func(s *Swarm) (verb string, flags, task []string)
	// Problems are the patterns of Told that did not match. Nil has none, or fails the test itself.
	Problems func() []string
}

func (p Part) start(s *Swarm, o Options) *Process {
	s.T.Helper()
	verb, flags, task := p.Args(s)
	args := append([]string{"teammate", verb}, o.flags(Mate)...)
	return s.Start(append(append(append(args, flags...), "--"), task...)...)
}

// ClaudeEnv is what Claude Code needs to ask a model.
func ClaudeEnv(m *Model) []string {
	return []string{"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=sk-ant-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1"}
}

// ClaudePart has Claude Code do the acts, with a model that calls its tools.
func ClaudePart(t testing.TB, client string, acts []Act) (Part, *Model) {
	var steps []Step
	for _, a := range acts {
		list := claudeSteps(a)
		list[0].Expect = a.Told
		steps = append(steps, list...)
	}
	m := Serve(t, Script{Actors: []Actor{{
		Name: "main", Match: Match{Has: []string{"ExitPlanMode"}}, Capture: map[string]string{"plan": `at (/\S+/\.claude/plans/\S+\.md)`}, Steps: steps,
	}, {
		Name: "child", Capture: map[string]string{"file": `write (\S+)`},
		Steps: []Step{{Call: []Call{{Tool: "Write", Input: object{"file_path": "${file}", "content": "x"}}, {Tool: "Bash", Input: object{"command": "touch ${file}", "description": "x"}}}}, {Say: "child done"}},
	}}})
	return Part{
		Env: ClaudeEnv(m),
		Args: func(s *Swarm) (string, []string, []string) {
			task := []string{"do the task"}
			if slices.ContainsFunc(acts, func(a Act) bool { return a.Note }) {
				servers, err := notesConfig(filepath.Join(s.Tree, noted))
				if err != nil {
					s.T.Fatal(err)
				}
				task = append(task, "--mcp-config", servers)
			}
			return "claude", []string{"--client", client}, task
		},
		Problems: m.Problems,
	}, m
}

type object = map[string]any

// claudeSteps is an act in turns of Claude Code's model.
func claudeSteps(a Act) []Step {
	call := func(tool string, input object) Step { return Step{Call: []Call{{Tool: tool, Input: input}}} }
	exit := func(p *Plan) Step {
		prompts := []any{}
		for _, text := range p.Prompts {
			prompts = append(prompts, object{"tool": "Bash", "prompt": text})
		}
		return call("ExitPlanMode", object{"allowedPrompts": prompts})
	}
	switch {
	case a.Plan != nil:
		return []Step{call("Write", object{"file_path": "${plan}", "content": a.Plan.Text}), exit(a.Plan)}
	case a.Again != nil:
		return []Step{exit(a.Again)}
	case a.Run != "":
		return []Step{call("Bash", object{"command": a.Run, "description": "x"})}
	case a.Write != "":
		return []Step{call("Write", object{"file_path": a.Write, "content": "x"})}
	case a.Note:
		return []Step{call("mcp__notes__note", object{})}
	case a.Child != "":
		return []Step{call("Agent", object{"description": "d", "prompt": "write " + a.Child, "subagent_type": "general-purpose"})}
	}
	return []Step{{Say: a.Say}}
}

// ScriptPart has a shell script do the acts.
func ScriptPart(t testing.TB, acts []Act) Part {
	t.Helper()
	var b strings.Builder
	b.WriteString("T=$TMPDIR/told; : >\"$T\"\ncd \"$SWARM_TREE\"\n")
	for i, a := range acts {
		for _, pattern := range a.Told {
			b.WriteString("grep -qE " + quoted(pattern) + " \"$T\" || { echo 'PROBLEM: act " + strconv.Itoa(i) + " was not told' " + quoted(pattern) + "; cat \"$T\"; exit 97; }\n")
		}
		b.WriteString("{\n" + shellLines(a) + "} >\"$T\" 2>&1\n")
		if a.Say != "" {
			b.WriteString("echo " + quoted(a.Say) + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(file, []byte(b.String()), 0o755); err != nil {
		t.Fatal(err)
	}
	return Part{Args: func(s *Swarm) (string, []string, []string) {
		data, err := os.ReadFile(file)
		if err != nil {
			s.T.Fatal(err)
		}
		s.Write("agent.sh", string(data))
		return "script", nil, []string{"bash", "agent.sh"}
	}}
}

func shellLines(a Act) string {
	switch {
	case a.Plan != nil:
		line := "printf %s " + quoted(a.Plan.Text) + " >\"$SWARM_PLAN_FILE\"\nswarm plan submit"
		for _, p := range a.Plan.Prompts {
			line += " --prompt " + quoted(p)
		}
		return line + "\nswarm plan wait\ncat \"$SWARM_PLAN_FILE\"\n"
	case a.Run != "":
		return "swarm exec " + quoted(a.Run) + "\n"
	case a.Write != "": // once by itself, once as it should
		return "echo x >" + quoted(a.Write) + "\nprintf x | swarm edit " + quoted(a.Write) + "\n"
	case a.Child != "":
		return "bash -c " + quoted("echo x >"+quoted(a.Child)+"; printf x | swarm edit "+quoted(a.Child)) + "\n"
	}
	return ":\n"
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// mustJSON writes our own maps.
func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
