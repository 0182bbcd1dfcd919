package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planswarm/swarm/mailbox/wholefile"
)

// version is the version of every file that this package writes. A newer one is refused.
const version = 1

// writeFile replaces a file in one step, in a folder that is made where there is none.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Write(path, data)
}

func writeJSON(path string, v any) error {
	data, err := marshalFile(v)
	if err != nil {
		return err
	}
	return writeFile(path, data)
}

// marshalFile is JSON as our files have it.
func marshalFile(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// readJSON reads a file of ours. The error of one that does not exist is fs.ErrNotExist.
func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var head struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s is damaged (%w): move it away and start again", path, err)
	}
	if head.V > version {
		return fmt.Errorf("%s was written by a newer swarm (version %d, this one knows %d): update swarm", path, head.V, version)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged (%w): move it away and start again", path, err)
	}
	return nil
}

// private refuses a file of secrets that somebody else could read.
func private(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a plain file", path)
	case info.Mode().Perm()&0o077 != 0 && posix:
		return fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	return nil
}
