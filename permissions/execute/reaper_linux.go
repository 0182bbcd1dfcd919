package execute

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	statusNotRun = 126             // of a reaper that could not start its target
	killPatience = 5 * time.Second // how long children may take to die of SIGKILL
	killedStatus = 128 + 9         // of a target that nobody saw end
)

// reaper is the process between the runner and the target. All its work is done by one goroutine, on one thread: the
// target's parent-death signal follows that thread.
type reaper struct {
	order   order
	control <-chan syscall.Signal // signals for the target; closed: kill everything
	stop    chan os.Signal
	child   chan os.Signal
	report  *os.File
	pid     int // of the target
	status  int
	ended   bool
}

// reaperMain is the whole life of a reaper. It returns the exit status: the target's own.
func reaperMain() int {
	runtime.LockOSThread()
	r := &reaper{
		stop:   make(chan os.Signal, 1),
		child:  make(chan os.Signal, 1),
		report: os.NewFile(fdReport, "report"),
		status: killedStatus,
	}
	signal.Notify(r.stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	signal.Notify(r.child, unix.SIGCHLD)
	r.control = listen(os.NewFile(fdControl, "control"))
	if err := r.prepare(); err != nil {
		report{Err: err.Error()}.send(r.report)
		return statusNotRun
	}
	first := r.start()
	first.send(r.report)
	if first.err() != nil {
		r.killAll()
		return statusNotRun
	}
	letGo()
	killed := r.wait()
	survivors := r.killAll()
	report{Over: true, Status: r.status, Killed: killed, Survivors: survivors}.send(r.report)
	return r.status
}

// prepare makes this process one that strays come to, that other processes of the user cannot look into, and whose
// children cannot change who they are. The last is of the thread that forks.
func (r *reaper) prepare() (err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close own memory: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	if r.order, err = readOrder(fdOrder); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	if err := unix.Fchdir(fdDir); err != nil {
		return fmt.Errorf("enter the directory: %w", err)
	}
	return nil
}

// listen hands on what comes through the control pipe, and closes the channel when the pipe ends.
func listen(control *os.File) <-chan syscall.Signal {
	out := make(chan syscall.Signal)
	go func() {
		defer close(out)
		var b [1]byte
		for {
			if n, err := control.Read(b[:]); n != 1 || err != nil {
				return
			}
			out <- syscall.Signal(b[0])
		}
	}()
	return out
}

// letGo gives up the target's standard streams, so that their other ends see the target's end.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0)
	}
	for fd := fdOrder; fd < fdExtra; fd++ {
		unix.Close(fd)
	}
}

// start forks the target, or the stage that becomes it, and says what became of it.
func (r *reaper) start() report {
	files := []uintptr{0, 1, 2}
	for i := range r.order.Extra {
		files = append(files, uintptr(fdExtra+i))
	}
	defer func() {
		for _, fd := range files[3:] {
			unix.Close(int(fd))
		}
	}()
	if r.order.Confine != nil {
		return r.startConfined(files)
	}
	name := string(r.order.Program)
	pid, err := fork(name, stringsOf(r.order.Argv), stringsOf(r.order.Env), files)
	if err != nil {
		return failed(fmt.Sprintf("start %q", name), err)
	}
	r.pid = pid
	return report{Pid: pid}
}

// startConfined forks our binary once more. It says through a pipe how far it is confined, and the pipe ends when it has
// become the target.
func (r *reaper) startConfined(files []uintptr) report {
	out, in, err := os.Pipe()
	if err != nil {
		return failed("make a pipe", err)
	}
	defer out.Close()
	argv := []string{"swarm", argConfine, strconv.Itoa(len(files)), strconv.Itoa(len(files) + 1)}
	pid, err := fork("/proc/self/exe", argv, nil, append(files, fdOrder, in.Fd()))
	in.Close()
	if err != nil {
		return failed("start the confined stage", err)
	}
	r.pid = pid
	return readStage(out, pid)
}

// readStage adds up what the confined stage says before it becomes the target.
func readStage(f io.Reader, pid int) report {
	dec := json.NewDecoder(f)
	var first, last report
	if err := dec.Decode(&first); err != nil {
		return report{Err: "the confined stage ended without a word"}
	}
	if err := dec.Decode(&last); !errors.Is(err, io.EOF) {
		return last
	}
	first.Pid = pid
	return first
}

// fork starts a program in its own process group. It dies when this thread does.
func fork(name string, argv, env []string, files []uintptr) (int, error) {
	return syscall.ForkExec(name, argv, &syscall.ProcAttr{
		Env:   env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// wait returns when the target has ended, or with true when everything is to be killed.
func (r *reaper) wait() (killed bool) {
	for {
		select {
		case sig, ok := <-r.control:
			if !ok {
				return true
			}
			_ = unix.Kill(-r.pid, sig) // not reaped yet, so the number is still its own
		case <-r.stop:
			return true
		case <-r.child:
			if r.reap(); r.ended {
				return false
			}
		}
	}
}

// reap takes in every child that has ended, and keeps the target's status. It reports whether there are children left.
func (r *reaper) reap() (left bool) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == r.pid:
			r.status, r.ended = statusOf(ws), true
		}
	}
}

// statusOf is an exit status as a shell has it.
func statusOf(ws unix.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// killAll kills children until there are none. What they leave behind becomes a child, and is killed in the next round.
func (r *reaper) killAll() (survivors []int) {
	for start, pause := time.Now(), 100*time.Microsecond; r.reap(); pause = min(2*pause, 5*time.Millisecond) {
		pids := children()
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if time.Since(start) > killPatience {
			return pids
		}
		time.Sleep(pause)
	}
	return nil
}
