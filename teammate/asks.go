package teammate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Asking is a call that a leader is asked about.
type Asking struct {
	Call     permissions.Call
	Decision permissions.Decision // with verdict Ask
}

// said is what one who waits is told.
type said struct {
	answer permissions.PermissionResponse
	err    error // the answer was for another: judge the call again
}

// asks are the calls that wait for a leader's word.
type asks struct {
	mu      sync.Mutex
	waiting map[string][]chan said                  // by request id
	analyse map[string][]permissions.CommandVerdict // by call hash, for the request
}

func (a *asks) add(id string) chan said {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[string][]chan said{}
	}
	ch := make(chan said, 1)
	a.waiting[id] = append(a.waiting[id], ch)
	return ch
}

// drop forgets one who waits, and reports whether nobody waits for the request any more.
func (a *asks) drop(id string, ch chan said) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := a.waiting[id][:0:0]
	for _, other := range a.waiting[id] {
		if other != ch {
			rest = append(rest, other)
		}
	}
	a.waiting[id] = rest
	if len(rest) > 0 {
		return false
	}
	delete(a.waiting, id)
	return true
}

func (a *asks) note(hash string, commands []permissions.CommandVerdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.analyse == nil {
		a.analyse = map[string][]permissions.CommandVerdict{}
	}
	a.analyse[hash] = commands
}

func (a *asks) forget(hash string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.analyse, hash)
}

func (a *asks) commands(hash string) []permissions.CommandVerdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.analyse[hash]
}

func (a *asks) release(e planmode.ReleaseCall) {
	if e.Withdrawn {
		a.end(e.RequestID, fmt.Errorf("%w: %s", ErrAskEnded, e.Message))
		return
	}
	answer := permissions.PermissionResponse{CallHash: e.CallHash, Behavior: permissions.BehaviorDeny, Message: e.Message}
	if e.Allow {
		answer.Behavior = permissions.BehaviorAllow
	}
	a.answer(e.RequestID, answer)
}

// end tells everybody who waits for a request that there will be no answer to it.
func (a *asks) end(id string, why error) {
	a.tell(id, func(int) said { return said{err: why} })
}

// answer gives those who wait for the request its answer, the first one. An allow is for one of them, who waits longest:
// the others judge their call again, which passes by itself where a grant covers it now.
func (a *asks) answer(id string, answer permissions.PermissionResponse) {
	a.tell(id, func(i int) said {
		if i > 0 && answer.Behavior == permissions.BehaviorAllow {
			return said{err: ErrMoved}
		}
		return said{answer: answer}
	})
}

// tell tells those who wait for a request, the longest first. Who was told already keeps the first word.
func (a *asks) tell(id string, what func(i int) said) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, ch := range a.waiting[id] {
		select {
		case ch <- what(i):
		default:
		}
	}
}

// Ask asks the leaders about one call and waits for their answer, for as long as ctx lives: no lock is held and there is
// no time limit. The same call asked twice is one question. When the last one who waits goes away, the question is
// withdrawn. [ErrUnattended] means that nobody can be asked, [ErrNotLifted] that no answer would help, [ErrAskEnded] that
// none will come; whoever asked denies. [ErrMoved] means that the same call was allowed for somebody else, and [ErrAskVoid]
// that the answer which was stored cannot be applied: judge it again.
//
// The answer is for exactly the call that Decision.Hash names: whoever carries it out judges it again and compares.
func (r *Runner) Ask(ctx context.Context, q Asking) (permissions.PermissionResponse, error) {
	if !r.cfg.Attended {
		return permissions.PermissionResponse{}, ErrUnattended
	}
	if err := r.liftable(q.Call); err != nil {
		return permissions.PermissionResponse{}, err
	}
	id, answers, err := r.ask(q)
	if err != nil {
		return permissions.PermissionResponse{}, err
	}
	gone := func() bool {
		last := r.asks.drop(id, answers)
		if last {
			r.asks.forget(q.Decision.Hash)
		}
		return last
	}
	select {
	case s := <-answers:
		gone()
		return s.answer, s.err
	case <-ctx.Done():
		if gone() {
			r.quietly(planmode.AskWithdrawn{RequestID: id, Reason: planmode.WithdrawnInterrupt})
		}
		return permissions.PermissionResponse{}, context.Cause(ctx)
	case <-r.over:
		gone()
		return permissions.PermissionResponse{}, ErrLeft
	}
}

// liftable says why no leader's word would let a call through: then nobody is bothered with it. Whose shell carries it out
// is for the leader to weigh.
func (r *Runner) liftable(call permissions.Call) error {
	v, ok := r.View()
	if !ok {
		return r.absent()
	}
	call.Foreign = false
	if d := r.DecideAnswered(v, call); d.Verdict != permissions.Allow {
		return fmt.Errorf("%w: %s", ErrNotLifted, d.Reason)
	}
	return nil
}

// ask opens the question, or joins the one that is open. Who waits is known before the answer can come.
func (r *Runner) ask(q Asking) (string, chan said, error) {
	a := planmode.Ask{
		CallHash: q.Decision.Hash, Tool: q.Call.Tool, Input: q.Call.Command, Cwd: inTree(r.cfg.Tree, q.Call.Cwd),
		Change: q.Call.Change, Runners: q.Decision.Changed,
	}
	if class := permissions.ToolClass(q.Call.Tool); a.Input == "" && class != "read" && class != "edit" {
		a.Input = inTree(r.cfg.Tree, q.Call.Path)
	} else if a.Input == "" {
		a.Input = linked(r.cfg.Tree, beside(q.Call.Cwd, q.Call.Path))
	}
	a.Argv, _ = permissions.ExactCommand(q.Call.Command)
	if v, ok := r.View(); ok {
		a.Obeys, a.OnceOnly = r.exactly(v, q.Call)
		if len(a.Runners) > 0 {
			a.Change += r.difference(a.Runners, v.Grants, a.Argv)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, open := range r.session.Asks {
		if open.CallHash == q.Decision.Hash {
			return open.RequestID, r.asks.add(open.RequestID), nil
		}
	}
	a.RequestID = r.cfg.NewRequestID()
	ch := r.asks.add(a.RequestID)
	r.asks.note(a.CallHash, q.Decision.Commands)
	if _, err := r.stepLocked(planmode.Asked{Ask: a}, nil); err != nil {
		r.asks.drop(a.RequestID, ch)
		r.asks.forget(a.CallHash)
		return "", nil, err
	}
	if len(a.Obeys) > 0 {
		r.keepRunners(a.Obeys)
	}
	return a.RequestID, ch, nil
}

// withdrawAsks closes the questions of an earlier process: nobody waits for their answers any more.
func (r *Runner) withdrawAsks() error {
	var errs []error
	for _, a := range r.snapshot().Asks {
		_, err := r.step(planmode.AskWithdrawn{RequestID: a.RequestID, Reason: planmode.WithdrawnInterrupt})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// linked is a file as leaders and rules name it, where links lead to it now: what is asked about is what would be read or
// written. A path that leads nowhere keeps its name.
func linked(tree, path string) string {
	if path == "" {
		return ""
	}
	real, err := RealPath(beside(tree, path))
	if err != nil {
		return inTree(tree, path)
	}
	return inTree(tree, real)
}

// beside is a path that is relative to a folder, if it is relative.
func beside(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// RealPath follows every link on the way to a file that may not exist yet.
func RealPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%q is a link that leads nowhere", path)
	}
	dir := filepath.Dir(path)
	if dir == path {
		return "", err
	}
	parent, err := RealPath(dir)
	return filepath.Join(parent, filepath.Base(path)), err
}

// inTree is a file as leaders and rules name it: a slash path inside the working tree, or the whole path of any other.
func inTree(tree, path string) string {
	if real, err := filepath.EvalSymlinks(tree); err == nil {
		tree = real
	}
	if rel, err := filepath.Rel(tree, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
