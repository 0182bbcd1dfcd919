//go:build !linux

package app

import "github.com/planswarm/swarm/teammate/adapter/claudecode"

// needTerminal fails: no client is started here.
func needTerminal() error {
	return fail(exitUsage, "no_terminal", "--interactive is not supported on this system", "use Linux")
}

// takeTerminal fails as needTerminal does.
func takeTerminal() (claudecode.Terminal, func(), error) {
	return claudecode.Terminal{}, nil, needTerminal()
}
