package events

import (
	"os/exec"
	"syscall"
)

// alone puts a program into a process group of its own, so that what it leaves running ends with it. It ends with this
// process too: the thread that starts it lives as long as deliveries do.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
