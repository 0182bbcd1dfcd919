//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdHandle puts the handle of a teammate's waiting request into a variable: handle VAR TEAMMATE; handle-other VAR
// TEAMMATE HANDLE waits for another one than that.
func cmdHandle(ts *testscript.TestScript, _ bool, args []string) {
	var handle string
	poll(ts, "a waiting request of "+args[1], func() bool {
		cmd := exec.Command(swarmPath(ts), "--as", "mia", "inbox")
		cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
		out, err := cmd.Output()
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Split(line, "\t"); strings.HasPrefix(f[0], args[1]+"-") && (len(args) < 3 || f[0] != args[2]) {
				handle = f[0]
				return true
			}
		}
		return false
	})
	ts.Setenv(args[0], handle)
}

// cmdRowOf puts the handle of the waiting request of a teammate that has a text in its row into a variable: row-of VAR
// TEAMMATE TEXT.
func cmdRowOf(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, args[2]+" in the inbox", func() bool {
		cmd := exec.Command(swarmPath(ts), "--as", "mia", "inbox")
		cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
		out, _ := cmd.Output()
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, args[1]+"-") && strings.Contains(line, args[2]) {
				ts.Setenv(args[0], strings.Split(line, "\t")[0])
				return true
			}
		}
		return false
	})
}

// cmdBackground starts a leader's command that goes on beside the script.
func cmdBackground(ts *testscript.TestScript, _ bool, args []string) {
	machineOf(ts).keep(args[0], background(ts, append([]string{"--as", "mia"}, args[1:]...)...))
}

func procOf(ts *testscript.TestScript, name string) *proc {
	m := machineOf(ts)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.procs[name] == nil {
		ts.Fatalf("%s does not run", name)
	}
	return m.procs[name]
}

func cmdUntilOutput(ts *testscript.TestScript, _ bool, args []string) {
	p, want := procOf(ts, args[0]), regexp.MustCompile(args[1])
	waitFor(ts, args[1], p, func() bool { return want.MatchString(p.stderr.String()) })
}

// cmdEnded waits for the end of a command beside the script: its exit code, and what it printed.
func cmdEnded(ts *testscript.TestScript, _ bool, args []string) {
	p, want := procOf(ts, args[0]), regexp.MustCompile(args[2])
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		ts.Fatalf("%s did not end; output:\n%s", args[0], p.stderr)
	}
	if code := strconv.Itoa(p.cmd.ProcessState.ExitCode()); code != args[1] || !want.MatchString(p.stderr.String()) {
		ts.Fatalf("%s: exit %s, want %s with %s; output:\n%s", args[0], code, args[1], args[2], p.stderr)
	}
}

// cmdMateFile waits until a file in a teammate's plan folder matches: mate-file NAME FILE REGEXP.
func cmdMateFile(ts *testscript.TestScript, _ bool, args []string) {
	want, last := regexp.MustCompile(args[2]), ""
	poll(ts, args[2]+" in "+args[1], func() bool {
		data, _ := os.ReadFile(filepath.Join(mateDir(ts, args[0]), "work", args[1]))
		last = string(data)
		return want.MatchString(last)
	})
	fmt.Fprint(ts.Stdout(), last)
}

// cmdUntil runs a swarm command as mia until its output has a text: until TEXT ARG...; with ! until it succeeds without.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	var last string
	what := map[bool]string{true: "no ", false: ""}[neg] + args[0]
	poll(ts, what+" in the output of swarm "+strings.Join(args[1:], " "), func() bool {
		cmd := exec.Command(swarmPath(ts), append([]string{"--as", "mia"}, args[1:]...)...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
		out, err := cmd.CombinedOutput()
		last = string(out)
		if neg {
			return err == nil && !strings.Contains(last, args[0])
		}
		return strings.Contains(last, args[0])
	})
	fmt.Fprint(ts.Stdout(), last)
}

// cmdUntilFile waits until a file matches: until-file FILE REGEXP.
func cmdUntilFile(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[1])
	poll(ts, args[1]+" in "+args[0], func() bool {
		data, _ := os.ReadFile(ts.MkAbs(args[0]))
		return want.Match(data)
	})
}

// cmdFreePort puts a port that nobody listens on into a variable: free-port VAR HOST. It is below those that the kernel
// hands out by itself, so that it is still free when it is used, and used again.
func cmdFreePort(ts *testscript.TestScript, _ bool, args []string) {
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		if l, err := net.Listen("tcp", net.JoinHostPort(args[1], port)); err == nil {
			ts.Check(l.Close())
			ts.Setenv(args[0], port)
			return
		}
	}
	ts.Fatalf("no port of %s is free", args[1])
}

// cmdMailID keeps the id that sending mail has printed: mail-id VAR.
func cmdMailID(ts *testscript.TestScript, _ bool, args []string) {
	words := strings.Fields(ts.ReadFile("stdout"))
	if len(words) != 4 || words[0] != "stored" {
		ts.Fatalf("no mail was sent: %q", words)
	}
	ts.Setenv(args[0], words[1])
}

func poll(ts *testscript.TestScript, what string, ok func() bool) {
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(60 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not come", what)
		}
	}
}
