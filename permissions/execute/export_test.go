//go:build linux

package execute

// ReaperExited reports whether the reaper has ended by itself. It is known when Wait has returned.
func (p *Proc) ReaperExited() bool { return p.cmd.ProcessState.Exited() }
