//go:build unix

package repostate_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/repostate"
)

func TestPipesAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pipe", ".git"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, reads, err := repostate.Read(t.Context(), dir, []string{"pipe"})
	if err != nil || b != (plans.Base{}) || reads != nil {
		t.Errorf("Read = %+v, %v, %v; want nothing", b, reads, err)
	}
	repo := repository(t)
	if err := syscall.Mkfifo(filepath.Join(repo, "sub", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	syscall.Unlink(filepath.Join(repo, "a.go"))
	if err := syscall.Mkfifo(filepath.Join(repo, "a.go"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b := base(t, repo); !b.Dirty {
		t.Errorf("a pipe in place of a file = %+v, want dirty", b)
	}
}
