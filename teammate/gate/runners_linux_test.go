package gate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/gate"
)

const makefile = "test:\n\t@echo the tests ran >> ran\n"

// makes brings the teammate to work on an approved plan that may run tests, in a tree whose tests are make's.
func (r *rig) makes(plan string) {
	r.t.Helper()
	write(r.t, filepath.Join(r.tree, "Makefile"), makefile)
	r.ask(gate.VerbEnter, nil).want(r.t, 0, "")
	write(r.t, r.store.WorkFile(), plan)
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Prompts: []string{"run tests"}}).want(r.t, 0, "")
	r.approve(9)
	r.ask(gate.VerbWait, gate.WaitArgs{}).want(r.t, 0, "")
}

// execs runs a line in the background.
func (r *rig) execs(line string) <-chan said {
	ran := make(chan said, 1)
	go func() { ran <- r.ask(gate.VerbExec, run(line)) }()
	return ran
}

func (r *rig) ran() int {
	raw, err := os.ReadFile(filepath.Join(r.tree, "ran"))
	if err != nil {
		return 0
	}
	return strings.Count(string(raw), "\n")
}

// A Makefile that is another one than at submit: the granted command asks and shows the difference, an answer is for
// exactly that content and for one call, and after a second change it is asked anew.
func TestChangedMakefileAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.makes("# Fix it\n\n- [ ] change `a.go`\n")
	r.ask(gate.VerbExec, run("make test")).want(t, 0, "")
	if r.ran() != 1 {
		t.Fatalf("the tests ran %d times, want once, unasked", r.ran())
	}
	write(t, filepath.Join(r.tree, "Makefile"), makefile+"\t@echo and more >> ran\n")
	asked := r.execs("make test")
	row := r.open()
	change := row.Permission.Change
	for _, want := range []string{"Makefile has changed", "+\t@echo and more >> ran\n", " \t@echo the tests ran >> ran\n"} {
		if !strings.Contains(change, want) {
			t.Errorf("the leader is shown\n%s\nwant %q in it", change, want)
		}
	}
	if s := r.status(); len(s.Asks) != 1 || s.Asks[0].RequestID != row.EnvelopeID || s.Asks[0].Input != "make test" {
		t.Errorf("the status has the asks %+v, want the one", s.Asks)
	}
	r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
	(<-asked).want(t, 0, "")
	if r.ran() != 3 {
		t.Fatalf("after the answer the file has %d lines, want two more", r.ran())
	}

	// Once is once; and what changes between question and answer is asked anew.
	asked = r.execs("make test")
	old := r.open()
	write(t, filepath.Join(r.tree, "Makefile"), makefile+"\t@echo evil >> ran\n")
	r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
	row = r.open() // asked anew
	if !strings.Contains(row.Permission.Change, "+\t@echo evil >> ran\n") || row.Permission.CallHash == old.Permission.CallHash {
		t.Errorf("asked anew with\n%s\nwant what it is now", row.Permission.Change)
	}
	if r.ran() != 3 {
		t.Fatal("it ran on the answer to another content")
	}
	r.answer(permissions.BehaviorDeny, "")
	(<-asked).want(t, 126, "denied")

	// As it was: no question.
	write(t, filepath.Join(r.tree, "Makefile"), makefile)
	r.ask(gate.VerbExec, run("make test")).want(t, 0, "")
	if r.ran() != 4 {
		t.Errorf("the file has %d lines, want one more", r.ran())
	}
}

// Allowed for the plan: this content is good from now on, and no other.
func TestChangedMakefileForThePlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.makes("# Fix it\n")
	write(t, filepath.Join(r.tree, "Makefile"), makefile+"\t@echo and more >> ran\n")
	asked := r.execs("make test")
	r.open()
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	(<-asked).want(t, 0, "")
	r.ask(gate.VerbExec, run("make test")).want(t, 0, "")
	if g := r.status().Grants; len(g) != 1 || len(g[0].Argv) != 0 || g[0].Uses != 2 {
		t.Errorf("grants are %+v, want the one of the plan with two uses", g)
	}
	write(t, filepath.Join(r.tree, "Makefile"), makefile+"\t@echo evil >> ran\n")
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "make test"}).want(t, 12, "")
}

// A file that the plan names may change, and one that it names may come; others may not come either.
func TestPlannedMakefileDoesNotAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{unattended: true})
	r.makes("# Fix it\n\n- [ ] change `Makefile`\n- [ ] write `web/Makefile`\n")
	write(t, filepath.Join(r.tree, "Makefile"), makefile+"\t@echo and more >> ran\n")
	r.ask(gate.VerbExec, run("make test")).want(t, 0, "")
	write(t, filepath.Join(r.tree, "web", "Makefile"), makefile)
	r.ask(gate.VerbExec, run("cd web && make test")).want(t, 0, "")
	write(t, filepath.Join(r.tree, "GNUmakefile"), makefile)
	s := r.ask(gate.VerbExec, run("make test"))
	s.want(t, 126, "denied")
	if !strings.Contains(s.Error.Message, "GNUmakefile") {
		t.Errorf("refused with %q, want that it names the file", s.Error.Message)
	}
}

// A runner file is found in every folder, but not where trees of others lie; one that cannot be kept is told without its
// text; one behind a link out of the tree is known by its digest alone.
func TestRunnerFilesAreFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for _, at := range []string{"a/b/c/Makefile", ".git/Makefile", "node_modules/x/Makefile", "web/package.json"} {
		write(t, filepath.Join(r.tree, at), "# "+at+"\n")
	}
	big := strings.Repeat("# x\n", 100_000)
	write(t, filepath.Join(r.tree, "big", "Makefile"), makefile+big)
	outside := realDir(t)
	write(t, filepath.Join(outside, "secret"), makefile+"# secret\n")
	if err := os.MkdirAll(filepath.Join(r.tree, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(r.tree, "out", "Makefile")
	if err := os.Symlink(filepath.Join(outside, "secret"), link); err != nil {
		t.Fatal(err)
	}
	r.makes("# Fix it\n")
	var paths []string
	for _, f := range r.status().Grants[0].Runners {
		paths = append(paths, f.Path)
		if f.Digest == "" || f.Planned {
			t.Errorf("recorded is %+v, want a digest, not planned", f)
		}
	}
	if got := strings.Join(paths, " "); got != "Makefile big/Makefile out/Makefile web/package.json a/b/c/Makefile" {
		t.Errorf("recorded are %s", got)
	}
	for at, want := range map[string]string{"big": "what it was is not kept", "out": "not shown"} {
		name := filepath.Join(r.tree, at, "Makefile")
		if at == "out" {
			name = filepath.Join(outside, "secret")
		}
		write(t, name, makefile+"# changed\n")
		asked := r.execs("cd " + at + " && make test")
		change := r.open().Permission.Change
		if !strings.Contains(change, want) || len(change) > 100_000 || at == "out" && strings.Contains(change, "# changed") {
			t.Errorf("%s: the leader is shown\n%.500s\nwant %q in it", at, change, want)
		}
		r.answer(permissions.BehaviorDeny, "")
		(<-asked).want(t, 126, "denied")
	}
}

// Allowed for the plan, exactly this command: it runs unasked while its Makefile is the one that was there when it was asked,
// and asks with the difference when it is another.
func TestExactCommandHoldsItsMakefile(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(9)
	write(t, filepath.Join(r.tree, "Makefile"), "deploy:\n\t@echo it ran >> ran\n")
	asked := r.execs("make deploy")
	r.open()
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	(<-asked).want(t, 0, "")
	r.ask(gate.VerbExec, run("make deploy")).want(t, 0, "")
	if g := r.status().Grants; len(g) != 2 || len(g[1].Runners) != 1 || g[1].Runners[0].Path != "Makefile" || r.ran() != 2 {
		t.Fatalf("grants are %+v after %d runs, want the Makefile in the second, and two", g, r.ran())
	}
	write(t, filepath.Join(r.tree, "Makefile"), "deploy:\n\t@echo evil >> ran\n")
	asked = r.execs("make deploy")
	change := r.open().Permission.Change
	for _, want := range []string{"Makefile has changed since exactly this command was allowed for the plan (-1 +1 lines", "-\t@echo it ran >> ran\n+\t@echo evil >> ran\n"} {
		if !strings.Contains(change, want) {
			t.Errorf("the leader is shown\n%s\nwant %q in it", change, want)
		}
	}
	if r.ran() != 2 {
		t.Fatal("it ran unasked after the Makefile had changed")
	}
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	(<-asked).want(t, 0, "")
	r.ask(gate.VerbExec, run("make deploy")).want(t, 0, "")
	if g := r.status().Grants; len(g) != 2 || r.ran() != 4 {
		t.Errorf("%d grants after %d runs, want the same two, and four", len(g), r.ran())
	}
	write(t, filepath.Join(r.tree, "GNUmakefile"), "deploy:\n\t@echo evil >> ran\n")
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "make deploy"}).want(t, 12, "")
}

// The Makefile that changes between question and answer: the answer for the plan is for what it was, and the call is asked
// anew.
func TestMakefileChangesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(9)
	write(t, filepath.Join(r.tree, "Makefile"), "deploy:\n\t@echo it ran >> ran\n")
	asked := r.execs("make deploy")
	first := r.open()
	write(t, filepath.Join(r.tree, "Makefile"), "deploy:\n\t@echo evil >> ran\n")
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	until(t, "asked anew", func() bool {
		rows := r.pending()
		return len(rows) == 1 && rows[0].EnvelopeID != first.EnvelopeID
	})
	if r.ran() != 0 {
		t.Fatal("it ran what was not there when it was asked")
	}
	r.answer(permissions.BehaviorDeny, "")
	(<-asked).want(t, 126, "denied")
}

// What cannot be remembered cannot be allowed for the plan: the answer is refused with the reason, and it can be allowed once.
func TestWhatCannotBeRememberedIsAllowedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(9)
	write(t, filepath.Join(r.tree, "Makefile"), "deploy:\n\t@echo it ran >> ran\n")
	asked := r.execs("make deploy > out.txt")
	first := r.open()
	until(t, "its status", func() bool { return r.told().OnceOnly[first.EnvelopeID] != "" })
	s := r.told()
	if !s.ForPlan || !strings.Contains(s.OnceOnly[first.EnvelopeID], "writes out.txt") {
		t.Errorf("the status says %t, %q, want that a call can be allowed for the plan, and why not this one", s.ForPlan, s.OnceOnly)
	}
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	until(t, "asked again", func() bool {
		rows := r.pending()
		return len(rows) == 1 && rows[0].EnvelopeID != first.EnvelopeID
	})
	r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
	(<-asked).want(t, 0, "")
}

// told is the teammate's status, as the leaders have it.
func (r *rig) told() planmode.Status {
	r.t.Helper()
	var all []natsbox.Presence
	if err := r.anna.Call(r.t.Context(), natsbox.VerbPresence, nil, &all); err != nil {
		r.t.Fatal(err)
	}
	var s planmode.Status
	for _, p := range all {
		if p.Name == "api" && len(p.Status) > 0 {
			if err := json.Unmarshal(p.Status, &s); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return s
}

// Allowed for the plan where there is none: the call is asked again instead of denied; somebody who does so again and again
// does not keep it for ever.
func TestVoidAnswerAsksAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for _, verb := range []string{"exec", "check"} {
		asked := make(chan said, 1)
		go func() {
			if verb == "exec" {
				asked <- r.ask(gate.VerbExec, run("touch x"))
			} else {
				asked <- r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "touch x", Wait: true})
			}
		}()
		seen := map[string]bool{}
		answer := func(scope permissions.Scope) {
			until(t, "another question", func() bool {
				rows := r.pending()
				return len(rows) == 1 && !seen[rows[0].EnvelopeID]
			})
			seen[r.open().EnvelopeID] = true
			r.answer(permissions.BehaviorAllow, scope)
		}
		for range 5 {
			answer(permissions.ScopePlan)
		}
		s := <-asked
		if exit := map[string]int{"exec": 126, "check": 11}[verb]; s.Exit != exit || s.Error == nil || !strings.Contains(s.Error.Message, "no plan is being carried out") {
			t.Errorf("%s: after five void answers exit %d, %+v, want denied with the reason", verb, s.Exit, s.Error)
		}
		until(t, "nothing open", func() bool { return len(r.pending()) == 0 })
		if r.touched("x") {
			t.Error("it ran")
		}
		if r.told().ForPlan {
			t.Error("the status says that a call can be allowed for the plan, and there is none")
		}
	}
	asked := r.execs("touch x")
	first := r.open()
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	until(t, "asked again", func() bool {
		rows := r.pending()
		return len(rows) == 1 && rows[0].EnvelopeID != first.EnvelopeID
	})
	r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
	(<-asked).want(t, 0, "")
	if !r.touched("x") {
		t.Error("allowed once after a void answer, it did not run")
	}
}

// A grant that is used up, or counts elsewhere, is why a call is asked.
func TestWhyAGrantDoesNotCover(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{unattended: true})
	r.works(1)
	r.ask(gate.VerbExec, run("go version; go test ./none")) // whatever comes of it, it is a use
	s := r.ask(gate.VerbExec, run("go test ./none"))
	s.want(t, 126, "denied")
	if !strings.Contains(s.Error.Message, `the grant "run tests" is used up (1 of 1)`) {
		t.Errorf("refused with %q, want that it is used up", s.Error.Message)
	}
	r.ask(gate.VerbWithdraw, nil).want(t, 10, "nothing_open")
}
