//go:build !unix

package repostate

// openFlags: opening waits for nothing here.
const openFlags = 0
