//go:build clients

package claudecode_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/teammate/teammatetest"
)

// clientsBelow are the clients that run below the test's home.
func clientsBelow(r rig) string {
	out, _ := exec.Command("pgrep", "-af", "stream-json.*"+r.Home).Output() // none is an exit code
	return string(out)
}

// While a plan waits nothing runs: the client has ended, and so has its runner. A rejection, and then an approval, reach the
// same session through swarm up, each once; and whoever is killed on the way is gone on with.
func TestDetachedPlanWaitsWithoutAClient(t *testing.T) {
	r := start(t, script(
		writePlan("# First\n"), submit("run tests"),
		step{Expect: []string{"rejects the plan", "say more"}, Call: []call{bash("touch early"), {Tool: "Write", Input: in{"file_path": "${plan}", "content": "# Second\n"}}}},
		submit("run tests"),
		step{Expect: []string{"approved your plan", "# By the leader"}, Call: []call{bash("go test -v ./...")}},
		step{Call: []call{bash("touch asked")}},
		step{Call: []call{{Tool: "Write", Input: in{"file_path": "made.txt", "content": "x"}}}},
		step{Say: "all is done"},
	))
	mate := r.claude("--mode", "acceptEdits", "--detach", "--", "do the task")
	if code := mate.End(); code != 8 || !strings.Contains(mate.Output(), "waits for a leader, and its client has ended") {
		t.Fatalf("exit %d: %s", code, mate.Output())
	}
	if left := clientsBelow(r); left != "" {
		t.Errorf("clients run while the plan waits: %s", left)
	}
	first := r.AwaitRow("plan")
	if d := r.Run("teammate", "resume", "api"); d.Code != 8 { // nobody has decided: it waits on
		t.Errorf("resumed too early: exit %d: %s%s", d.Code, d.Out, d.Err)
	}
	watch := r.Start("teammate", "resume", "api", "--watch")
	r.Until("the watcher has the session", func() bool { return strings.Contains(watch.Output(), "in the team") })
	watch.Kill() // and the request waits on
	r.Up.Kill()
	r.Broker()
	if again := r.AwaitRow("plan"); again.Handle != first.Handle || again.Goal != "First" {
		t.Errorf("after kill -9 %+v waits", again)
	}
	if d := r.Run("reject", first.Handle, "-m", "say more"); d.Code != 0 && d.Code != 7 { // exit 7: its runner is not there
		t.Fatalf("exit %d: %s%s", d.Code, d.Out, d.Err)
	}
	second := r.awaitNext(first) // swarm up goes on with it
	r.Until("the client has ended again", func() bool { return clientsBelow(r) == "" && r.waits("api") })
	if second.Goal != "Second" || second.Revision != 2 || r.Has("early") {
		t.Errorf("the second is %+v, and touched early: %v", second, r.Has("early"))
	}
	r.Write("edited.md", "# By the leader\n")
	if d := r.Run("approve", second.Handle, "--edit-file", "edited.md"); d.Code != 0 && d.Code != 7 {
		t.Fatalf("exit %d: %s%s", d.Code, d.Out, d.Err)
	}
	r.AwaitRow("run")
	if out, err := exec.Command("pkill", "-9", "-f", "teammate resume api .*"+r.Home).CombinedOutput(); err != nil { // of this home alone
		t.Fatalf("no runner goes on with it: %v: %s", err, out)
	}
	r.Until("the client is dead", func() bool { return clientsBelow(r) == "" })
	r.Start("teammate", "resume", "api") // the client asks again what it was not told, or goes on
	r.Until("the work is done", func() bool {
		if rows := r.Inbox(); len(rows) == 1 && rows[0].Kind == "run" {
			r.Run("reject", rows[0].Handle, "-m", "not that") // it may be gone by now
		}
		return r.Has("made.txt") && !r.waits("api") && clientsBelow(r) == ""
	})
	if r.Has("asked") {
		t.Error("what was asked of a runner that was killed ran")
	}
	if d := r.Run("teammate", "resume", "api"); d.Code != 15 {
		t.Errorf("resumed what is done: exit %d: %s%s", d.Code, d.Out, d.Err)
	}
}

// waits reports whether a teammate's client has ended while its plan waits.
func (r rig) waits(name string) bool {
	found, _ := filepath.Glob(filepath.Join(r.Home, ".local/state/swarm/shop/teammates", name, "waiting.json"))
	return len(found) == 1
}

func (r rig) awaitNext(old teammatetest.Row) (row teammatetest.Row) {
	r.T.Helper()
	r.Until("a plan after "+old.Handle, func() bool {
		rows := r.Inbox()
		if len(rows) == 1 {
			row = rows[0]
		}
		return len(rows) == 1 && row.Handle != old.Handle
	})
	return row
}
