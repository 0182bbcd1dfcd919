//go:build linux || darwin

package app

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxSecret is the longest secret that is typed, in bytes.
const maxSecret = 1024

// askSecret asks a person for a secret on the terminal of this process, which does not show it. It never comes from an
// argument, the environment, a file or standard input.
func askSecret(ctx context.Context, prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	defer tty.Close()
	fd := int(tty.Fd())
	old, err := unix.IoctlGetTermios(fd, readTerminal)
	if err != nil {
		return nil, errNoTerminal
	}
	quiet := *old
	quiet.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, writeTerminal, &quiet); err != nil {
		return nil, err
	}
	defer func() {
		_ = unix.IoctlSetTermios(fd, writeTerminal, old) // the terminal may be gone
		_, _ = io.WriteString(tty, "\n")
	}()
	if _, err := io.WriteString(tty, prompt); err != nil {
		return nil, err
	}
	type line struct {
		text []byte
		err  error
	}
	got := make(chan line, 1) // a read that nobody ends goes on until the process ends
	go func() {
		text, err := readSecret(tty)
		got <- line{text, err}
	}()
	select {
	case l := <-got:
		return l.text, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readSecret reads to the end of a line, byte by byte: what comes after it belongs to the next question.
func readSecret(r io.Reader) ([]byte, error) {
	var text []byte
	one := make([]byte, 1)
	for len(text) < maxSecret {
		if _, err := io.ReadFull(r, one); err != nil {
			clear(text)
			return nil, errNoTerminal
		}
		if one[0] == '\n' || one[0] == '\r' {
			break
		}
		text = append(text, one[0])
	}
	return text, nil
}
