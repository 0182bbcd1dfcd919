package embednats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// storeVersion is the version of what lies in the folder. A higher one is refused.
const storeVersion = 1

const (
	lockFile = "swarm.lock"
	markFile = "swarm.json"
)

// mark is the content of markFile.
type mark struct {
	V int `json:"v"`
}

// store is the locked folder.
type store struct{ lock *os.File }

// openStore makes the folder for this user only, locks it, and checks its version.
func openStore(dir string) (*store, error) {
	if dir == "" {
		return nil, errors.New("embednats: no store folder: give StoreDir")
	}
	if err := prepare(dir); err != nil {
		return nil, fmt.Errorf("%w: %w: check the owner and the rights of %s", ErrNotWritable, err, dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: check the owner and the rights of %s", ErrNotWritable, err, dir)
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: stop the other `swarm up`, or use another state folder", ErrLocked, dir), f.Close())
	}
	if err := checkVersion(filepath.Join(dir, markFile)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &store{lock: f}, nil
}

// close releases the lock.
func (s *store) close() error { return s.lock.Close() }

// prepare makes the folder, closes it to others, and writes into it once: a full or read-only disk shows here, in
// words, and not later in the broker.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder needs x
			return err
		}
	}
	f, err := os.CreateTemp(dir, "write-*")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("x"))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func checkVersion(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writeMark(path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritable, err)
	}
	var m mark
	if err := json.Unmarshal(data, &m); err != nil || m.V < 1 {
		return fmt.Errorf("embednats: %s is damaged: restore it, or use another state folder", path)
	}
	if m.V > storeVersion {
		return fmt.Errorf("%w: version %d, this one reads %d: use that swarm, or another state folder", ErrNewerStore, m.V, storeVersion)
	}
	return nil
}

func writeMark(path string) error {
	data, err := json.Marshal(mark{V: storeVersion})
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritable, err)
	}
	return nil
}
