package app

import "github.com/planswarm/swarm/leader"

// Exit codes of this package's own errors (CONFIG.md 7).
const (
	exitError    = 1
	exitUsage    = 2
	exitAuth     = 4
	exitExpired  = 5
	exitPending  = 8
	exitNoPlan   = 10
	exitNoBroker = 14
	exitNotFound = 15

	exitInterrupted = 130
)

// fail is an error for a person: what is wrong, and what to do next.
func fail(code int, name, message, next string) error {
	return &leader.Error{Code: code, Name: name, Message: message, Next: next}
}
