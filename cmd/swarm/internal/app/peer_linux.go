package app

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peer says who is at the other end of a socket, as the kernel knows it.
func peer(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	var serr error
	if err := raw.Control(func(fd uintptr) { cred, serr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, 0, err
	}
	if serr != nil {
		return 0, 0, fmt.Errorf("peer of the socket: %w", serr)
	}
	return int(cred.Uid), int(cred.Pid), nil
}

// isRunnerItself reports whether a process is a runner that a person's shell started: none of its ancestors is one.
func isRunnerItself(pid int) bool {
	p, ok := lookup(pid)
	return ok && isRunner(pid) && !insideTeammate(p.parent)
}
