//go:build unix

package wholefile

import (
	"errors"
	"os"
)

// SyncDir makes what was renamed in a folder last.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
