//go:build unix && !linux

package events

import (
	"os/exec"
	"syscall"
)

// alone puts a program into a process group of its own, so that what it leaves running ends with it.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
