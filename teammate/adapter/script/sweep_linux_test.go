package script_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What killed runners of the same name have left is removed by the next start; what is in use, without a lock, a link, or
// another's stays.
func TestSweepsWhatKilledRunnersLeft(t *testing.T) {
	temp := realDir(t)
	t.Setenv("TMPDIR", temp)
	locked := func(name string) *os.File {
		t.Helper()
		write(t, filepath.Join(temp, name, "tmp", "junk"), "x")
		write(t, filepath.Join(temp, name, "lock"), "")
		f, err := os.OpenFile(filepath.Join(temp, name, "lock"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, name := range []string{"swarm-api-1", "swarm-api-db-3", "swarm-api-x4", "elsewhere"} {
		_ = locked(name).Close() // its runner was killed
	}
	defer locked("swarm-api-2").Close()
	write(t, filepath.Join(temp, "swarm-api-5", "tmp", "junk"), "x")
	if err := os.Symlink(filepath.Join(temp, "elsewhere"), filepath.Join(temp, "swarm-api-6")); err != nil {
		t.Fatal(err)
	}
	r := newAgent(t, "ls -d $TMPDIR/../..; echo $TMPDIR")
	if status, err := r.Run(t.Context()); status != 0 || err != nil {
		t.Fatalf("it ended with %d, %v: %s", status, err, r.out)
	}
	for name, want := range map[string]bool{
		"swarm-api-1": false, "swarm-api-2": true, "swarm-api-db-3": true, "swarm-api-x4": true, "swarm-api-5": true, "swarm-api-6": true, "elsewhere/tmp/junk": true,
	} {
		if got := exists(filepath.Join(temp, name)); got != want {
			t.Errorf("%s is there: %t, want %t", name, got, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(temp, "swarm-api-*"))
	if err != nil || len(left) != 5 {
		t.Errorf("left are %v, want none of the run itself", left)
	}
}

// A second runner of the same name, of another team, leaves the folders of the first alone.
func TestDoesNotSweepWhatIsInUse(t *testing.T) {
	t.Setenv("TMPDIR", realDir(t))
	first := newAgent(t, "echo ready; read -t 5 line < $SWARM_TREE/go; test -d $TMPDIR")
	if err := unix.Mkfifo(filepath.Join(first.tree, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() {
		status, _ := first.Run(t.Context())
		ended <- status
	}()
	for deadline := time.Now().Add(time.Minute); first.out.String() == ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first does not begin")
		}
	}
	if status, err := newAgent(t, "true").Run(t.Context()); status != 0 || err != nil {
		t.Fatalf("the second ended with %d, %v", status, err)
	}
	if err := os.WriteFile(filepath.Join(first.tree, "go"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := <-ended; status != 0 {
		t.Errorf("the first ended with %d: its folder is gone\n%s", status, first.out)
	}
}
