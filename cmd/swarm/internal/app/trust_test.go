package app

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
)

var update = flag.Bool("update", false, "write trusted.txt")

// The examples of this repository need no trust of their own, as long as they are what this program came with.
func TestExamplesAreTrusted(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "examples")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range entries {
		digest, err := folderDigest(filepath.Join(root, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%s %s\n", digest, e.Name())
	}
	if *update {
		if err := os.WriteFile("trusted.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if examplesTrusted != want.String() {
		t.Errorf("trusted.txt is\n%swant\n%sthe examples have changed: go test ./cmd/swarm/internal/app -update", examplesTrusted, want.String())
	}
}

// project is a folder with a document and a script, and the person whose state lies beside it.
func project(t *testing.T) (dir string, load func() Env) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "swarm.yaml", "version: 1\nteam: x\nteammates:\n  a:\n    run: [bash, a.sh]\npolicy:\n  - name: all\n    then: approve\n")
	write(t, dir, "a.sh", "true\n")
	write(t, dir, "other.txt", "x\n")
	state := t.TempDir()
	return dir, func() Env {
		doc, problems := config.Load(filepath.Join(dir, "swarm.yaml"))
		if problems != nil {
			t.Fatal(problems)
		}
		return Env{Settings: config.Settings{State: state}, Document: doc}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func trust(t *testing.T, e Env) Trust {
	t.Helper()
	tr, err := TrustOf(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := SetTrust(e, tr, true); err != nil {
		t.Fatal(err)
	}
	return tr
}

// Trust is in exactly what was shown: another word of the document or of a script that it runs ends it.
func TestTrustEndsWithAChange(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"the document": func(t *testing.T, dir string) {
			write(t, dir, "swarm.yaml", "version: 1\nteam: x\nteammates:\n  a:\n    run: [bash, -x, a.sh]\n")
		},
		"the script":        func(t *testing.T, dir string) { write(t, dir, "a.sh", "false\n") },
		"a comment":         func(t *testing.T, dir string) { write(t, dir, "a.sh", "true # really\n") },
		"the script's end":  func(t *testing.T, dir string) { write(t, dir, "a.sh", "") },
		"the script's name": func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "a.sh")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, load := project(t)
			if err := checkTrust(load(), ""); !leader.IsError(err, "not_trusted") {
				t.Fatalf("checkTrust before = %v, want not_trusted", err)
			}
			tr := trust(t, load())
			if err := checkTrust(load(), ""); err != nil {
				t.Fatalf("checkTrust after = %v", err)
			}
			write(t, dir, "other.txt", "y\n")
			if err := checkTrust(load(), ""); err != nil {
				t.Fatalf("checkTrust after a change of another file = %v", err)
			}
			change(t, dir)
			if err := checkTrust(load(), ""); !leader.IsError(err, "not_trusted") {
				t.Errorf("checkTrust after a change = %v, want not_trusted", err)
			}
			if err := checkTrust(load(), tr.Digest); !leader.IsError(err, "not_trusted") {
				t.Errorf("checkTrust with the old --trust = %v, want not_trusted", err)
			}
		})
	}
}

// A copy of an example is one; with another test in it, it is not.
func TestACopyOfAnExampleIsTrustedToTheLastFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "..", "examples", "quickstart"))); err != nil {
		t.Fatal(err)
	}
	check := func() error {
		doc, problems := config.Load(filepath.Join(dir, "swarm.yaml"))
		if problems != nil {
			t.Fatal(problems)
		}
		return checkTrust(Env{Settings: config.Settings{State: t.TempDir()}, Document: doc}, "")
	}
	if err := check(); err != nil {
		t.Fatalf("a copy: %v", err)
	}
	write(t, dir, "evil_test.go", "package discount\n")
	if err := check(); !leader.IsError(err, "not_trusted") {
		t.Errorf("with another file = %v, want not_trusted", err)
	}
}

// What is not trusted says what it would do, and how to trust it, here and in CI.
func TestNotTrustedNamesWhatItWouldDo(t *testing.T) {
	_, load := project(t)
	tr, err := TrustOf(load())
	if err != nil {
		t.Fatal(err)
	}
	err = checkTrust(load(), "")
	for _, want := range []string{"not trusted yet", "swarm trust ", "--trust " + tr.Digest, "a: bash a.sh (mode default)", "all: approves by itself"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q in it", err, want)
		}
	}
	if err := checkTrust(load(), tr.Digest); err != nil {
		t.Errorf("with --trust %s: %v", tr.Digest, err)
	}
	write(t, load().Settings.State, "trust.json", "{")
	if err := checkTrust(load(), ""); !leader.IsError(err, "trust") {
		t.Errorf("with a torn trust.json = %v, want an error of its own", err)
	}
}
