// Package supervise starts the runners of a team as child processes, hands each its key, reads what it tells, and ends
// them all when it is told to, or when it dies itself.
//
// A runner's standard input is its lifeline: the first line is its bundle, with a key that exists in memory only, and the
// end of the stream is the supervisor's end. Its standard output is one JSON event a line.
package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Member is one runner to start.
type Member struct {
	Name   string
	Args   []string // of our own program
	Bundle []byte   // one line of JSON, written to its standard input
	Dir    string   // working directory
	Env    []string
	Stderr io.Writer // closed by the caller
}

// Outcome is how a runner ended.
type Outcome struct {
	Name   string
	Status int   // exit status; -1 when it was ended by a signal
	Err    error // why it could not be started or read; nil for any orderly end
}

// maxLine is the longest event that is read, in bytes. A longer one is an error of its runner.
const maxLine = 4 << 20

// grace is how long a runner may take to end in order before it is killed.
const grace = 10 * time.Second

// Run starts every member with the program exe, at most parallel at once (0: all), calls event for each line that one
// prints, from one goroutine at a time, and returns when all have ended. When ctx ends, each gets SIGTERM, and SIGKILL
// ten seconds later.
func Run(ctx context.Context, exe string, members []Member, parallel int, event func(name string, line []byte)) []Outcome {
	if parallel <= 0 {
		parallel = len(members)
	}
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		places = make(chan struct{}, max(parallel, 1))
		out    = make([]Outcome, len(members))
	)
	for i, m := range members {
		wg.Go(func() {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-ctx.Done():
				out[i] = Outcome{Name: m.Name, Status: -1, Err: context.Cause(ctx)}
				return
			}
			out[i] = run(ctx, exe, m, func(line []byte) {
				mu.Lock()
				defer mu.Unlock()
				event(m.Name, line)
			})
		})
	}
	wg.Wait()
	return out
}

func run(ctx context.Context, exe string, m Member, event func([]byte)) Outcome {
	fail := func(what string, err error) Outcome {
		return Outcome{Name: m.Name, Status: -1, Err: fmt.Errorf("supervise: %s %s: %w", what, m.Name, err)}
	}
	cmd := exec.CommandContext(ctx, exe, m.Args...)
	cmd.Dir, cmd.Env, cmd.Stderr = m.Dir, m.Env, m.Stderr
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = grace
	lines := &splitter{event: event, full: func() { _ = terminate(cmd.Process) }}
	cmd.Stdout = lines // not a pipe of ours: what a runner leaves behind could keep that open for ever
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return fail("start", err)
	}
	if err := cmd.Start(); err != nil {
		return fail("start", err)
	}
	defer lifeline.Close()
	_, werr := lifeline.Write(append(m.Bundle, '\n'))
	err = cmd.Wait()
	return outcome(m.Name, cmd.ProcessState.ExitCode(), err, werr, lines.err)
}

// splitter calls event for each whole line. A line that is too long ends its runner.
type splitter struct {
	event func([]byte)
	full  func()
	buf   []byte
	err   error
}

// Write takes the next bytes of the stream. It never fails, so that the runner is not stopped by a broken pipe.
func (s *splitter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && s.err == nil; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if len(s.buf)+len(line) > maxLine {
			s.err = errors.New("a line is longer than 4 MiB")
			s.full()
			break
		}
		s.buf = append(s.buf, line...)
		if rest = after; whole {
			s.event(s.buf)
			s.buf = s.buf[:0]
		}
	}
	return len(p), nil
}

// outcome tells an orderly end, with whatever status, from one that we could not see.
func outcome(name string, status int, wait, write, read error) Outcome {
	o := Outcome{Name: name, Status: status}
	var exit *exec.ExitError
	switch {
	case read != nil:
		o.Err = fmt.Errorf("supervise: events of %s: %w", name, read)
	case wait != nil && !errors.As(wait, &exit) && !errors.Is(wait, exec.ErrWaitDelay):
		o.Err = fmt.Errorf("supervise: %s: %w", name, wait)
	case status != 0 && write != nil:
		o.Err = fmt.Errorf("supervise: %s did not take its bundle: %w", name, write)
	}
	if read != nil && o.Status == 0 {
		o.Status = -1
	}
	return o
}
