package execute

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// outputPatience is how long an open pipe may be silent when everything that could write into it is dead.
const outputPatience = 2 * time.Second

// errHeld means that somebody outside of our reach holds the other end of a pipe.
var errHeld = errors.New("somebody keeps the output open: its rest is lost")

// drain carries output from a pipe to a writer. It waits for a slow writer as long as it takes, but not for a pipe that
// stays open when all that we started is dead: its end can have been handed to others.
type drain struct {
	from *os.File
	to   io.Writer
	over atomic.Bool // everything is dead
	done chan struct{}
	err  error
}

func newDrain(from *os.File, to io.Writer) *drain {
	return &drain{from: from, to: to, done: make(chan struct{})}
}

// run copies to the end. Closing the pipe early, at a writer that fails, tells the target.
func (d *drain) run() {
	defer close(d.done)
	defer d.from.Close()
	buf := make([]byte, 32<<10)
	for {
		if d.over.Load() {
			d.limit()
		}
		n, err := d.from.Read(buf)
		if n > 0 {
			if _, err := d.to.Write(buf[:n]); err != nil {
				d.err = fmt.Errorf("execute: write the output: %w", err)
				return
			}
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			d.err = fmt.Errorf("execute: %w", errHeld)
			return
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			d.err = fmt.Errorf("execute: read the output: %w", err)
			return
		}
	}
}

// finish says that everything is dead, and waits until what it wrote is written.
func (d *drain) finish() error {
	d.over.Store(true)
	d.limit()
	<-d.done
	return d.err
}

func (d *drain) limit() { _ = d.from.SetReadDeadline(time.Now().Add(outputPatience)) }
