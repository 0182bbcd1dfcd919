package wholefile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/planswarm/swarm/mailbox/wholefile"
)

// Whoever reads meanwhile gets all of one text.
func TestReadersGetOneText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	texts := []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<19)}
	if err := wholefile.Write(path, []byte(texts[0])); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	done := make(chan struct{})
	var reads atomic.Int64
	for _, text := range texts {
		writers.Go(func() {
			for i := 0; i < 20 || reads.Load() < 2 && !t.Failed(); i++ { // the reader may be the slower one
				if err := wholefile.Write(path, []byte(text)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	for ; ; reads.Add(1) {
		got, err := os.ReadFile(path)
		if err != nil || !slices.Contains(texts, string(got)) {
			t.Errorf("read %d bytes (%v), which nobody wrote", len(got), err)
			break
		}
		select {
		case <-done:
		default:
			continue
		}
		break
	}
	<-done
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file is %v (%v), want 0600", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v (%v), want the file alone", left, err)
	}
}

// What cannot be replaced stays, and nothing lies about.
func TestErrorsLeaveWhatWasThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(path, []byte("x")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a folder was replaced by a file: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || !left[0].IsDir() {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if err := wholefile.Write(filepath.Join(dir, "nowhere", "f"), nil); err == nil {
		t.Error("a file was written into a folder that is not there")
	}
}
