package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkOwner refuses what belongs to somebody else.
func checkOwner(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("gate: %s belongs to somebody else: set XDG_RUNTIME_DIR to a folder of yours", path)
	}
	return nil
}

// peer is the process at the other end of a connection, as the kernel noted it.
type peer struct {
	pid   int
	uid   int
	pidfd int // -1 where the kernel has none to give
}

func peerOf(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	p := peer{pidfd: -1}
	var inner error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); inner != nil {
			return
		}
		p.pid, p.uid = int(cred.Pid), int(cred.Uid)
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			p.pidfd = n
			unix.CloseOnExec(n)
		}
	})
	return p, errors.Join(err, inner)
}

func (p peer) close() {
	if p.pidfd >= 0 {
		_ = unix.Close(p.pidfd)
	}
}

// alive reports whether the very process that connected still runs: its number was not given to another meanwhile.
// Where the kernel has no descriptor for it, the start times of the walk have to do. (A signal 0 would be refused to a
// confined client.)
func (p peer) alive() bool {
	if p.pidfd < 0 {
		return true
	}
	ended := []unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}} //nolint:gosec // a descriptor
	for {
		n, err := unix.Poll(ended, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

// process is a moment's look at one process.
type process struct {
	parent int
	start  uint64 // since boot, in clock ticks
}

func look(pid int) (process, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	// pid (name) state ppid ...: the name may hold anything, so the fields are counted from its last parenthesis.
	i := bytes.LastIndexByte(raw, ')')
	if i < 0 {
		return process{}, fmt.Errorf("gate: /proc/%d/stat cannot be read", pid)
	}
	fields := bytes.Fields(raw[i+1:])
	const parent, start = 1, 19
	if len(fields) <= start {
		return process{}, fmt.Errorf("gate: /proc/%d/stat cannot be read", pid)
	}
	p := process{}
	if p.parent, err = strconv.Atoi(string(fields[parent])); err != nil {
		return process{}, err
	}
	p.start, err = strconv.ParseUint(string(fields[start]), 10, 64)
	return p, err
}

// maxDepth is how many ancestors are looked at.
const maxDepth = 256

// descends reports whether pid is one of the ancestors, or below one of them. A parent that started after its child is
// another process with the old one's number, and ends the walk.
func descends(pid int, ancestors []int) bool {
	at, err := look(pid)
	if err != nil {
		return false
	}
	for range maxDepth {
		for _, a := range ancestors {
			if pid == a {
				return true
			}
		}
		if at.parent <= 1 {
			return false
		}
		up, err := look(at.parent)
		if err != nil || up.start > at.start {
			return false
		}
		pid, at = at.parent, up
	}
	return false
}

// checkClient refuses whoever is not a process of ours below one of the roots.
func checkClient(conn *net.UnixConn, roots []int) error {
	p, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("gate: who connected is not known: %w", err)
	}
	defer p.close()
	switch {
	case p.uid != os.Geteuid():
		return fmt.Errorf("gate: user %d connected, and only user %d is served", p.uid, os.Geteuid())
	case p.pid <= 0 || !descends(p.pid, roots) || !p.alive():
		return fmt.Errorf("gate: process %d was not started by this teammate", p.pid)
	}
	return nil
}

// checkUser refuses another user's process.
func checkUser(conn *net.UnixConn) error {
	p, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("gate: who connected is not known: %w", err)
	}
	defer p.close()
	if p.uid != os.Geteuid() {
		return fmt.Errorf("gate: user %d connected, and only user %d is served", p.uid, os.Geteuid())
	}
	return nil
}

// checkProcess refuses a gate that is not in the process that is meant.
func checkProcess(conn *net.UnixConn, pid int, started uint64) error {
	p, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("gate: who answers is not known: %w", err)
	}
	defer p.close()
	now, err := startOf(p.pid)
	switch {
	case p.uid != os.Geteuid():
		return fmt.Errorf("gate: user %d answers, not user %d", p.uid, os.Geteuid())
	case err != nil || p.pid != pid || now != started || !p.alive():
		return fmt.Errorf("gate: process %d answers, and the address names process %d", p.pid, pid)
	}
	return nil
}

// startOf is when a process started, in clock ticks since boot.
func startOf(pid int) (uint64, error) {
	p, err := look(pid)
	return p.start, err
}

// checkServer refuses a gate that is no ancestor of this process.
func checkServer(conn *net.UnixConn) error {
	p, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("gate: who answers is not known: %w", err)
	}
	defer p.close()
	switch {
	case p.uid != os.Geteuid():
		return fmt.Errorf("gate: user %d answers, not user %d", p.uid, os.Geteuid())
	case p.pid <= 1 || p.pid == os.Getpid() || !descends(os.Getpid(), []int{p.pid}) || !p.alive():
		return fmt.Errorf("gate: process %d answers, and it has not started this one", p.pid)
	}
	return nil
}
