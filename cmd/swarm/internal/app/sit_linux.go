package app

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/planswarm/swarm/teammate/adapter/claudecode"
)

// leaveTerminal undoes what a client that was killed has asked of a terminal: a hidden cursor, and keys and pastes as codes.
const leaveTerminal = "\x1b[?25h\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[>4m"

// terminalState is how this terminal is set, or an error where there is none.
func terminalState() (*unix.Termios, error) {
	state, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS)
	if err == nil {
		_, err = unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS)
	}
	if err != nil {
		return nil, fail(exitUsage, "no_terminal", "--interactive needs a terminal for input and output", "start it from one, or leave --interactive out")
	}
	return state, nil
}

// needTerminal refuses where no person can sit.
func needTerminal() error {
	_, err := terminalState()
	return err
}

// takeTerminal lends this terminal to a client. The returned func takes it back as it was.
func takeTerminal() (claudecode.Terminal, func(), error) {
	old, err := terminalState()
	if err != nil {
		return claudecode.Terminal{}, nil, err
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	back := func() {
		signal.Stop(resized)
		_ = unix.IoctlSetTermios(int(os.Stdin.Fd()), unix.TCSETS, old) // the terminal may be gone
		_, _ = os.Stdout.WriteString(leaveTerminal)
	}
	return claudecode.Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Resized: resized}, back, nil
}
