//go:build !unix

package plandir

import (
	"io/fs"
	"os"
)

// openFlags: opening waits for nothing here.
const openFlags = 0

// links: only Unix tells how many names a file has.
func links(fs.FileInfo) uint64 { return 1 }

// syncDir: names are on disk with their file.
func syncDir(*os.Root) error { return nil }

// cannotLink: any failure to link is taken for one that renaming does not have.
func cannotLink(err error) bool { return err != nil && !os.IsExist(err) }

// openToOthers: rights are not in the mode.
func openToOthers(fs.FileInfo) bool { return false }
