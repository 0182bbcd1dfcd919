package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/gate"
)

// permits returns the permit of a line that is judged now, asking a leader where that is what it takes.
func (r *rig) permits(line string, wait bool) string {
	r.t.Helper()
	j, err := r.gate.Judge(context.Background(), permissions.Call{Tool: "Bash", Command: line, Cwd: r.tree}, wait)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.gate.Permit(j)
}

func by(permit string) gate.ExecArgs { return gate.ExecArgs{Permit: permit} }

// A permit carries out exactly what was judged, once, wherever the client stands.
func TestPermitIsUsedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass})
	id := r.permits("echo one; pwd", false)
	s := r.ask(gate.VerbExec, by(id))
	s.want(t, 0, "")
	if got := string(s.Out); got != "one\n"+r.tree+"\n" {
		t.Errorf("it printed %q, want what was judged", got)
	}
	r.ask(gate.VerbExec, by(id)).want(t, 126, "no_permit")
	r.ask(gate.VerbExec, by("made-up")).want(t, 126, "no_permit")
	r.ask(gate.VerbExec, gate.ExecArgs{Line: "echo two", Permit: r.permits("echo one", false)}).want(t, 2, "bad_request")
	if id := r.permits("rm -rf /", false); id != "" {
		t.Errorf("what is denied has the permit %q", id)
	}
}

// A permit is no verdict: what does not hold any more when the command begins is refused, and asked of nobody.
func TestPermitIsJudgedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(1)
	write(t, filepath.Join(r.tree, "a_test.go"), "package m\n")
	first, second := r.permits("go test ./...", false), r.permits("go test ./...", false)
	if first == "" || second == "" {
		t.Fatal("what is granted has no permit")
	}
	r.ask(gate.VerbExec, by(first)).want(t, 0, "") // the grant's one use
	s := r.ask(gate.VerbExec, by(second))
	s.want(t, 126, "denied")
	if !strings.Contains(s.Error.Message, "would have to be asked now") || len(r.pending()) != 0 {
		t.Errorf("%q, %d rows: want a refusal, and nobody asked", s.Error.Message, len(r.pending()))
	}
}

// What a leader allowed once runs once by its permit, and not inside of plan mode when it was allowed outside.
func TestPermitCarriesALeadersWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for _, planning := range []bool{false, true} {
		ids := make(chan string, 1)
		go func() { ids <- r.permits("touch "+map[bool]string{false: "a", true: "b"}[planning], true) }()
		until(t, "it is asked", func() bool { return len(r.pending()) == 1 })
		r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
		id := <-ids
		if planning {
			r.ask(gate.VerbEnter, nil).want(t, 0, "")
			r.ask(gate.VerbExec, by(id)).want(t, 126, "denied")
		} else {
			r.ask(gate.VerbExec, by(id)).want(t, 0, "")
		}
	}
	if !r.touched("a") || r.touched("b") {
		t.Errorf("a is there: %v, b: %v; want a alone", r.touched("a"), r.touched("b"))
	}
}

// A hook is answered where a client has one; what it cannot answer is denied.
func TestHookIsAnswered(t *testing.T) {
	t.Parallel()
	without := newRig(t, options{})
	args := gate.HookArgs{Client: "claude", Payload: json.RawMessage(`{"a":1}`)}
	without.ask(gate.VerbHook, args).want(t, 2, "unknown_verb")

	r := newRig(t, options{hook: func(_ context.Context, a gate.HookArgs) (any, error) {
		if a.Client != "claude" {
			return nil, errors.New("another client")
		}
		return map[string]any{"got": string(a.Payload), "state": planmode.Working}, nil
	}})
	s := r.ask(gate.VerbHook, args)
	s.want(t, 0, "")
	if got := result[map[string]any](t, s); got["got"] != `{"a":1}` {
		t.Errorf("the hook got %v", got)
	}
	if s := r.ask(gate.VerbHook, gate.HookArgs{Client: "x"}); s.Exit != 11 || s.Error == nil {
		t.Errorf("exit %d, %+v: want that it is denied", s.Exit, s.Error)
	}
}
