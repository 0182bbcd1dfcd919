//go:build linux

package execute_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
)

func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A digest is of what a program would read there. A pipe without another end must not be waited for: the test would hang.
func TestDigest(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	most := bytes.Repeat([]byte{'x'}, 1<<20)
	must(os.WriteFile(at("file"), []byte("test:\n"), 0o644))
	must(os.WriteFile(at("empty"), nil, 0o644))
	must(os.WriteFile(at("most"), most, 0o644))
	must(os.WriteFile(at("more"), append(most, 'x'), 0o644))
	must(os.Mkdir(at("folder"), 0o755))
	must(os.Symlink("file", at("link")))
	must(os.Symlink(at("link"), at("link2")))
	must(os.Symlink("nowhere", at("dangling")))
	must(os.Symlink("loop", at("loop")))
	must(os.Symlink("/dev/zero", at("device")))
	must(syscall.Mkfifo(at("pipe"), 0o644))
	must(os.Symlink("pipe", at("linked pipe")))
	for name, want := range map[string]string{
		"file": hexOf([]byte("test:\n")), "empty": hexOf(nil), "most": hexOf(most), "link": hexOf([]byte("test:\n")), "link2": hexOf([]byte("test:\n")), "folder/../file": hexOf([]byte("test:\n")),
		"none": "", "none/file": "", "file/below": "", "dangling": "", "dangling/file": "",
	} {
		if got, err := (execute.Resolver{}).Digest(dir + "/" + name); err != nil || got != want {
			t.Errorf("Digest(%s) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, p := range []string{at("more"), at("folder"), at("loop"), at("device"), at("pipe"), at("linked pipe"), "/dev/null", "file", "", at("a\x00b")} {
		if got, err := (execute.Resolver{}).Digest(p); err == nil || got != "" {
			t.Errorf("Digest(%q) = %q, %v; want an error", p, got, err)
		}
	}
	must(os.WriteFile(at("nowhere"), []byte("x"), 0o644))
	if got, err := (execute.Resolver{}).Digest(at("dangling")); err != nil || got != hexOf([]byte("x")) {
		t.Errorf("Digest of a link whose target came to be = %q, %v", got, err)
	}
}

// make test under a grant, in a real tree: it asks once the Makefile is another, and an allowed call does not start when it
// becomes another before.
func TestAChangedRunnerFileIsNotRun(t *testing.T) {
	t.Parallel()
	tree := tempDir(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	honest := "test:\n\t@echo honest\n"
	write("Makefile", honest)
	now := time.Now()
	state := permissions.State{Mode: permissions.ModeDefault, Tree: tree, Now: now, Grants: []permissions.Grant{{
		GrantTerms: permissions.GrantTerms{Intent: "run tests", Tree: ".", ExpiresAt: now.Add(time.Hour)}, ID: "r/1", Root: tree,
		Runners: []permissions.RunnerFile{{Path: "Makefile", Digest: hexOf([]byte(honest))}},
	}}}
	engine := permissions.New(permissions.Config{Resolver: execute.Resolver{}, Path: "/usr/bin:/bin"})
	decide := func() permissions.Decision {
		return engine.Decide(permissions.Call{Tool: "Bash", Command: "make -s test", Cwd: tree}, state)
	}
	run := func(c *permissions.Contract) (string, error) {
		var out bytes.Buffer
		_, err := execute.Run(t.Context(), c, execute.Options{Stdout: &out, Stderr: &out})
		return out.String(), err
	}
	d := decide()
	if d.Verdict != permissions.Allow {
		t.Fatalf("%s (%s)", d.Verdict, d.Reason)
	}
	if out, err := run(d.Contract); err != nil || out != "honest\n" {
		t.Fatalf("it printed %q, %v", out, err)
	}
	for name, text := range map[string]string{"Makefile": "test:\n\t@echo other\n", "GNUmakefile": "test:\n\t@echo other\n", "Makefile.sh": "test:\n\t@echo other\n"} {
		write("Makefile", honest)
		allowed := decide()
		write(name, text)
		if out, err := run(allowed.Contract); !errors.Is(err, execute.ErrRunnerChanged) || !errors.Is(err, execute.ErrRefused) || out != "" {
			t.Errorf("%s changed after the verdict: it printed %q, %v", name, out, err)
		}
		d := decide()
		want := []permissions.RunnerFile{{Path: name, Digest: hexOf([]byte(text))}}
		if d.Verdict != permissions.Ask || !slices.Equal(d.Changed, want) {
			t.Errorf("%s changed: %s (%s), changed %+v; want ask, %+v", name, d.Verdict, d.Reason, d.Changed, want)
		}
		if name != "Makefile" {
			_ = os.Remove(filepath.Join(tree, name))
		}
	}
}
