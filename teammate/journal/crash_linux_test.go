package journal_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/journal"
)

// The test program is also the one that is killed: with this variable it appends to the journal in that folder.
const victim = "JOURNAL_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		os.Exit(appendForEver(dir))
	}
	goleak.VerifyTestMain(m)
}

// appendForEver adds steps, and says of each that it is on disk.
func appendForEver(dir string) int {
	j, err := journal.Open(dir, journal.Config{RewriteAfter: 4000})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if limit := os.Getenv("JOURNAL_TEST_FSIZE"); limit != "" {
		return untilFull(j, limit)
	}
	for _, seq := range unfinished(j) { // of the process that was killed before
		if err := j.Done(seq); err != nil {
			return 1
		}
	}
	for {
		last, _ := j.Session()
		seq, err := j.Append(planmode.Interrupted{}, session(last.Drift+1), effects(last.Drift+1), time.Now())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(last.Drift + 1)
		if err := j.Done(seq); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

func start(t *testing.T, dir string, env ...string) (*exec.Cmd, *bufio.Scanner, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(append(os.Environ(), victim+"="+dir), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out), &stderr
}

// Killed at any moment, a runner finds every step again whose Append had returned, and at most one more.
func TestKilledAtAnyMoment(t *testing.T) {
	dir := t.TempDir()
	acknowledged := 0
	for round := range 25 {
		cmd, out, stderr := start(t, dir)
		var kill *time.Timer
		for out.Scan() {
			if kill == nil { // its time begins with its first step
				kill = time.AfterFunc(rand.N(25*time.Millisecond), func() { _ = cmd.Process.Kill() })
			}
			n, err := strconv.Atoi(strings.TrimSpace(out.Text()))
			if err != nil {
				break // cut by the kill
			}
			acknowledged = n
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("round %d: %v: %s", round, err, stderr)
		}
		j, err := journal.Open(dir, journal.Config{})
		if err != nil {
			t.Fatalf("round %d, after step %d: %v", round, acknowledged, err)
		}
		s, _ := j.Session()
		if s.Drift != acknowledged && s.Drift != acknowledged+1 {
			t.Fatalf("round %d: the journal ends with step %d, acknowledged was %d", round, s.Drift, acknowledged)
		}
		if left := unfinished(j); len(left) > 1 {
			t.Fatalf("round %d: unfinished %v, want the last step at most", round, left)
		}
		acknowledged = s.Drift
		_ = j.Close()
	}
	if acknowledged == 0 {
		t.Fatal("no step was ever taken: the test kills too early")
	}
}

// untilFull appends until the disk is full, checks that nothing was taken, and goes on when there is room again.
func untilFull(j *journal.Journal, limit string) int {
	n, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return 1
	}
	var old syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old)
	_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: old.Max})
	last := 0
	for ; err == nil; last++ {
		_, err = j.Append(planmode.Interrupted{}, session(last+1), effects(last+1), time.Now())
	}
	last--
	if s, _ := j.Session(); s.Drift != last || last == 0 {
		fmt.Fprintf(os.Stderr, "session is step %d after step %d failed\n", s.Drift, last+1)
		return 1
	}
	fmt.Println(err)
	_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	if _, err := j.Append(planmode.Interrupted{}, session(last+1), effects(last+1), time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "with room again:", err)
		return 1
	}
	fmt.Println(last + 1)
	return 0
}

func TestFullDiskTakesNoStep(t *testing.T) {
	dir := t.TempDir()
	cmd, out, stderr := start(t, dir, "JOURNAL_TEST_FSIZE=2500")
	var said []string
	for out.Scan() {
		said = append(said, out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if len(said) != 2 || !strings.Contains(said[0], "make room") {
		t.Fatalf("said %q, want an error that says what to do, then the step", said)
	}
	last, _ := strconv.Atoi(said[1])
	wantLast(t, open(t, dir, journal.Config{}), last)
}
