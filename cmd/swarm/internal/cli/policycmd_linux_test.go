package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions/policyfile"
)

// A pipe or a folder in the place of a file of rules is refused; nobody waits for who writes into it.
func TestFilesOfRulesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "p.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "d.yaml")
	if err := syscall.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, folder, "/dev/zero.yaml"} {
		done := make(chan error, 1)
		go func() {
			if isDocument(name) {
				t.Errorf("%s is a team document", name)
			}
			_, err := readPolicy(name, string(policyfile.ScopeUser))
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "no file") && !strings.Contains(err.Error(), "no such file") {
				t.Errorf("%s: %v, want that it is no file", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits for a pipe that nobody writes", name)
		}
	}
}
