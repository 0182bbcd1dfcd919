package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A project's CLAUDE.md may be a link to another text of the project, and hands over nothing else.
func TestMemoriesStayInTheProject(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "key.seed"), "a secret")
	write(filepath.Join(outside, "notes.md"), "another's notes")
	for target, want := range map[string]string{
		"":                                   "by itself",
		"AGENTS.md":                          "for all agents",
		".env":                               "",
		"sub":                                "",
		"nowhere.md":                         "",
		filepath.Join(outside, "key.seed"):   "",
		filepath.Join(outside, "notes.md"):   "",
		"../" + filepath.Base(outside) + "/": "",
	} {
		tree := t.TempDir()
		write(filepath.Join(tree, "AGENTS.md"), "for all agents")
		write(filepath.Join(tree, ".env"), "a secret")
		if err := os.Mkdir(filepath.Join(tree, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if target == "" {
			write(filepath.Join(tree, "CLAUDE.md"), "by itself")
		} else if err := os.Symlink(target, filepath.Join(tree, "CLAUDE.md")); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(memories(tree), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("CLAUDE.md -> %q hands over %q, want %q", target, got, want)
		}
	}
}
