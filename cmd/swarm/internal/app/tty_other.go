//go:build !linux

package app

import "io"

// DropTyped does nothing here: a line that was begun before its prompt may count on a terminal.
func DropTyped(io.Reader) {}
