//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// team is a running team on a machine of its own: broker, mia who leads it, and teammates that are shells.
type team struct {
	t       testing.TB
	bin     string
	dir     string
	turns   map[string]int  // of each teammate's shell
	checked map[string]bool // schemas that something was checked against
}

// outcome is how a command ended.
type outcome struct {
	code     int
	out, err string
}

func newTeam(t testing.TB) *team {
	t.Helper()
	m := bareTeam(t)
	m.up()
	return m
}

// bareTeam is a machine on which nothing runs yet.
func bareTeam(t testing.TB) *team {
	t.Helper()
	bin, err := exec.LookPath("swarm")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "swarm-team-") // short: sockets are made in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &team{t: t, bin: bin, dir: dir, turns: map[string]int{}}
	for _, d := range []string{"home", "state", "config", "run", "tree/.turns", "tmp", "nobody"} {
		m.must(os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	m.must(os.WriteFile(m.path("tree", ".shell.sh"), []byte(shellProgram), 0o600))
	return m
}

func (m *team) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *team) path(parts ...string) string {
	return filepath.Join(append([]string{m.dir}, parts...)...)
}

// state is the team's folder.
func (m *team) state(parts ...string) string {
	return m.path(append([]string{"state", "swarm", "t"}, parts...)...)
}

// env is the environment of a person, with changes.
func (m *team) env(changes ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home"), "XDG_STATE_HOME=" + m.path("state"), "XDG_CONFIG_HOME=" + m.path("config"),
		"XDG_RUNTIME_DIR=" + m.path("run"), "TMPDIR=" + m.path("tmp"), "SWARM_TEAM=t", raceExit,
	}, changes...)
}

// background starts a program that ends with the test.
func (m *team) background(args ...string) *syncBuffer {
	m.t.Helper()
	cmd := exec.Command(m.bin, args...)
	out := &syncBuffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = m.path("tree"), m.env(), out, out
	m.must(cmd.Start())
	m.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
	})
	return out
}

func (m *team) until(what string, ok func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("%s did not come", what)
		}
	}
}

func (m *team) up() {
	m.background("up", "--as", "mia")
	m.until("swarm up", func() bool { _, err := os.Stat(m.state("up.json")); return err == nil })
}

func (m *team) start(name string, flags ...string) {
	m.t.Helper()
	args := append([]string{"teammate", "script", "--name", name}, flags...)
	out := m.background(append(args, "--", "bash", m.path("tree", ".shell.sh"))...)
	m.until("teammate "+name, func() bool { return strings.Contains(out.String(), "in the team") })
}

// as runs a command with changes to a person's environment.
func (m *team) as(env []string, args ...string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.bin, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = m.path("tree"), m.env(env...), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{code: -1, err: err.Error()}
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// lead runs a command as mia, with some input.
func (m *team) lead(args ...string) outcome {
	return m.as(nil, append([]string{"--as", "mia"}, args...)...)
}

// mate has a teammate's shell run a line, confined as it is.
func (m *team) mate(name, line string) outcome {
	m.t.Helper()
	m.turns[name]++
	n := m.turns[name]
	turn := m.path("tree", ".turns", fmt.Sprintf("%s.%d", name, n))
	m.must(os.WriteFile(turn+".new", []byte(line+"\n"), 0o600))
	m.must(os.Rename(turn+".new", turn))
	read := func(kind string) (string, bool) {
		data, err := os.ReadFile(m.state("teammates", name, "work", fmt.Sprintf("%d.%s", n, kind)))
		return string(data), err == nil
	}
	m.until("the end of "+line, func() bool { _, ok := read("rc"); return ok })
	rc, _ := read("rc")
	code, err := strconv.Atoi(strings.TrimSpace(rc))
	m.must(err)
	out, _ := read("out")
	errs, _ := read("err")
	return outcome{code, out, errs}
}

// ok is a command that must succeed.
func (m *team) ok(o outcome) outcome {
	m.t.Helper()
	if o.code != 0 {
		m.t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	return o
}

// handle is the waiting request of a teammate, of one kind (plan, run or question), that is none of those.
func (m *team) handle(name, kind string, but ...string) string {
	m.t.Helper()
	found := ""
	m.until("a "+kind+" of "+name, func() bool {
		var doc struct {
			Requests []struct{ Handle, Kind, Teammate string }
		}
		m.must(json.Unmarshal([]byte(m.ok(m.lead("inbox", "--json")).out), &doc))
		for _, r := range doc.Requests {
			if r.Teammate == name && r.Kind == kind && !strings.Contains(strings.Join(but, " "), r.Handle) {
				found = r.Handle
			}
		}
		return found != ""
	})
	return found
}

// stored is how much is in the streams of mail, orders and decisions: it grows with whatever is stored.
func (m *team) stored() string {
	var sizes []string
	for _, stream := range []string{"MB_t", "ORD_t", "DEC_t"} {
		var size int64
		_ = filepath.WalkDir(m.state("jetstream"), func(path string, d os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".blk") && strings.Contains(path, "/"+stream+"/") {
				if info, err := d.Info(); err == nil {
					size += info.Size()
				}
			}
			return nil
		})
		sizes = append(sizes, fmt.Sprintf("%s %d", stream, size))
	}
	return strings.Join(sizes, ", ")
}
