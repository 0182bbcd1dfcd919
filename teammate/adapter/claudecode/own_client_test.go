//go:build clients

package claudecode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/teammate/teammatetest"
)

// settled is a client that a person has used in the tree before: it asks nothing as it starts.
func settled(s teammatetest.Swarm) {
	s.Write("../.claude.json", fmt.Sprintf(`{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-ant-test"], "rejected": []},
		"projects": {%q: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}`, s.Tree))
}

// seated is a script for a client in a terminal, which has its sessions named by a model as well.
func seated(steps ...step) teammatetest.Script {
	s := script(steps...)
	s.Actors = append(s.Actors, teammatetest.Actor{Name: "namer", Match: teammatetest.Match{Lacks: []string{"Read"}}, Steps: []step{{Say: "a name"}}})
	return s
}

func (r rig) sit(args ...string) *teammatetest.Screen {
	r.T.Helper()
	return r.Sit(append([]string{"teammate", "claude", "--name", "api", "--client", client, "--interactive"}, args...)...)
}

// A person's own session: the plan is shown at the terminal, and a leader decides. The first no comes from the leader, the
// second from the terminal, and then the leader approves.
func TestOwnSessionIsDecidedByTheLeader(t *testing.T) {
	r := start(t, seated(
		writePlan("# First\n"), submit("run tests"),
		step{Expect: []string{"say more about tests"}, Call: []call{bash("touch early"), {Tool: "Write", Input: in{"file_path": "${plan}", "content": "# Second\n"}}}},
		submit("run tests"),
		step{Expect: []string{"doesn't want to proceed", "not so"}, Say: "I wait"},
		step{Expect: []string{"go on"}, Call: submit("run tests").Call},
		step{Expect: []string{"approved your plan"}, Call: []call{bash("go test -v ./...")}},
		step{Expect: []string{"it ran"}, Call: []call{bash("touch asked")}},
		step{Call: []call{bash("touch refused")}},
		step{Expect: []string{"not that"}, Call: []call{{Tool: "Write", Input: in{"file_path": "made.txt", "content": "made"}}}},
		step{Say: "all is done"},
	), settled)
	screen := r.sit("--mode", "acceptEdits", "--", "do the task")
	screen.Until("Would you like to proceed?")
	first := r.AwaitRow("plan")
	if first.Goal != "First" || first.ModeBack != "acceptEdits" {
		t.Errorf("the leader sees %+v", first)
	}
	r.Until("mode plan", func() bool { return r.Mode("api") == "plan" })
	r.Must("reject", first.Handle, "-m", "say more about tests")
	screen.Until("say more about tests") // the terminal is told

	second := r.awaitNext(first)
	screen.Until("Would you like to proceed?")
	screen.Keys("3", "n", "o", "t", "Space", "s", "o", "Enter") // the person at the terminal is first
	r.Until("the request is taken back", func() bool { return len(r.Inbox()) == 0 })
	screen.Until("I wait")
	screen.Keys("g", "o", "Space", "o", "n", "Enter")
	third := r.awaitNext(second)
	if d := r.Run("approve", second.Handle); d.Code != 6 || !strings.Contains(d.Out+d.Err, "withdrawn") {
		t.Errorf("approving what the terminal took back: exit %d: %s%s", d.Code, d.Out, d.Err)
	}
	r.Must("approve", third.Handle)
	asked := r.AwaitRow("run")
	if asked.Goal != "touch asked" {
		t.Errorf("asked %+v", asked)
	}
	r.Until("mode acceptEdits", func() bool { return r.Mode("api") == "acceptEdits" })
	r.Must("approve", asked.Handle)
	r.Must("reject", r.awaitNext(asked).Handle, "-m", "not that")
	screen.Until("all is done")
	screen.Until("accept edits on")
	screen.Keys("BTab") // the person puts it into plan mode: that narrows, and the team learns of it
	screen.Until("plan mode on")
	screen.Keys("m", "o", "r", "e", "Enter")
	r.Until("plan mode, by the person's key", func() bool { return r.Mode("api") == "plan" })
	for name, want := range map[string]bool{"early": false, "asked": true, "refused": false, "made.txt": true} {
		if r.Has(name) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
	screen.Keys("/", "e", "x", "i", "t", "Enter")
	if code := screen.End(); code != 0 {
		t.Errorf("exit %d: %s", code, screen.Text())
	}
}

// The person at the terminal is no leader: their yes closes the dialog and opens nothing, and the leader still decides. What
// the leader makes of the plan is what the model gets, whatever the terminal showed.
func TestYesAtTheTerminalIsNoApproval(t *testing.T) {
	write := func(name string) []call {
		return []call{{Tool: "Write", Input: in{"file_path": name, "content": "x"}}}
	}
	r := start(t, seated(
		writePlan("# Plan\n"), submit(),
		step{Expect: []string{"once more"}, Call: submit().Call},
		step{Expect: []string{"leader rejects the plan", "not yet", "EnterPlanMode"}, Call: write("early.txt")},
		step{Expect: []string{"plan mode", "EnterPlanMode"}, Call: []call{{Tool: "EnterPlanMode", Input: in{}}}},
		submit(),
		step{Expect: []string{"leader has approved the plan", "# By the leader"}, Call: write("late.txt")},
		step{Say: "all is done"},
	), settled)
	screen := r.sit("--mode", "acceptEdits", "--", "do the task")
	screen.Until("Would you like to proceed?")
	first := r.AwaitRow("plan")
	screen.Keys("Escape") // a no
	r.Until("the request is taken back", func() bool { return len(r.Inbox()) == 0 })
	screen.Keys("o", "n", "c", "e", "Space", "m", "o", "r", "e", "Enter")
	row := r.awaitNext(first)
	screen.Until("Would you like to proceed?")
	screen.Keys("1") // yes, and accept edits
	r.Until("the leader is told", func() bool {
		return strings.Contains(r.Run("mail", "recv", "--json").Out, "has said yes to its plan "+row.Handle)
	})
	if again := r.AwaitRow("plan"); again.Handle != row.Handle || r.Mode("api") != "plan" {
		t.Errorf("after the yes %+v waits, and the mode is %s", again, r.Mode("api"))
	}
	r.Must("reject", row.Handle, "-m", "not yet")
	next := r.awaitNext(row)
	screen.Until("Would you like to proceed?")
	screen.Keys("1")
	screen.Until("accept edits on")
	r.Write("edited.md", "# By the leader\n")
	r.Must("approve", next.Handle, "--edit-file", "edited.md")
	screen.Until("swarm: ")
	screen.Until("all is done")
	if r.Has("early.txt") || !r.Has("late.txt") {
		t.Errorf("written before the leader's yes: %v, after it: %v", r.Has("early.txt"), r.Has("late.txt"))
	}
}

// kill -9 of the adapter while a plan is shown at the terminal, and while a command is asked: nothing ran, and the client is
// dead. Started again the old request is taken back.
func TestKilledOwnSessionLeavesNothing(t *testing.T) {
	r := start(t, seated(
		writePlan("# Plan\n"), submit(),
		step{Expect: []string{"go on"}, Call: submit().Call},
		step{Call: []call{bash("touch asked")}}, step{Say: "done"},
	), settled)
	screen := r.sit("--", "do the task")
	screen.Until("Would you like to proceed?")
	old := r.AwaitRow("plan")
	screen.Kill(r.Home)
	screen = r.sit()
	screen.Until("plan mode on")
	screen.Keys("g", "o", "Space", "o", "n", "Enter")
	r.Must("approve", r.awaitNext(old).Handle)
	r.AwaitRow("run")
	screen.Kill(r.Home)
	if r.Has("asked") {
		t.Error("what was asked ran")
	}
}

// A client that a person starts by hand: its hooks find the runner by their file, a leader decides, and commands are carried
// out by the runner. Killed, the runner leaves a client that only reads; ended in order, one that is its person's own, and
// that still leaves plan mode for nobody.
func TestAttachedByHand(t *testing.T) {
	r := start(t, seated(
		writePlan("# Plan\n"), submit("run tests"),
		step{Expect: []string{"approved your plan"}, Call: []call{bash("go test -v ./...")}},
		step{Expect: []string{"it ran"}, Say: "first is done"},
		step{Expect: []string{"second"}, Call: []call{bash("touch orphan"), {Tool: "Read", Input: in{"file_path": "go.mod"}}}},
		step{Expect: []string{"gone without its end", "module m"}, Say: "second is done"},
		step{Expect: []string{"third"}, Call: []call{bash("go test -v ./...")}},
		step{Expect: []string{"it ran"}, Say: "third is done"},
		step{Expect: []string{"fourth"}, Call: []call{bash("touch alone"), bash("ls")}},
		step{Expect: []string{"nobody can approve", "a_test.go"}, Call: submit().Call},
		step{Expect: []string{"nobody can approve"}, Say: "fourth is done"},
	), settled)
	attach := func() *teammatetest.Process {
		p := r.Start("teammate", "attach", "claude", "--name", "api")
		r.Until("the runner is attached", func() bool { return strings.Contains(p.Output(), "attached: start Claude Code") })
		return p
	}
	runner := attach()
	r.Write("../own.json", r.Must("hook", "claude", "--print-settings", "--name", "api"))
	screen := r.SitAt(client, "--permission-mode", "plan", "--settings", filepath.Join(r.Home, "own.json"), "do the task")
	screen.Until("Would you like to proceed?")
	r.Must("approve", r.AwaitRow("plan").Handle)
	screen.Until("first is done")

	runner.Kill()
	say := func(word string) {
		screen.Keys(append(strings.Split(word, ""), "Enter")...)
		screen.Until(word + " is done")
	}
	say("second")
	runner = attach()
	say("third")
	if err := runner.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	runner.End()
	for !strings.Contains(screen.Text(), "plan mode on") {
		screen.Keys("BTab")
	}
	say("fourth")
	for _, name := range []string{"orphan", "alone"} {
		if r.Has(name) {
			t.Errorf("%s is there", name)
		}
	}
}
