package execute

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaperPatience is how long a reaper that was told to kill everything may take, before it is killed itself.
const reaperPatience = killPatience + 2*time.Second

// Proc is a started target with its reaper. Its methods may be called by any number of goroutines.
type Proc struct {
	*launch
	pid         int
	enforcement Enforcement
	dead        chan struct{} // closed when everything has ended; status and survivors are final then
	status      int
	survivors   error
	done        chan struct{} // closed when all output is written too; err is final then
	err         error

	mu    sync.Mutex
	asked bool  // to kill everything, or there is nothing left to kill
	cause error // why
	timer *time.Timer
}

// Pid is the target's process id, which is its process group's too. The reaper is its parent.
func (p *Proc) Pid() int { return p.pid }

// Enforcement says how far the target is confined. Without a [Confine] it is zero.
func (p *Proc) Enforcement() Enforcement { return p.enforcement }

// Done is closed when the target and everything that it started have ended.
func (p *Proc) Done() <-chan struct{} { return p.dead }

// Wait waits until the target and everything that it started have ended and all output is written, and returns the
// target's exit status: 0 to 255, and 128 + n when signal n ended it. The error is nil when the target ended by itself,
// whatever its status. It wraps [ErrKilled] when it was killed, with the cause of the cancelled context if that was
// why, [ErrLost] when somebody killed the reaper, [ErrSurvivors], or what a writer of the output returned.
func (p *Proc) Wait() (status int, err error) {
	<-p.done
	return p.status, p.err
}

// Kill kills the target and everything that it started, also what called setsid or lost its parents, and returns when
// all of it is gone, whatever becomes of its output. The error wraps [ErrSurvivors]. Killing what has ended already does nothing.
func (p *Proc) Kill() error {
	p.ask(nil)
	<-p.dead
	return p.survivors
}

// Signal sends sig to the target's process group, as a friendly word before [Proc.Kill].
// The error is [os.ErrProcessDone] when all is over.
func (p *Proc) Signal(sig syscall.Signal) error {
	if sig <= 0 || sig > 64 {
		return syscall.EINVAL
	}
	if _, err := p.control.Write([]byte{byte(sig)}); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// ask has everything killed, without waiting. A reaper that does not do it in time is killed itself: its target dies with
// it, and the rest comes to us.
func (p *Proc) ask(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		return
	}
	p.asked, p.cause = true, cause
	p.control.Close()
	_ = p.cmd.Process.Signal(unix.SIGCONT) // in case somebody stopped it
	p.timer = time.AfterFunc(reaperPatience, func() { _ = p.cmd.Process.Kill() })
}
