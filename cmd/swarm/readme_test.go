//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// fenced returns the README's blocks of one language, line by line or whole.
func fenced(t *testing.T, language string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// tour walks through the README's commands: a checkout of the binary, three terminals, a person with two hands.
type tour struct {
	t     *testing.T
	dir   string // where ./swarm lies
	shop  string
	env   []string
	last  string // handle that was answered last
	procs []*exec.Cmd
}

// Every command of the README is run, in its order, as it stands there: only handles and the folder of the copy differ.
func TestReadmeCommands(t *testing.T) {
	tr := &tour{t: t, dir: t.TempDir(), shop: filepath.Join(t.TempDir(), "shop"), env: own(t)}
	defer tr.stop()
	steps := map[string]func(string){
		"go run ./cmd/swarm run examples/quickstart": func(string) {
			// TestQuickstart runs it; `go run` is `go build` and a start.
		},
		"go test ./...": func(string) {}, // CI runs it, and it runs this
		"go build -o swarm ./cmd/swarm": func(string) {
			if err := os.Rename(binary(t), filepath.Join(tr.dir, "swarm")); err != nil {
				t.Fatal(err)
			}
		},
		"rm -rf /tmp/shop && cp -r examples/quickstart /tmp/shop": func(string) {
			if err := os.CopyFS(tr.shop, os.DirFS(filepath.Join("..", "..", "examples", "quickstart"))); err != nil {
				t.Fatal(err)
			}
		},
		"export SWARM_TEAM=demo": func(string) {
			if !slices.Contains(tr.env, "SWARM_TEAM=demo") {
				tr.env = append(tr.env, "SWARM_TEAM=demo")
			}
		},
		"./swarm up": tr.background,
		"./swarm teammate script --name fixer --tree /tmp/shop -- bash fixer.sh": tr.background,
		"./swarm inbox": func(line string) { tr.inbox(line) },
		"./swarm show fixer": func(line string) {
			if tr.last == "" {
				tr.must(line, "Fix the discount bug")
				return
			}
			tr.must(line, "cents*percent/100") // what the edit would write
		},
		`./swarm reject fixer-7k2m -m "say how you will test it"`:                        func(line string) { tr.answer(line, "changes asked") },
		"./swarm approve fixer-9w3c":                                                     func(line string) { tr.answer(line, "grants: run tests") },
		"./swarm approve fixer-x0c4":                                                     func(line string) { tr.answer(line, "discount.go") },
		"./swarm status":                                                                 func(line string) { tr.must(line, "broker ok") },
		`./swarm check --mode plan -- 'find . -name "*.go" | head -3'`:                   func(line string) { tr.must(line, "allow: ") },
		`./swarm check --grant "run tests" -- 'cd api && go test ./... 2>&1 | tail -50'`: func(line string) { tr.must(line, "allow: the plan's grant to run tests") },
		`./swarm intent "run the unit tests"`:                                            func(line string) { tr.must(line, "go test ./...") },
		`./swarm policy explain --grant "run tests" -- 'go test ./... && echo done'`:     func(line string) { tr.must(line, "echo done: it changes nothing") },
	}
	ran := map[string]bool{}
	for _, block := range fenced(t, "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			step, ok := steps[line]
			if !ok {
				t.Fatalf("README has a command that no test runs: %s", line)
			}
			step(line)
			ran[line] = true
		}
	}
	if len(ran) != len(steps) {
		t.Errorf("the README has %d of the %d commands that this test runs", len(ran), len(steps))
	}
	tr.done()
}

// words takes a README line apart, as a shell would, with our own folder.
func (tr *tour) words(line string) []string {
	line = strings.ReplaceAll(line, "/tmp/shop", tr.shop)
	var words []string
	for _, w := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		words = append(words, unquoted(w))
	}
	return words
}

// unquoted is a word without the quotes around it.
func unquoted(w string) string {
	if len(w) > 1 && (w[0] == '"' || w[0] == '\'') && w[len(w)-1] == w[0] {
		return w[1 : len(w)-1]
	}
	return w
}

func (tr *tour) command(line string) *exec.Cmd {
	w := tr.words(line)
	cmd := exec.Command(w[0], w[1:]...)
	cmd.Dir, cmd.Env = tr.dir, tr.env
	return cmd
}

func (tr *tour) background(line string) {
	tr.t.Helper()
	cmd := tr.command(line)
	out := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		tr.t.Fatal(err)
	}
	tr.procs = append(tr.procs, cmd)
	ready := map[bool]string{true: "team     ready", false: "waits for the leader"}[strings.HasSuffix(line, " up")]
	tr.eventually(line, func() (bool, string) { return strings.Contains(out.String(), ready), out.String() })
}

func (tr *tour) eventually(what string, ok func() (bool, string)) {
	tr.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		good, said := ok()
		if good {
			return
		}
		if time.Now().After(deadline) {
			tr.t.Fatalf("%s: what it should say did not come; it said:\n%s", what, said)
		}
	}
}

func (tr *tour) must(line, want string) {
	tr.t.Helper()
	tr.eventually(line, func() (bool, string) {
		out, err := tr.command(line).CombinedOutput()
		return err == nil && strings.Contains(string(out), want), string(out)
	})
}

// inbox waits for a request that was not answered yet, and returns its handle.
func (tr *tour) inbox(line string) (handle string) {
	tr.t.Helper()
	tr.eventually(line, func() (bool, string) {
		out, err := tr.command(line).Output()
		first, _, _ := strings.Cut(string(out), "\t")
		handle = first
		return err == nil && strings.HasPrefix(first, "fixer-") && first != tr.last, string(out)
	})
	return handle
}

// answer runs an approve or reject with the handle that waits instead of the README's.
func (tr *tour) answer(line, want string) {
	tr.t.Helper()
	handle := tr.inbox("./swarm inbox")
	tr.last = handle
	out, err := tr.command(regexp.MustCompile(`fixer-\w{4}`).ReplaceAllString(line, handle)).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(want)) {
		tr.t.Fatalf("%s: %v\n%s\nwant %q in it", line, err, out, want)
	}
}

// done: the teammate has ended well, its tests have passed, and its edit is in the copy.
func (tr *tour) done() {
	tr.t.Helper()
	mate := tr.procs[1]
	if err := mate.Wait(); err != nil {
		tr.t.Errorf("the teammate ended with %v", err)
	}
	data, err := os.ReadFile(filepath.Join(tr.shop, "discount.go"))
	if err != nil || !bytes.Contains(data, []byte("cents*percent/100")) {
		tr.t.Errorf("the copy's discount.go is not mended: %v\n%s", err, data)
	}
}

func (tr *tour) stop() {
	for _, p := range slices.Backward(tr.procs) {
		_ = p.Process.Signal(os.Interrupt)
		done := make(chan struct{})
		go func() { _, _ = p.Process.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			_ = p.Process.Kill()
		}
	}
}

// Every YAML block of the README, and every document under examples, can be read.
func TestReadmeAndExamplesDecode(t *testing.T) {
	blocks := fenced(t, "yaml")
	if len(blocks) == 0 {
		t.Fatal("the README has no YAML")
	}
	files := []string{}
	for i, b := range blocks {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("block%d.yaml", i))
		if err := os.WriteFile(file, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "swarm.yaml"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("examples: %v, %v", examples, err)
	}
	for _, f := range append(files, examples...) {
		if _, problems := config.Load(f); problems != nil {
			t.Errorf("%s: %v", f, problems)
		}
	}
}
