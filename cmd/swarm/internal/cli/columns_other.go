//go:build !unix

package cli

// columns is how wide the terminal is, which is not asked here.
func (sh *shell) columns() int { return 0 }
