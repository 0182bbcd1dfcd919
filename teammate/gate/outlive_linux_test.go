package gate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/gate"
)

// What a grant's last use has started, or an answer for once, ends with the plan and with a revocation.
func TestNothingOutlivesItsPlan(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		once bool
		end  func(*rig, string)
	}{
		"used up, all revoked": {false, func(r *rig, _ string) { r.revokes(planmode.GrantRevoked{All: true}) }},
		"used up, it revoked":  {false, func(r *rig, id string) { r.revokes(planmode.GrantRevoked{GrantID: id}) }},
		"used up, done":        {false, func(r *rig, _ string) { r.ask(gate.VerbDone, nil).want(r.t, 0, "") }},
		"once, all revoked":    {true, func(r *rig, _ string) { r.revokes(planmode.GrantRevoked{All: true}) }},
		"once, done":           {true, func(r *rig, _ string) { r.ask(gate.VerbDone, nil).want(r.t, 0, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, options{})
			write(t, filepath.Join(r.tree, "Makefile"), "test:\n\t@touch started; sleep 60\n")
			r.ask(gate.VerbEnter, nil).want(t, 0, "")
			write(t, r.store.WorkFile(), "# Fix it\n")
			r.ask(gate.VerbSubmit, gate.SubmitArgs{Prompts: []string{"run tests"}}).want(t, 0, "")
			r.approve(1)
			r.ask(gate.VerbWait, gate.WaitArgs{}).want(t, 0, "")
			id, line := r.status().Grants[0].ID, "make test"
			if row.once {
				line = "touch started; sleep 60"
			}
			ran := r.execs(line)
			if row.once {
				r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
			}
			until(t, "it runs", func() bool { return exists(filepath.Join(r.tree, "started")) })
			row.end(r, id)
			(<-ran).want(t, 137, "stopped")
		})
	}
}

func (r *rig) revokes(g planmode.GrantRevoked) {
	g.OrderHead, g.Counter = r.head(0), 1
	r.put("", mailbox.KindGrantRevoked, 0, g)
}

// For the plan is for the folder that was shown, and neither for the tree around it nor for a folder below.
func TestForThePlanIsForItsFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(9)
	write(t, filepath.Join(r.tree, "sub", "below", "a"), "")
	p := r.newProcessIn(filepath.Join(r.tree, "sub"))
	t.Cleanup(p.end)
	p.send(t, r.socket, gate.VerbExec, run("touch x"))
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	var s said
	if err := p.out.Decode(&s); err != nil {
		t.Fatal(err)
	}
	s.want(t, 0, "")
	if g := r.status().Grants; len(g) != 2 || g[1].Tree != "sub" {
		t.Fatalf("grants are %+v, want one for sub", g)
	}
	for line, exit := range map[string]int{"cd sub && touch x": 0, "touch x": 12, "cd sub/below && touch x": 12} {
		if s := r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: line}); s.Exit != exit {
			t.Errorf("check(%s) = %d, want %d", line, s.Exit, exit)
		}
	}
}

// What was asked in plan mode is asked no more when plan mode ends.
func TestAskOfPlanModeEndsWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.ask(gate.VerbEnter, nil).want(t, 0, "")
	asked := r.execs("./x.sh a")
	id := r.open().EnvelopeID
	write(t, r.store.WorkFile(), "# Fix it\n")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Prompts: []string{"run tests"}}).want(t, 0, "")
	until(t, "a plan beside it", func() bool { return len(r.pending()) == 2 })
	for _, row := range r.pending() {
		if row.EnvelopeID != id {
			r.approves(row, 9)
		}
	}
	s := <-asked
	if s.Exit != 126 || s.Error == nil || !strings.Contains(s.Error.Message, "replanned") {
		t.Errorf("it ended with %d, %+v, want denied", s.Exit, s.Error)
	}
	until(t, "withdrawn", func() bool {
		got, err := r.anna.Request(t.Context(), id)
		return err == nil && got.Withdrawn != "" && len(r.status().Asks) == 0
	})
}

// swapping is the disk on which a file is another one right after it was judged.
type swapping struct {
	execute.Resolver
	file, now string
	armed     atomic.Bool
}

func (s *swapping) Digest(file string) (string, error) {
	sum, err := s.Resolver.Digest(file)
	if file == s.file && s.armed.Load() {
		err = errors.Join(err, os.WriteFile(file, []byte(s.now), 0o600))
	}
	return sum, err
}

// A runner file that has changed is allowed as the leader saw it: what it becomes between the last look and the start is
// not carried out.
func TestChangedMakefileRunsAsItWasSeen(t *testing.T) {
	t.Parallel()
	disk := &swapping{now: makefile + "\t@echo evil >> ran\n"}
	r := newRig(t, options{resolver: disk})
	r.makes("# Fix it\n")
	disk.file = filepath.Join(r.tree, "Makefile")
	write(t, disk.file, makefile+"\t@echo and more >> ran\n")
	asked := r.execs("make test")
	r.open()
	disk.armed.Store(true)
	r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
	s := <-asked
	if s.Exit != 126 || r.ran() != 0 || s.Error == nil || !strings.Contains(s.Error.Message, "runner file changed") {
		t.Errorf("it ran %d lines and ended with %d, %+v, want refused", r.ran(), s.Exit, s.Error)
	}
}

// What a grant's last use has started ends in the grant's time.
func TestLastUseEndsInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	write(t, filepath.Join(r.tree, "Makefile"), "test:\n\t@touch started; sleep 60\n")
	r.ask(gate.VerbEnter, nil).want(t, 0, "")
	write(t, r.store.WorkFile(), "# Fix it\n")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Prompts: []string{"run tests"}}).want(t, 0, "")
	r.lives = 20 * time.Second // enough for a slow machine to begin
	r.approve(1)
	r.ask(gate.VerbWait, gate.WaitArgs{}).want(t, 0, "")
	s := r.ask(gate.VerbExec, run("make test"))
	s.want(t, 137, "stopped")
	if !strings.Contains(s.Error.Message, "expired") || !exists(filepath.Join(r.tree, "started")) {
		t.Errorf("it was told %q, want that its grant has expired", s.Error.Message)
	}
}
