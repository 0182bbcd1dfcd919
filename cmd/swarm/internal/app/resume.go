package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// waiting is a teammate whose client has ended while its plan waits for a leader, in a file of its folder.
type waiting struct {
	V         int           `json:"v"`
	RequestID string        `json:"requestId,omitempty"`
	Options   ScriptOptions `json:"options"`
}

const waitingFile = "waiting.json"

// leaveWaiting keeps how the teammate is started again, and tells how.
func (r *scriptRunner) leaveWaiting(o ScriptOptions) error {
	w := waiting{V: version, Options: o}
	handle := "its plan"
	if v, ok := r.runner.View(); ok && v.Pending != nil {
		w.RequestID, handle = v.Pending.RequestID, mailbox.Handle(o.Name, v.Pending.RequestID, 4)
	}
	if err := writeJSON(filepath.Join(r.place.dir, waitingFile), w); err != nil {
		return err
	}
	return fail(exitPending, "waits", fmt.Sprintf("%s waits for a leader, and its client has ended", handle),
		fmt.Sprintf("swarm up goes on with it when it is decided; or: swarm teammate resume %s --watch", o.Name))
}

func (r *scriptRunner) waitsNoMore() {
	if err := os.Remove(filepath.Join(r.place.dir, waitingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.env.logger().Warn("a teammate that waits no more is still listed", "cause", err)
	}
}

// Resume goes on with a teammate whose client has ended while its plan waited: at once where the plan is decided. Where it is
// not, watch has it wait without a client; else it ends with exit 8, and the plan waits on.
func Resume(ctx context.Context, e Env, name string, watch bool) (int, error) {
	team, err := e.team()
	if err != nil {
		return 0, err
	}
	if err := mailbox.CheckMember(name); err != nil {
		return 0, fail(exitUsage, "bad_name", strings.TrimPrefix(err.Error(), "mailbox: "), "")
	}
	var w waiting
	switch err := readJSON(e.state(team).path("teammates", name, waitingFile), &w); {
	case errors.Is(err, fs.ErrNotExist):
		next := "start one with swarm teammate claude --detach"
		if names := e.waitingHere(team); len(names) > 0 {
			next = "waiting here: " + strings.Join(names, ", ")
		}
		return 0, fail(exitNotFound, "not_waiting", fmt.Sprintf("no client of %s has ended while its plan waits, on this machine", name), next)
	case err != nil:
		return 0, err
	case w.V != version || w.Options.Claude == nil || w.Options.Name != name:
		return 0, fail(exitError, "bad_file", fmt.Sprintf("how %s was started cannot be read", name), "start it again with swarm teammate claude")
	}
	return Script(ctx, e, w.resumed(watch))
}

// resumed is how the teammate is started again. It never takes its name from a runner that has it: that word was for once.
func (w waiting) resumed(watch bool) ScriptOptions {
	w.Options.Claude.Watch, w.Options.Takeover = watch, false
	return w.Options
}

// waitingHere are the teammates of a team whose clients have ended while their plans wait.
func (e Env) waitingHere(team string) []string {
	found, _ := filepath.Glob(e.state(team).path("teammates", "*", waitingFile)) // a bad pattern finds none
	var names []string
	for _, path := range found {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names
}

// How often those who wait are looked at, and how long a request is let be whose runner did not go on with it.
const (
	resumeEvery = 2 * time.Second
	resumePause = time.Minute
)

// A resumer starts the runners of teammates that wait on this machine, when their plans are decided.
type resumer struct {
	env   Env
	team  string
	open  func() []natsbox.Row // what waits on the desk
	mu    sync.Mutex
	runs  map[string]bool      // runners that were started here and run, by teammate
	tried map[string]time.Time // when a request's runner was started, by request
}

func (r *resumer) run(ctx context.Context) {
	r.runs, r.tried = map[string]bool{}, map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(resumeEvery):
			r.look()
		}
	}
}

// look starts the runner of each teammate whose request the desk does not have any more.
func (r *resumer) look() {
	names := r.env.waitingHere(r.team)
	if len(names) == 0 {
		return
	}
	open := r.open()
	for _, name := range names {
		var w waiting
		if err := readJSON(r.env.state(r.team).path("teammates", name, waitingFile), &w); err != nil {
			continue // it has just gone on
		}
		if !slices.ContainsFunc(open, func(row natsbox.Row) bool { return row.EnvelopeID == w.RequestID }) {
			r.start(name, w)
		}
	}
}

// start starts a runner, unless one that was started here runs, or has just come to nothing. It lives as long as it has
// work, whatever becomes of us.
func (r *resumer) start(name string, w waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, tried := r.tried[w.RequestID]; r.runs[name] || tried && time.Since(last) < resumePause {
		return
	}
	exe, err := os.Executable()
	cmd := exec.Command(exe, "teammate", "resume", name, "--team", r.team, "--state", r.env.Settings.State)
	cmd.Dir = w.Options.Tree
	apart(cmd)
	if err == nil {
		err = cmd.Start()
	}
	r.tried[w.RequestID] = time.Now()
	if err != nil {
		r.say(name, fmt.Sprintf("cannot be started: %v", err))
		return
	}
	r.say(name, "goes on")
	r.runs[name] = true
	go func() {
		_ = cmd.Wait() // its exit code says how
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.runs, name)
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != exitPending {
			r.say(name, fmt.Sprintf("its runner ended with exit %d: swarm logs %s", code, name))
		}
	}()
}

func (r *resumer) say(name, text string) { fmt.Fprintf(r.env.Err, "resume   %-10s %s\n", name, text) }
