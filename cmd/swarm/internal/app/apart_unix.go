//go:build linux || darwin

package app

import (
	"os/exec"
	"syscall"
)

// apart has a process live on its own: an interrupt at our terminal is not for it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
