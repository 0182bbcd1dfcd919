//go:build linux

package execute_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions/execute"
)

type count struct {
	n     int64
	fails bool
}

func (c *count) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.fails {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestHugeOutput(t *testing.T) {
	t.Parallel()
	var out, errs count
	p := start(t, execute.Spec{
		Argv: shell("head -c 50000000 /dev/zero; head -c 10000000 /dev/zero >&2"), Dir: "/", Stdout: &out, Stderr: &errs,
	})
	if status, err := p.Wait(); status != 0 || err != nil || out.n != 50_000_000 || errs.n != 10_000_000 {
		t.Errorf("Wait() = %d, %v with %d and %d bytes, want 50 and 10 million", status, err, out.n, errs.n)
	}
}

// Both outputs into one writer come in the order in which they were written.
func TestOneWriterForBoth(t *testing.T) {
	t.Parallel()
	out, _, err := output(t, execute.Spec{Argv: shell("for i in {1..200}; do echo a; echo b >&2; done"), Dir: "/"})
	if out != strings.Repeat("a\nb\n", 200) || err != nil {
		t.Errorf("order was lost: %v, %.60q", err, out)
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := start(t, execute.Spec{Argv: shell("while echo x; do :; done"), Dir: "/", Stdout: &count{fails: true}})
	if status, err := p.Wait(); status == 0 || err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Wait() = %d, %v, want the target stopped, and the writer's error", status, err)
	}
}

// slow is a writer that takes nothing until it may.
type slow struct {
	count
	may chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.may
	return s.count.Write(p)
}

// A reader that pauses, like a pager, gets everything in the end; and holds up no killing.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	w := &slow{may: make(chan struct{})}
	p := start(t, execute.Spec{Argv: shell("head -c 60000 /dev/zero"), Dir: "/", Stdout: w})
	<-p.Done()
	time.Sleep(2500 * time.Millisecond) // longer than the patience with an open pipe
	close(w.may)
	if _, err := p.Wait(); err != nil || w.n != 60000 {
		t.Errorf("Wait() = %v with %d bytes, want all 60000", err, w.n)
	}

	w = &slow{may: make(chan struct{})}
	p = start(t, execute.Spec{Argv: shell("head -c 1000000 /dev/zero; sleep 60"), Dir: "/", Stdout: w})
	if err := p.Kill(); err != nil || alive(p.Pid()) {
		t.Errorf("Kill() with a slow reader = %v, want it dead", err)
	}
	close(w.may)
	if _, err := p.Wait(); !errors.Is(err, execute.ErrKilled) {
		t.Errorf("Wait() = %v, want ErrKilled", err)
	}
}

// Somebody who is none of our children may have got hold of the output.
func TestOutputHeldOpen(t *testing.T) {
	t.Parallel()
	p := start(t, execute.Spec{Argv: shell("echo x; read"), Dir: "/", Stdin: &blocked{t: t}, Stdout: &count{}})
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", p.Pid()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_ = p.Kill()
	if _, err := p.Wait(); err == nil || !strings.Contains(err.Error(), "keeps the output open") {
		t.Errorf("Wait() = %v, want to be told of the open output", err)
	}
}

// blocked is a reader that waits until the test ends.
type blocked struct{ t testing.TB }

func (b *blocked) Read([]byte) (int, error) {
	<-b.t.Context().Done()
	return 0, errors.New("over")
}
