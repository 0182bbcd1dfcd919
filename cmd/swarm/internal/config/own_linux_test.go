package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// A pipe among a project's or a person's files of rules is refused; nobody waits for who writes into it.
func TestPipesAmongFilesOfRules(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"own/policies", "pol"} {
		if err := os.MkdirAll(filepath.Join(dir, p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, p, "f.yaml"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	doc := &config.Document{Path: filepath.Join(dir, "swarm.yaml"), Policies: []string{"pol/*.yaml"}}
	done := make(chan []config.Problem, 1)
	go func() {
		_, problems := config.ReadOwn(filepath.Join(dir, "own"), doc)
		done <- problems
	}()
	select {
	case problems := <-done:
		if len(problems) != 2 || !strings.Contains(problems[0].Message, "no file") || !strings.Contains(problems[1].Message, "no file") {
			t.Errorf("problems are %v, want each pipe refused", problems)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a pipe that nobody writes")
	}
}
