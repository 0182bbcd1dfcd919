//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is how wide the terminal is; 0 when there is none, or it does not say.
func (sh *shell) columns() int {
	if f, ok := sh.out.(*os.File); ok && sh.terminal {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return int(size.Col)
		}
	}
	return 0
}
