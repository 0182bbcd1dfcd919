package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxPath is the longest socket path that every system binds.
const maxPath = 104

// SocketPath is where the gate of a teammate listens: in the user's runtime folder, or in /tmp/swarm-<uid> where there is
// none. State is the absolute path of the team's state folder; the same state and name always give the same path.
func SocketPath(state, name string) string {
	sum := sha256.Sum256([]byte(state + name))
	file := hex.EncodeToString(sum[:])[:12] + ".sock"
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
		if path := filepath.Join(dir, "swarm", file); len(path) <= maxPath {
			return path
		}
	}
	return filepath.Join("/tmp", fmt.Sprintf("swarm-%d", os.Getuid()), file)
}

// makeFolder makes the socket's folder where there is none, and checks it.
func makeFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("gate: socket folder: %w", err)
	}
	return checkFolder(dir)
}

// checkFolder refuses a folder that somebody else could put a socket into.
func checkFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("gate: socket folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("gate: %s is a link or no folder: remove it", dir)
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("gate: %s has mode %04o, and a gate is believed only in a folder of 0700: use the one that the runner made", dir, info.Mode().Perm())
	}
	return checkOwner(dir, info)
}

// checkSocket refuses what is not a socket of ours.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return fmt.Errorf("gate: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("gate: %s is no socket", path)
	}
	return checkOwner(path, info)
}
