//go:build linux

package execute_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions/execute"
	"go.uber.org/goleak"
)

// helperVar names the helper that this test binary is started as, by another test.
const helperVar = "EXECUTE_TEST_HELPER"

var helpers = map[string]func(){
	"runner":     runnerHelper,
	"noLandlock": noLandlockHelper,
	"hardened":   hardenedHelper,
	"network":    networkHelper,
	"client":     clientHelper,
}

func TestMain(m *testing.M) {
	execute.ChildMain()
	if helper, ok := helpers[os.Getenv(helperVar)]; ok {
		helper()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var path = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// start starts a shell line in dir, and kills it when the test ends.
func start(t testing.TB, s execute.Spec) *execute.Proc {
	t.Helper()
	if s.Env == nil {
		s.Env = path
	}
	p, err := execute.Start(t.Context(), s)
	if err != nil {
		t.Fatalf("Start(%q) = %v", s.Argv, err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// shell is what runs a line with bash.
func shell(line string) []string { return []string{"/bin/bash", "-c", line} }

// output runs a line to its end and returns what it printed, its status and its error.
func output(t testing.TB, s execute.Spec) (out string, status int, err error) {
	t.Helper()
	var b bytes.Buffer
	s.Stdout, s.Stderr = &b, &b
	status, err = start(t, s).Wait()
	return b.String(), status, err
}

// tempDir is a fresh directory, without links in its path.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	// A child that another test forks meanwhile would hold the file open for writing until it is another program, and a program
	// that is open for writing cannot be started.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// eventually waits for a state that another process brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// numbers waits until a file holds n process ids, and returns them.
func numbers(t testing.TB, name string, n int) (pids []int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d process ids in %s", n, name), func() bool {
		data, _ := os.ReadFile(name)
		pids = pids[:0]
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == n
	})
	return pids
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(data[bytes.LastIndexByte(data, ')')+1:])
	state := strings.Fields(rest)[0]
	return state != "Z" && state != "X"
}

func wantDead(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d still runs, want it dead", pid)
		}
	}
}

// background is t.Context for helpers.
var background = context.Background()
