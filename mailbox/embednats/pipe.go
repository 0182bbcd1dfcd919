package embednats

import (
	"io"
	"net"
	"sync"
	"time"
)

// A net.Pipe has no buffer: when the broker refuses a connection, it waits to say so until the client, which is still
// writing its second line, reads. Both wait for ten seconds, and the client never learns why. A buffered end behaves as a
// socket does.
type buffered struct {
	net.Conn
	mu      sync.Mutex
	written sync.Cond // some of data has been taken
	data    []byte
	pumping bool // a goroutine writes data to the pipe; none is left when there is nothing to write
	closed  bool
	err     error // of the pipe
}

// room is how much may wait to be written before Write does.
const room = 4 << 20

// lastWords is how long what was written before Close may take to arrive.
const lastWords = 10 * time.Second

func newBuffered(c net.Conn) *buffered {
	b := &buffered{Conn: c}
	b.written.L = &b.mu
	return b
}

// Write implements net.Conn. It returns when the bytes are in the buffer.
func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) > room && !b.closed && b.err == nil {
		b.written.Wait()
	}
	switch {
	case b.err != nil:
		return 0, b.err
	case b.closed:
		return 0, net.ErrClosed
	}
	b.data = append(b.data, p...)
	if !b.pumping {
		b.pumping = true
		go b.pump()
	}
	return len(p), nil
}

// pump writes to the pipe until the buffer is empty or the pipe is broken.
func (b *buffered) pump() {
	for {
		b.mu.Lock()
		data := b.data
		b.data = nil
		b.written.Broadcast()
		if len(data) == 0 || b.err != nil {
			b.pumping = false
			if b.closed {
				_ = b.Conn.Close()
			}
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		if _, err := b.Conn.Write(data); err != nil {
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
		}
	}
}

// Close implements net.Conn. What was written before still arrives.
func (b *buffered) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.written.Broadcast()
	if !b.pumping {
		return b.Conn.Close()
	}
	// The pump closes it. Nobody reads here any more, and a broker that waits to say something would not read our last words.
	go func() { _, _ = io.Copy(io.Discard, b.Conn) }()
	return b.SetDeadline(time.Now().Add(lastWords))
}
