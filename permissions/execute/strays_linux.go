package execute

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// reapers are the live reapers of this process. The lock is held while one is started and while strays are looked for,
// so that none is taken for a stray before it is known.
var reapers struct {
	sync.Mutex
	pids map[int]bool
}

// startReaper starts the command on this thread.
func (p *Proc) startReaper() error {
	reapers.Lock()
	defer reapers.Unlock()
	if reapers.pids == nil {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return err
		}
		reapers.pids = map[int]bool{}
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	reapers.pids[p.cmd.Process.Pid] = true
	return nil
}

// waitReaper waits for the reaper. How it ended is in its report.
func (p *Proc) waitReaper() {
	_ = p.cmd.Wait()
	reapers.Lock()
	defer reapers.Unlock()
	delete(reapers.pids, p.cmd.Process.Pid)
}

// sweep kills what a killed reaper left behind. The target died with its reaper; what the target had started has become
// our child. A reaper leads its own session, and nothing below it can come into ours: that is how it is told from
// children of other packages.
func sweep() (survivors []int) {
	reapers.Lock()
	defer reapers.Unlock()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		found := strays()
		if len(found) == 0 || time.Since(start) > killPatience {
			return found
		}
		for _, pid := range found {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// strays are our children that no reaper watches over any more.
func strays() (pids []int) {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	for _, pid := range children() {
		sid, err := unix.Getsid(pid)
		if errors.Is(err, unix.ESRCH) || sid == own || reapers.pids[pid] {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}
