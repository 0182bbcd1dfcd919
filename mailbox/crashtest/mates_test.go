package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// work is what a teammate was told to do, over all its processes.
type work struct {
	name  string
	peers []string
	tasks []task

	mu   sync.Mutex
	n    int  // the task it is at
	once bool // this task's trick was played
	done chan struct{}
}

type task string

const (
	taskPlan     task = "plan"
	taskRejected task = "rejected"
	taskRevise   task = "revise"
	taskWithdraw task = "withdraw"
	taskMail     task = "mail"
	taskQuestion task = "question"
	taskCall     task = "call"
)

// rejectMe in a plan has its first revision rejected.
const rejectMe = "untested"

func (k *work) now() (task, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tasks[k.n%len(k.tasks)], k.n
}

func (k *work) next() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n++
	k.once = false
}

// trick reports whether this task's trick is still to be played.
func (k *work) trick() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := !k.once
	k.once = true
	return first
}

// engine judges calls: the same one for everybody, since it keeps nothing.
var engine = sync.OnceValue(func() *permissions.Engine {
	return permissions.New(permissions.Config{Resolver: execute.Resolver{}, BaseEnv: []string{"PATH=/usr/bin:/bin"}})
})

// mate is one process of a teammate: a runner and its agent.
type mate struct {
	*teammate.Runner
	*life
	w     *world
	work  *work
	dir   string
	store *plandir.Store
	box   *natsbox.Conn
	stop  context.CancelCauseFunc
	ended chan struct{}
}

func (m *mate) border() *life { return m.life }

func (m *mate) join() {
	m.stop(teammate.ErrDetach)
	<-m.ended
}

func (m *mate) succeed(s strike) func() {
	m.cut()
	to := m.w.disk(m.work.name)
	copyDisk(m.w.t, m.dir, to)
	if s.torn {
		tearJournal(m.w.t, to, s.how)
	}
	m.stop(teammate.ErrDetach) // before it unwinds: what ends of itself is a fault
	m.bury()
	return func() {
		m.join()
		m.w.startMate(m.work, to)
	}
}

func (w *world) startMate(k *work, dir string) {
	w.t.Helper()
	m := &mate{life: newLife(k.name), w: w, work: k, dir: dir, ended: make(chan struct{})}
	j, err := journal.Open(dir, journal.Config{RewriteAfter: 1 << 30})
	w.check(err)
	if s, ok := j.Session(); ok {
		w.check(s.Check())
	}
	m.store, err = plandir.Open(dir)
	w.check(err)
	tree := filepath.Join(w.root, "tree")
	w.check(os.MkdirAll(tree, 0o700))
	ctx, stop := context.WithCancelCause(context.Background())
	m.stop = stop
	w.put(k.name, m)
	go func() {
		defer close(m.ended)
		defer func() { _ = errors.Join(j.Close(), m.store.Close()) }()
		if m.box, err = w.connect(ctx, k.name, m.life); err != nil {
			return
		}
		defer m.box.Close()
		m.Runner, err = teammate.New(teammate.Config{
			Name: k.name, Team: team, Owner: w.owner, Tree: tree, Mode: permissions.ModeDefault, Agent: client{m},
			Box: post{m.box, m.life}, Journal: disk{j, m.life}, Store: shelf{m.store, m.life}, Home: "/nonexistent",
			Engine:   engine(),
			Attended: true, Dir: dir, Instance: k.name + "-1", Client: "test", EnforcedBy: "nobody", Logger: w.log,
		})
		if err != nil {
			w.notes.odd(fmt.Sprintf("%s: %v", k.name, err))
			return
		}
		var agent sync.WaitGroup
		inner, cancel := context.WithCancel(ctx)
		agent.Go(func() { m.labour(inner) })
		agent.Go(func() { m.read(inner) })
		err := m.Run(ctx)
		if ctx.Err() == nil {
			w.notes.odd(fmt.Sprintf("%s ended: %v", k.name, err))
		}
		cancel()
		agent.Wait()
	}()
}

// labour goes on with what the teammate was told to do, wherever the session stands.
func (m *mate) labour(ctx context.Context) {
	select {
	case <-m.Ready():
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		if m.w.isEnding() {
			m.finish(ctx)
			return
		}
		kind, n := m.work.now()
		if m.try(ctx, kind, n) && m.cross() {
			m.work.next()
		}
		sleep(ctx, 50*time.Millisecond)
	}
}

// finish brings the last plan to its end: nobody is left waiting.
func (m *mate) finish(ctx context.Context) {
	for ctx.Err() == nil {
		s, err := m.Status()
		if err == nil && s.State == planmode.Working && s.Approved == nil {
			break
		}
		m.plan(ctx, taskPlan, -1)
		sleep(ctx, 50*time.Millisecond)
	}
	if ctx.Err() == nil && m.cross() {
		close(m.work.done)
	}
}

// try works on a task and reports whether it is done.
func (m *mate) try(ctx context.Context, kind task, n int) bool {
	switch kind {
	case taskMail:
		to := m.work.peers[n%len(m.work.peers)]
		id, err := m.SendMail(ctx, to, mailbox.Message{Text: fmt.Sprintf("task %d of %s", n, m.work.name)})
		if err == nil && m.cross() {
			m.w.notes.acknowledged(m.work.name, to, id)
		}
		return err == nil
	case taskQuestion:
		r, err := m.AskQuestion(ctx, fmt.Sprintf("question %d?", n), nil)
		return err == nil && r.Answered
	case taskCall:
		return m.call(ctx, n)
	}
	return m.plan(ctx, kind, n)
}

// call asks a leader about one command, where that can be asked.
func (m *mate) call(ctx context.Context, n int) bool {
	v, ok := m.View()
	if !ok {
		return false
	}
	call := permissions.Call{Tool: "Bash", Command: fmt.Sprintf("touch file%d", n), Cwd: v.Tree}
	d := m.Decide(v, call)
	if d.Verdict != permissions.Ask {
		return true
	}
	_, err := m.Ask(ctx, teammate.Asking{Call: call, Decision: d})
	return err == nil
}

// plan takes the next step with a plan, and reports whether it was carried out.
func (m *mate) plan(ctx context.Context, kind task, n int) bool {
	s, err := m.Status()
	if err != nil || !m.cross() {
		return false
	}
	switch {
	case s.State == planmode.AwaitingLeaderApproval:
		m.await(ctx, kind, n)
	case s.State == planmode.Planning:
		_ = m.submit(ctx, kind, n, "")
	case s.Approved != nil:
		return m.carryOut(ctx, s, n)
	default:
		_ = m.Enter(ctx, planmode.ByAgent)
	}
	return false
}

// await waits for the decision, or plays the task's trick first.
func (m *mate) await(ctx context.Context, kind task, n int) {
	switch {
	case kind == taskRevise && m.work.trick():
		_ = m.submit(ctx, kind, n, "better")
	case kind == taskWithdraw && m.work.trick():
		_ = m.Withdraw(ctx)
	default:
		_, _ = m.WaitDecision(ctx, 0)
	}
}

func (m *mate) submit(ctx context.Context, kind task, n int, more string) error {
	text := fmt.Sprintf("# Task %d of %s\n\n- [ ] change `a.go` %s\n", n, m.work.name, more)
	if kind == taskRejected {
		text += rejectMe + "\n"
	}
	if err := os.WriteFile(m.store.WorkFile(), []byte(text), 0o600); err != nil {
		return err
	}
	_, err := m.Submit(ctx, teammate.Submission{Prompts: []string{"commit"}})
	return err
}

// carryOut uses a grant, and is done.
func (m *mate) carryOut(ctx context.Context, s teammate.Status, n int) bool {
	for _, g := range s.Grants {
		if g.Digest != s.Approved.Digest {
			m.w.notes.odd(fmt.Sprintf("%s has a grant of another plan: %+v", m.work.name, g))
		}
		err := m.Use(ctx, []string{g.ID}, fmt.Sprint("call ", n))
		if err == nil && m.cross() {
			m.w.notes.ran(m.work.name, g.ID)
		}
	}
	sleep(ctx, 100*time.Millisecond)
	if err := m.Done(ctx); err != nil {
		return false
	}
	if v, ok := m.View(); ok && v.Approved == nil && len(v.Grants) > 0 {
		m.w.notes.odd(fmt.Sprintf("%s has grants without a plan: %+v", m.work.name, v.Grants))
	}
	return true
}

// read shows the agent its mail.
func (m *mate) read(ctx context.Context) {
	select {
	case <-m.Ready():
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		letters, err := m.ReceiveMail(ctx, 2)
		for _, l := range letters {
			if m.cross() {
				m.w.notes.show(l.From, m.work.name, l.ID)
			}
		}
		if err != nil {
			sleep(ctx, 50*time.Millisecond)
		}
	}
}

// client is the agent's program, which does as it is told.
type client struct{ m *mate }

func (c client) SetMode(_ context.Context, mode permissions.Mode) (permissions.Mode, error) {
	if !c.m.cross() {
		return "", errKilled
	}
	return mode, nil
}

func (c client) Notify(context.Context, planmode.Notify) error {
	if !c.m.cross() {
		return errKilled
	}
	return nil
}
func (c client) StopAgent(context.Context, string) error             { return nil }
func (c client) KillStarted(context.Context, []string, string) error { return nil }

// disk is a journal that its process may be killed beside: before a line is written, and after.
type disk struct {
	*journal.Journal
	l *life
}

func (d disk) Append(ev planmode.Event, next planmode.Session, effects []planmode.Effect, at time.Time) (uint64, error) {
	if !d.l.cross() {
		return 0, errKilled
	}
	seq, err := d.Journal.Append(ev, next, effects, at)
	if !d.l.cross() {
		return 0, errKilled
	}
	return seq, err
}

func (d disk) Done(seq uint64) error {
	if !d.l.cross() {
		return errKilled
	}
	return d.Journal.Done(seq)
}

// shelf is a plan store that its process may be killed beside.
type shelf struct {
	*plandir.Store
	l *life
}

func (s shelf) Snapshot(planID string, revision int, p plans.Plan) (plans.Ref, error) {
	if !s.l.cross() {
		return plans.Ref{}, errKilled
	}
	return s.Store.Snapshot(planID, revision, p)
}

func (s shelf) WriteWork(content []byte) error {
	if !s.l.cross() {
		return errKilled
	}
	return s.Store.WriteWork(content)
}
