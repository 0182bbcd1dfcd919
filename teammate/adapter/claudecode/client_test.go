//go:build clients

package claudecode_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/teammate/adapter/claudecode"
	"github.com/planswarm/swarm/teammate/teammatetest"
)

// These tests run the real client, whose model is a script. SWARM_CLAUDE names it; .ci/clients.txt has its version.
var bin, client string

func TestMain(m *testing.M) {
	teammatetest.ServeNotes()
	os.Exit(func() int {
		client = os.Getenv("SWARM_CLAUDE")
		if client == "" {
			fmt.Fprintln(os.Stderr, "set SWARM_CLAUDE to the path of the claude program")
			return 1
		}
		dir, err := os.MkdirTemp("", "swarm-bin-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = filepath.Join(dir, "swarm")
		if out, err := exec.Command("go", "build", "-o", bin, "github.com/planswarm/swarm/cmd/swarm").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %s", err, out)
			return 1
		}
		return m.Run()
	}())
}

type (
	step = teammatetest.Step
	call = teammatetest.Call
	in   = map[string]any
)

func bash(line string) call {
	return call{Tool: "Bash", Input: in{"command": line, "description": "x"}}
}

// writePlan and submit are the two steps in which the client hands in a plan. It says itself where the file is.
func writePlan(text string) step {
	return step{Call: []call{{Tool: "Write", Input: in{"file_path": "${plan}", "content": text}}}}
}

func submit(prompts ...string) step {
	list := []any{}
	for _, p := range prompts {
		list = append(list, in{"tool": "Bash", "prompt": p})
	}
	return step{Call: []call{{Tool: "ExitPlanMode", Input: in{"allowedPrompts": list}}}}
}

func script(steps ...step) teammatetest.Script {
	return teammatetest.Script{Actors: []teammatetest.Actor{{
		Name: "main", Match: teammatetest.Match{Has: []string{"ExitPlanMode"}}, Capture: map[string]string{"plan": `at (/\S+/\.claude/plans/\S+\.md)`, "task": `"id":"(t[^"]*)"`}, Steps: steps,
	}}}
}

type rig struct {
	*teammatetest.Swarm
	model *teammatetest.Model
}

func start(t *testing.T, s teammatetest.Script, before ...func(teammatetest.Swarm)) rig {
	t.Helper()
	t.Parallel()
	m := teammatetest.Serve(t, s)
	w := teammatetest.StartSwarm(t, bin, before, teammatetest.ClaudeEnv(m)...)
	t.Cleanup(func() {
		for _, p := range m.Problems() {
			t.Errorf("the model: %s", p)
		}
	})
	return rig{w, m}
}

func (r rig) claude(args ...string) *teammatetest.Process {
	r.T.Helper()
	return r.Start(append([]string{"teammate", "claude", "--name", "api", "--client", client}, args...)...)
}

// A hook that cannot run lets nothing through: here its program is taken away while a command is asked.
func TestHookThatIsGone(t *testing.T) {
	r := start(t, script(
		step{Call: []call{bash("touch first")}},
		step{Call: []call{{Tool: "Write", Input: in{"file_path": "late.txt", "content": "x"}}}},
		step{Say: "done"},
	))
	data, err := os.ReadFile(bin)
	gone := filepath.Join(r.Home, "swarm")
	if err == nil { // no child that another test forks meanwhile may hold it open for writing
		syscall.ForkLock.RLock()
		err = os.WriteFile(gone, data, 0o755)
		syscall.ForkLock.RUnlock()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Bin = gone
	mate := r.claude("--no-plan", "--mode", "acceptEdits", "--", "do the task")
	r.Bin = bin
	row := r.Await("run", mate)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	r.Must("approve", row.Handle)
	if code := mate.End(); code != 0 || r.Has("late.txt") {
		t.Errorf("exit %d, written without a hook: %v: %s", code, r.Has("late.txt"), mate.Output())
	}
}

// An agent that ends its turn while it plans is told to hand its plan in, twice, and then its work has failed. The
// CLAUDE.md files that the client does not read are handed over.
func TestNoPlanIsHandedIn(t *testing.T) {
	r := start(t, script(step{Say: "I do not plan"}, step{Expect: []string{"without a plan"}, Say: "no"}, step{Expect: []string{"without a plan"}, Say: "never"}))
	r.Write("CLAUDE.md", "remember the milk\n")
	mate := r.claude("--", "do the task")
	if code := mate.End(); code != 10 {
		t.Errorf("exit %d, want 10: a plan was never handed in: %s", code, mate.Output())
	}
	asked := r.model.Requests()
	if len(asked) != 3 || !strings.Contains(asked[0].Text(), "remember the milk") {
		t.Errorf("%d requests to the model, want 3, with CLAUDE.md", len(asked))
	}
}

// A session that the client does not find any more begins anew, with the task.
func TestSessionThatIsLost(t *testing.T) {
	r := start(t, script(writePlan("# Plan\n"), submit(), step{Say: "done"}))
	mate := r.claude("--", "do the task")
	old := r.Await("plan", mate)
	mate.Kill()
	file := filepath.Join(r.Home, ".local/state/swarm/shop/teammates/api/claude-session")
	if err := os.WriteFile(file, []byte("00000000-0000-4000-8000-000000000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := r.claude("--", "do the task")
	r.Must("approve", r.AwaitOther("plan", again, old).Handle)
	if code := again.End(); code != 0 {
		t.Errorf("exit %d: %s", code, again.Output())
	}
}

// bypassPermissions comes back only where the team's cap allows it; above it the teammate does not start.
func TestBypassAboveTheCap(t *testing.T) {
	r := start(t, script(step{Say: "hi"}))
	mate := r.claude("--mode", "bypassPermissions", "--", "do the task")
	if code := mate.End(); code != 2 || !strings.Contains(mate.Output(), "swarm: mode bypassPermissions is above the team's cap acceptEdits: start it in mode acceptEdits") {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
}

// Each mode that the cap allows comes back after planning, and means what it means to swarm, whatever the client calls it.
func TestModesComeBack(t *testing.T) {
	for mode, asks := range map[string]bool{"dontAsk": false, "auto": true, "bypassPermissions": false} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, script(writePlan("# Plan\n"), submit(), step{Call: []call{bash("touch made")}}, step{Say: "done"}), func(s teammatetest.Swarm) {
				s.Write("../.config/swarm/config.yaml", "caps:\n  mode: bypassPermissions\n")
			})
			mate := r.claude("--mode", mode, "--", "do the task")
			row := r.Await("plan", mate)
			if row.ModeBack != mode {
				t.Errorf("the leader sees %q as the mode to come back", row.ModeBack)
			}
			r.Must("approve", row.Handle)
			if asks {
				r.Must("reject", r.Await("run", mate).Handle, "-m", "no")
			}
			if code := mate.End(); code != 0 || r.Has("made") != (mode == "bypassPermissions") {
				t.Errorf("exit %d, made: %v: %s", code, r.Has("made"), mate.Output())
			}
		})
	}
}

// A leader ends a teammate in the middle of its work: nothing more runs, and no process is left.
func TestStopEndsTheClient(t *testing.T) {
	r := start(t, script(step{Call: []call{bash("touch asked")}}, step{Say: "done"}))
	mate := r.claude("--no-plan", "--", "do the task")
	r.Await("run", mate)
	r.Must("stop", "api")
	if code := mate.End(); code != 0 || r.Has("asked") || len(r.model.Requests()) != 1 {
		t.Errorf("exit %d, ran %v, %d requests: %s", code, r.Has("asked"), len(r.model.Requests()), mate.Output())
	}
	r.NothingLeft()
}

// A cd is remembered by the next command, also by one that a leader is asked about.
func TestCdIsRemembered(t *testing.T) {
	r := start(t, script(
		step{Call: []call{bash("cd sub && ls")}},
		step{Expect: []string{"inside.txt"}, Call: []call{bash("cat inside.txt; cd nowhere")}},
		step{Expect: []string{"the inner one"}, Call: []call{bash("touch made")}},
		step{Say: "done"},
	), func(s teammatetest.Swarm) { s.Write("sub/inside.txt", "the inner one\n") })
	mate := r.claude("--no-plan", "--", "do the task")
	r.Must("approve", r.Await("run", mate).Handle)
	if code := mate.End(); code != 0 || !r.Has("sub/made") || r.Has("made") {
		t.Errorf("exit %d, made in sub: %v, in the tree: %v: %s", code, r.Has("sub/made"), r.Has("made"), mate.Output())
	}
}

// Leaders see which tool is used, and how much was done.
func TestStatusSaysWhatTheClientDoes(t *testing.T) {
	r := start(t, script(
		step{Call: []call{bash("touch first")}}, step{Say: "done"},
		step{Expect: []string{"one more"}, Call: []call{bash("touch second")}}, step{Say: "done again"},
	))
	mate := r.claude("--no-plan", "--", "do the task")
	first := r.Await("run", mate)
	watch := r.Start("watch", "api")
	stands := func(turns, tokens int) func() bool {
		return func() bool {
			s := r.Standing("api")
			return s.Tool == "Bash" && s.Turns == turns && s.Tokens == tokens
		}
	}
	r.Until("the first tool", stands(1, 0))
	r.Until("the watch", func() bool { return strings.Contains(watch.Output(), "uses Bash, 1 turn") })
	r.Must("mail", "send", "api", "one more")
	r.Must("approve", first.Handle)
	second := r.AwaitOther("run", mate, first)
	r.Until("the second tool", stands(3, 4)) // 2 turns of the model, each of 1 token in and 1 out
	if out := r.Must("status"); !strings.Contains(out, "api: uses Bash, 3 turns, 4 tokens") {
		t.Errorf("status: %s", out)
	}
	r.Until("the watch", func() bool { return strings.Contains(watch.Output(), "uses Bash, 3 turns, 4 tokens") })
	r.Must("approve", second.Handle)
	if code := mate.End(); code != 0 {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
	if out := r.Must("logs", "api"); !strings.Contains(out, "done again") {
		t.Errorf("logs: %s", out)
	}
}

// Entering plan mode by itself narrows at once, and only a leader ends it.
func TestAgentEntersPlanMode(t *testing.T) {
	r := start(t, script(
		step{Call: []call{{Tool: "EnterPlanMode", Input: in{}}}},
		step{Call: []call{{Tool: "Write", Input: in{"file_path": "no.txt", "content": "x"}}}},
		step{Expect: []string{"plan mode"}, Call: []call{{Tool: "Write", Input: in{"file_path": "${plan}", "content": "# Plan\n"}}}},
		submit(),
		step{Call: []call{{Tool: "Write", Input: in{"file_path": "yes.txt", "content": "x"}}}},
		step{Say: "done"},
	))
	mate := r.claude("--no-plan", "--mode", "acceptEdits", "--", "do the task")
	row := r.Await("plan", mate)
	if row.ModeBack != "acceptEdits" || r.Has("no.txt") {
		t.Errorf("row %+v, written while planning: %v", row, r.Has("no.txt"))
	}
	r.Must("approve", row.Handle)
	if code := mate.End(); code != 0 || !r.Has("yes.txt") {
		t.Errorf("exit %d, written after: %v: %s", code, r.Has("yes.txt"), mate.Output())
	}
}

// A client that has no key, or whose model cannot be reached, ends its teammate with one line that says what to do.
func TestModelThatCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct{ without, with, words string }{
		"no key":          {"ANTHROPIC_API_KEY", "", "Not logged in"},
		"a key too short": {"ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY=", "Not logged in"},
		"no model":        {"ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "API Error"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, script(step{Say: "hi"}))
			r.Env = slices.DeleteFunc(r.Env, func(kv string) bool { return strings.HasPrefix(kv, c.without+"=") })
			r.Env = append(r.Env, "CLAUDE_CODE_MAX_RETRIES=0")
			if c.with != "" {
				r.Env = append(r.Env, c.with)
			}
			d := r.Run("teammate", "claude", "--name", "api", "--client", client, "--", "do it")
			lines := strings.Split(strings.TrimSpace(d.Err), "\n")
			last := lines[len(lines)-1]
			if d.Code != 1 || !strings.HasPrefix(last, "swarm: Claude Code gave up: ") || !strings.Contains(last, c.words) || !strings.Contains(last, c.without) || strings.Contains(d.Err, "ended with") {
				t.Errorf("exit %d: %s", d.Code, d.Err)
			}
		})
	}
}

// liar is a client that says that its turn is in another mode, and writes down what it is told after that.
const liar = `#!/bin/bash
[ "$1" = --version ] && { echo "2.1.197 (Claude Code)"; exit; }
while IFS= read -r line; do
	case $line in *'"type":"control_request"'*)
		id=$(sed 's/.*"request_id":"\([^"]*\)".*/\1/' <<<"$line")
		echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{"mode":"plan"}}}' ;;
	*'"type":"user"'*)
		echo '{"type":"system","subtype":"init","session_id":"0","claude_code_version":"2.1.197","permissionMode":"bypassPermissions"}' ;;
	esac
done
`

// The mode of each turn is read back: a client that is in another one than it should is put right.
func TestModeOfATurnIsPutRight(t *testing.T) {
	r := start(t, script(step{Say: "hi"}))
	r.Write("liar", liar)
	mate := r.Start("teammate", "claude", "--name", "api", "--client", filepath.Join(r.Tree, "liar"), "--", "do it")
	r.Until("it is put right", func() bool {
		return strings.Contains(mate.Output(), "its client was in mode bypassPermissions, and is put back into plan")
	})
	r.Until("the teammate plans", func() bool { s := r.Standing("api"); return s.State == "planning" && s.Mode == "plan" })
}

// An adapter is small: there may be dozens beside each other.
func TestAdapterIsSmall(t *testing.T) {
	r := start(t, script(
		step{Call: []call{bash("ls")}}, step{Call: []call{bash("cat go.mod")}}, writePlan("# Plan\n"), submit("run tests"), step{Say: "done"},
	))
	mate := r.claude("--", "do the task")
	r.Await("plan", mate)
	share, resident := r.Memory(mate)
	t.Logf("the adapter has %.1f MiB, and %.1f MiB with all that it shares", share, resident)
	if share > 40 {
		t.Errorf("the adapter has %.1f MiB, want at most 40", share)
	}
}

var waitFor = flag.Duration("wait", time.Minute, "how long a leader is waited for; with -update it is noted in the record")

// A leader takes a while, in the midst of a tool's call, and the client goes on where it was: make contract-long waits for
// a quarter of an hour.
func TestClientWaitsForTheLeader(t *testing.T) {
	r := start(t, script(
		writePlan("# Plan\n"), submit("run tests"),
		step{Expect: []string{"approved your plan"}, Call: []call{bash("go test -v ./...")}}, step{Expect: []string{"it ran"}, Say: "done"},
	))
	mate := r.claude("--", "do the task")
	row := r.Await("plan", mate)
	time.Sleep(*waitFor)
	if now := r.Await("plan", mate); now.Handle != row.Handle || len(r.model.Requests()) != 2 {
		t.Errorf("after the wait %+v is open, and the model was asked %d times", now, len(r.model.Requests()))
	}
	r.Must("approve", row.Handle)
	if code := mate.End(); code != 0 {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
	if *update && *waitFor > time.Minute && !t.Failed() {
		teammatetest.RecordWait(t, *waitFor, time.Now())
	}
}

// What cannot start says so in one line, and leaves nothing.
func TestClientThatCannotWork(t *testing.T) {
	r := start(t, script(step{Say: "hi"}))
	write := func(name, text string) string {
		r.Write(name, "#!/bin/sh\n"+text+"\n")
		return filepath.Join(r.Tree, name)
	}
	for name, c := range map[string]struct {
		client string
		code   int
		words  string
	}{
		"missing":       {"/nonexistent/claude", 2, "is not on this machine"},
		"no version":    {write("other", "echo hello"), 2, "does not say its version"},
		"fails":         {write("fails", "exit 3"), 2, "does not say its version"},
		"exits at once": {write("ends", `[ "$1" = --version ] && { echo "9.9.9 (Claude Code)"; exit; }; echo no key >&2; exit 1`), 1, "Claude Code ended with exit 1: read its last words: swarm logs cexitsatonce"},
		"crashes":       {write("dies", `[ "$1" = --version ] && { echo "9.9.9 (Claude Code)"; exit; }; kill -9 $$`), 1, "Claude Code crashed again and again: 4 times in 10m0s"},
	} {
		d := r.Run("teammate", "claude", "--name", "c"+strings.ReplaceAll(name, " ", ""), "--client", c.client, "--", "do it")
		if d.Code != c.code || !strings.Contains(d.Err, "swarm: ") || !strings.Contains(d.Err, c.words) || strings.Count(d.Err, "swarm: ") != 1 {
			t.Errorf("%s: exit %d, %q, want %d and %q", name, d.Code, d.Err, c.code, c.words)
		}
		if c.code == 1 && !strings.Contains(d.Err, "Claude Code 9.9.9 has not been tested with this swarm (tested: "+claudecode.Tested[0]) {
			t.Errorf("%s: nothing is said about its version: %s", name, d.Err)
		}
	}
	d := r.Run("teammate", "claude", "--name", "api", "--client", client, "--", "do it", "--settings", "{}")
	if d.Code != 2 || !strings.HasPrefix(d.Err, `swarm: the client's flag "--settings" could let it out of its gate`) {
		t.Errorf("a flag: exit %d, %s", d.Code, d.Err)
	}
}

// The model is reminded that it plans with the result of a tool, at the dialect's cadence, and told once that it is over.
// A sub-agent is told nothing, and is in plan mode all the same.
func TestModelIsReminded(t *testing.T) {
	look := step{Call: []call{{Tool: "Read", Input: in{"file_path": "a_test.go"}}}}
	denied := step{Call: []call{{Tool: "Write", Input: in{"file_path": "no.txt", "content": "x"}}}}
	child := step{Call: []call{{Tool: "Agent", Input: in{"description": "look", "prompt": "be a child", "subagent_type": "general-purpose"}}}}
	steps := []step{denied, look, child, look, look, look, look, writePlan("# Plan\n"), submit(), look, look, {Say: "done"}}
	s := script(steps...)
	s.Actors = append([]teammatetest.Actor{{Name: "child", Match: teammatetest.Match{First: "be a child"}, Steps: []step{
		look, {Call: []call{{Tool: "Write", Input: in{"file_path": "child.txt", "content": "x"}}, bash("touch child2.txt")}}, {Expect: []string{"plan mode"}, Say: "child done"},
	}}}, s.Actors...)
	r := start(t, s)
	mate := r.claude("--mode", "acceptEdits", "--", "do the task")
	r.Must("approve", r.Await("plan", mate).Handle)
	if code := mate.End(); code != 0 || r.Has("child.txt") || r.Has("child2.txt") {
		t.Errorf("exit %d, written by the child: %v, %v: %s", code, r.Has("child.txt"), r.Has("child2.txt"), mate.Output())
	}
	asked, children := r.model.Requests(), 0
	for _, q := range asked {
		if !strings.Contains(q.First(), "be a child") {
			continue
		}
		if children++; strings.Contains(q.Text(), "hook additional context") {
			t.Errorf("the child is told: %s", q.Since())
		}
	}
	whole := asked[len(asked)-1].Text()
	for text, want := range map[string]int{"Plan mode is on.": 1, "Plan mode is still on.": 1, "Plan mode is over.": 1} {
		if n := strings.Count(whole, text); n != want {
			t.Errorf("%q was said %d times, want %d", text, n, want)
		}
	}
	if path := filepath.Join(r.Home, ".claude/plans"); children != 3 || !strings.Contains(whole, "The plan is in "+path) {
		t.Errorf("%d requests of the child, want 3; and the plan's path in what was said:\n%s", children, whole)
	}
}

// A leader's order to plan reaches a sub-agent at work: from its next call on it changes nothing. It is not told; the root
// agent is.
func TestChildPlansWithItsTeammate(t *testing.T) {
	read := step{Call: []call{{Tool: "Read", Input: in{"file_path": "a_test.go"}}}}
	s := script(step{Call: []call{{Tool: "Agent", Input: in{"description": "work", "prompt": "be a child", "subagent_type": "general-purpose"}}}}, read, writePlan("# Plan\n"), submit(), step{Say: "done"})
	s.Actors = append([]teammatetest.Actor{{Name: "child", Match: teammatetest.Match{First: "be a child"}, Steps: []step{
		{Call: []call{bash("touch asked")}}, read, {Call: []call{{Tool: "Write", Input: in{"file_path": "child.txt", "content": "x"}}}}, {Expect: []string{"plan mode"}, Say: "child done"},
	}}}, s.Actors...)
	r := start(t, s)
	mate := r.claude("--no-plan", "--mode", "acceptEdits", "--", "do the task")
	r.Await("run", mate)
	r.Must("mode", "api", "plan")
	r.Must("reject", r.Await("plan", mate).Handle, "--leave", "-m", "enough")
	if code := mate.End(); code != 0 || r.Has("child.txt") || r.Has("asked") {
		t.Errorf("exit %d, written by the child: %v, %v: %s", code, r.Has("child.txt"), r.Has("asked"), mate.Output())
	}
	told := 0
	for _, q := range r.model.Requests() {
		if strings.Contains(q.First(), "be a child") && strings.Contains(q.Text(), "hook additional context") {
			t.Errorf("the child is told: %s", q.Since())
		}
		told += strings.Count(q.Since(), "Plan mode is on.")
	}
	if told != 1 {
		t.Errorf("the root agent was told %d times, want once", told)
	}
}
