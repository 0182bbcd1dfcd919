//go:build !unix

package supervise

import "os"

func terminate(p *os.Process) error { return p.Kill() }
