package app

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// DropTyped throws away what a terminal has of a line that was not ended yet, and of lines that nobody has read. Anything
// else than a terminal keeps what it has.
func DropTyped(in io.Reader) {
	if f, ok := in.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // no terminal: nothing to throw away
	}
}
