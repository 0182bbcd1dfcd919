package execute

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxDigested is how many bytes of one file are read for its digest.
const maxDigested = 1 << 20

// fileDigest is the lower hex SHA-256 of what a program would read at an absolute path, or "" when it would find nothing.
// It waits for no other end of a pipe, and reads no device.
func fileDigest(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("execute: digest of %q: the path is not absolute", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("execute: digest: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("execute: digest: %w", err)
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("execute: %q is no regular file: look at it", path)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxDigested+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("execute: digest: %w", err)
	case n > maxDigested:
		return "", fmt.Errorf("execute: %q is larger than %d bytes: look at it", path, maxDigested)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
