package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts s.Argv under a reaper, in a new session and a process group of its own, and returns when it runs.
// Cancelling ctx is [Proc.Kill]. The returned Proc needs no closing; its resources are freed when the target has ended.
//
// Start makes the calling process a child subreaper, so that what a killed reaper leaves behind comes to us. Should that
// ever happen, every child of this process in a session other than its own that is not a reaper is taken for such a
// stray and killed: do not start daemons past this package.
func Start(ctx context.Context, s Spec) (*Proc, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("execute: not started: %w", context.Cause(ctx))
	}
	l, err := s.launch()
	if err != nil {
		l.closeTheirs()
		l.closeOurs()
		return nil, err
	}
	p := &Proc{launch: l, dead: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error)
	go p.watch(ctx, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// launch is everything that is open while a reaper is started.
type launch struct {
	cmd     *exec.Cmd
	confine *Confine
	control *os.File // our ends
	reports *os.File
	stdin   *os.File
	copyIn  io.Reader // into stdin
	drains  []*drain
	theirs  []io.Closer
}

// launch opens what the reaper needs. On error what is open already is in the launch, for the caller to close.
func (s Spec) launch() (l *launch, err error) {
	l = &launch{confine: s.Confine}
	program, err := s.check()
	if err != nil {
		return l, err
	}
	memory, err := order{
		Program: []byte(program), Argv: bytesOf(s.Argv), Env: bytesOf(s.Env), Extra: len(s.ExtraFiles), Confine: s.Confine,
	}.memory()
	if err != nil {
		return l, err
	}
	l.theirs = append(l.theirs, memory)
	dir := s.dir
	if dir == nil {
		if dir, err = openPath(s.Dir); err != nil {
			return l, err
		}
		l.theirs = append(l.theirs, dir)
	}
	controlEnd, err := l.pipe(&l.control, true)
	if err != nil {
		return l, err
	}
	reportEnd, err := l.pipe(&l.reports, false)
	if err != nil {
		return l, err
	}
	l.cmd = &exec.Cmd{
		Path:       "/proc/self/exe", // what runs, even if another file has its name by now
		Args:       []string{"swarm", argReaper},
		Env:        []string{}, // the reaper needs none, and others could read it there
		ExtraFiles: append([]*os.File{controlEnd, reportEnd, memory, dir}, s.ExtraFiles...),
		// The parent-death signal can be caught: the reaper has others to kill first.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM},
	}
	return l, errors.Join(l.openStdin(s.Stdin), l.openOutputs(s.Stdout, s.Stderr))
}

// pipe makes a pipe of which *ours is the end that stays here, to write into or to read from.
func (l *launch) pipe(ours **os.File, write bool) (theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("execute: make a pipe: %w", err)
	}
	*ours, theirs = r, w
	if write {
		*ours, theirs = w, r
	}
	l.theirs = append(l.theirs, theirs)
	return theirs, nil
}

// openStdin gives the target the file, or a pipe that is filled from the reader. Not os/exec's own pipe: its Wait waits
// for the reader, who may be a person.
func (l *launch) openStdin(in io.Reader) (err error) {
	if in == nil {
		return nil // os/exec opens /dev/null
	}
	if f, ok := in.(*os.File); ok {
		l.cmd.Stdin = f
		return nil
	}
	l.copyIn = in
	l.cmd.Stdin, err = l.pipe(&l.stdin, true)
	return err
}

// openOutputs gives the target the files, or pipes that are emptied into the writers. Not os/exec's own pipes: its Wait
// either waits for ever for one that others hold open, or gives up on a writer that is slow.
func (l *launch) openOutputs(out, errs io.Writer) (err error) {
	if l.cmd.Stdout, err = l.openOutput(out); err != nil {
		return err
	}
	if sameWriter(out, errs) {
		l.cmd.Stderr = l.cmd.Stdout
		return nil
	}
	l.cmd.Stderr, err = l.openOutput(errs)
	return err
}

func (l *launch) openOutput(to io.Writer) (io.Writer, error) {
	if to == nil {
		return nil, nil // os/exec opens /dev/null
	}
	if f, ok := to.(*os.File); ok {
		return f, nil
	}
	var from *os.File
	theirs, err := l.pipe(&from, false)
	if err != nil {
		return nil, err
	}
	l.drains = append(l.drains, newDrain(from, to))
	return theirs, nil
}

// sameWriter compares writers of which not all can be compared.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

// move starts to carry what goes in and out.
func (l *launch) move() {
	for _, d := range l.drains {
		go d.run()
	}
	if l.stdin == nil {
		return
	}
	go func() {
		_, _ = io.Copy(l.stdin, l.copyIn)
		l.stdin.Close()
	}()
}

func (l *launch) closeTheirs() {
	for _, c := range l.theirs {
		c.Close()
	}
}

func (l *launch) closeOurs() {
	for _, f := range []*os.File{l.control, l.reports, l.stdin} {
		if f != nil {
			f.Close()
		}
	}
	for _, d := range l.drains {
		d.from.Close()
	}
}

// watch starts the reaper, says on started whether the target runs, and sees everything end.
func (p *Proc) watch(ctx context.Context, started chan<- error) {
	// The reaper gets its parent-death signal when the thread that forked it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.startReaper()
	p.closeTheirs() // with our copies open the pipes would never end
	if err != nil {
		p.closeOurs()
		started <- fmt.Errorf("execute: start the reaper: %w", err)
		return
	}
	stop := context.AfterFunc(ctx, func() { p.ask(context.Cause(ctx)) })
	defer stop()
	p.move()
	dec := json.NewDecoder(p.reports)
	if err = p.first(dec); err == nil {
		started <- nil
	} else {
		p.ask(err)
	}
	p.waitReaper()
	p.finish(dec)
	p.finishOutput()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		started <- err
	}
}

// first takes in whether the target runs, and how far it is confined.
func (p *Proc) first(dec *json.Decoder) error {
	var r report
	if err := dec.Decode(&r); err != nil {
		return fmt.Errorf("%w before it could start anything: %w", ErrLost, err)
	}
	if err := r.err(); err != nil {
		return err
	}
	p.pid = r.Pid
	if c := p.confine; c != nil {
		p.enforcement = Enforcement{Enforced: r.ABI > 0, ABI: r.ABI, Open: append(Open(r.ABI, c.Network), r.Open...)}
	}
	return nil
}

// finish takes in how everything ended, when the reaper has.
func (p *Proc) finish(dec *json.Decoder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	var r report
	lost := dec.Decode(&r) != nil || !r.Over
	if lost {
		r.Status, r.Killed, r.Survivors = killedStatus, true, sweep()
	}
	p.status = r.Status
	if r.Killed {
		p.err = p.whyKilled(lost)
	}
	if len(r.Survivors) > 0 {
		p.survivors = fmt.Errorf("%w: %v: end them by hand", ErrSurvivors, r.Survivors)
	}
	p.asked = true
	close(p.dead)
}

// finishOutput waits until all output is written. A writer may take its time: nothing of the target is left.
func (p *Proc) finishOutput() {
	p.err = errors.Join(p.err, p.survivors)
	for _, d := range p.drains {
		p.err = errors.Join(p.err, d.finish())
	}
	p.closeOurs()
	close(p.done)
}

// whyKilled is the error of a target that did not end by itself.
func (p *Proc) whyKilled(lost bool) error {
	switch {
	case p.cause != nil:
		return fmt.Errorf("%w: %w", ErrKilled, p.cause)
	case lost && !p.asked:
		return ErrLost
	}
	return ErrKilled
}

// openPath opens a directory as a place, without the right to read it.
func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("execute: open directory %q: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}
