//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// A write beyond the file size limit is an error (EFBIG) that its command reports, not the end of the process.
func init() { signal.Ignore(syscall.SIGXFSZ) }
