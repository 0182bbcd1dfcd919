//go:build mutant && linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// at most two mutants are built at once.
var places = make(chan struct{}, 2)

// Without any one of its guards the product fails twice: in a test of its own, and before a newcomer's eyes.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	m := &mill{root: root, env: own(t)}
	t.Run("none", func(t *testing.T) { m.whole(t) })
	if t.Failed() {
		t.Fatal("the product does not pass unmutated")
	}
	for _, x := range slices.Concat(mutants, planMutants) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			begin := time.Now()
			overlay := m.overlay(t, x)
			if x.breach != "" {
				m.quickstart(t, x, overlay)
			}
			m.named(t, x, overlay)
			if t.Failed() {
				return
			}
			m.say("%-42s inv. %-9s %5.1fs  %s %s; %s\n", x.name, x.invariant, time.Since(begin).Seconds(), x.pkg, x.test, x.breach)
		})
	}
}

// searches says how long tests that draw at random look for a mutant: ten times as long as they look for a fault.
var searches = map[string]string{machineTest: "1000", livesTest: "120"}

// mill makes and tries mutants.
type mill struct {
	root string
	env  []string
	mu   sync.Mutex
}

func (m *mill) say(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Printf(format, args...)
}

// command runs in the checkout, with a machine of its own, and returns everything that was printed.
func (m *mill) command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = m.root, m.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// whole is the product as it is: the quickstart and each named test pass.
func (m *mill) whole(t *testing.T) {
	begin := time.Now()
	bin := filepath.Join(t.TempDir(), "swarm")
	if out, err := m.command("go", "build", "-o", bin, "./cmd/swarm"); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if out, err := m.command(bin, "run", "examples/quickstart"); err != nil {
		t.Errorf("swarm run: %v\n%s", err, out)
	}
	tests := map[string][]string{}
	for _, x := range slices.Concat(mutants, planMutants) {
		tests[x.pkg] = append(tests[x.pkg], x.test)
	}
	for pkg, names := range tests {
		if out, err := m.command("go", "test", "-count=1", "-run", pattern(names...), pkg); err != nil || strings.Contains(out, "no tests to run") {
			t.Errorf("go test %s: %v\n%s", pkg, err, out)
		}
	}
	m.say("%-42s           %5.1fs\n", "none", time.Since(begin).Seconds())
}

// pattern matches exactly these tests; a slash separates a test from its part.
func pattern(names ...string) string {
	var whole, part []string
	for _, n := range names {
		test, sub, _ := strings.Cut(n, "/")
		whole, part = append(whole, "^"+test+"$"), append(part, "^"+sub+"$")
	}
	if part[0] == "^$" {
		return strings.Join(whole, "|")
	}
	return strings.Join(whole, "|") + "/" + strings.Join(part, "|")
}

// overlay writes the mutated files beside the checkout, and what tells the Go command to take them.
func (m *mill) overlay(t *testing.T, x mutant) string {
	t.Helper()
	dir := t.TempDir()
	texts := x.texts(t, m.root)
	replace := map[string]string{}
	for file, text := range texts {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(m.root, file)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// quickstart runs the example with the mutant: it fails, and says what got through.
func (m *mill) quickstart(t *testing.T, x mutant, overlay string) {
	t.Helper()
	bin := filepath.Join(filepath.Dir(overlay), "swarm")
	if out, err := m.command("go", "build", "-overlay", overlay, "-o", bin, "./cmd/swarm"); err != nil {
		t.Fatalf("the mutant does not compile: %v\n%s", err, out)
	}
	out, err := m.command(bin, "run", "examples/quickstart", "--timeout", "2m")
	if err == nil {
		t.Errorf("swarm run passes without this guard:\n%s", out)
	}
	if !strings.Contains(out, "\n"+x.breach) {
		t.Errorf("swarm run does not say %q:\n%s", x.breach, out)
	}
}

// named runs the test of the guard with the mutant: it fails.
func (m *mill) named(t *testing.T, x mutant, overlay string) {
	t.Helper()
	args := []string{"test", "-vet=off", "-count=1", "-overlay", overlay, "-run", pattern(x.test), x.pkg}
	if n := searches[x.test]; n != "" {
		args = append(args, "-rapid.checks="+n)
	}
	out, err := m.command("go", args...)
	if err == nil || !strings.Contains(out, "--- FAIL: "+x.test) {
		t.Errorf("%s %s does not fail without this guard: %v\n%s", x.pkg, x.test, err, out)
	}
}
