//go:build !linux

package repostate

import "io/fs"

// changeTime is not known here.
func changeTime(fs.FileInfo) (at [2]uint32, known bool) { return at, false }
