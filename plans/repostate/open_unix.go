//go:build unix

package repostate

import "syscall"

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK
