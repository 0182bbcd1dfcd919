// Package wholefile replaces files in one step: whoever reads one gets the old bytes or the new ones, and after a crash so
// does whoever reads it then.
package wholefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces a file, or makes it, for this user alone (mode 0600). When it returns nil the bytes and the name are on
// disk; an error leaves what was there, and names the file. The folder exists.
func Write(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // made 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncDir(dir)
}
