//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/teammate/teammatetest"
)

// The README's table of agents says what their conformance tests have recorded, and nothing else.
func TestReadmeAgents(t *testing.T) {
	readme := filepath.Join("..", "..", "README.md")
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), "| promises kept |")
	head, rest, _ := strings.Cut(rest, "|---|\n")
	table, after, found := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatal("the README has no table of agents")
	}
	if want := agentLines(t); table != want {
		if !*update {
			t.Fatalf("the README's table of agents is\n%s\nand the records say\n%s\nwrite it with -update", table, want)
		}
		text := before + "| promises kept |" + head + "|---|\n" + want + "\n\n" + after
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// agentLines are the lines of all records: programs first, then clients.
func agentLines(t *testing.T) string {
	t.Helper()
	records, err := filepath.Glob(filepath.Join("..", "..", "teammate", "adapter", "*", "testdata", "conformance.json"))
	if err != nil || len(records) < 2 {
		t.Fatalf("records: %q %v", records, err)
	}
	var first, lines []string
	for _, file := range records {
		r, err := teammatetest.ReadRecord(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file, "/script/") {
			first = append(first, r.Line())
		} else {
			lines = append(lines, r.Line())
		}
	}
	return strings.Join(append(first, lines...), "\n")
}
