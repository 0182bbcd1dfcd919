package crashtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pgregory.net/rapid"
)

// life is one run of a process, from its start to its kill. Whatever leaves it or comes in crosses its border: a frame on
// the wire, a step of the journal, a word to the agent. Once it was killed nothing crosses any more, as nothing leaves a
// process that the kernel has ended; what was about to cross waits until the disk has been copied, and fails then.
type life struct {
	name string

	mu     sync.Mutex
	left   int // crossings until it is killed; 0: as many as there are
	torn   bool
	over   bool
	wires  []*wire
	dead   chan struct{}
	buried chan struct{}
	grave  sync.Once
}

func newLife(name string) *life {
	return &life{name: name, dead: make(chan struct{}), buried: make(chan struct{})}
}

var (
	errKilled = errors.New("crashtest: this process was killed")
	errAway   = errors.New("crashtest: connection refused")
)

// arm has the life end at its nth crossing from now.
func (l *life) arm(n int, torn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.torn = n, torn
}

func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// end is kill for whoever holds the lock.
func (l *life) end() {
	if !l.over {
		l.over = true
		close(l.dead)
	}
}

// pass counts a crossing and reports whether the process lives on after it.
func (l *life) pass() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 && !l.over {
		if l.left--; l.left == 0 {
			l.end()
		}
	}
	return !l.over
}

// cross is pass for the process itself: what is dead does not go on.
func (l *life) cross() bool {
	if l.pass() {
		return true
	}
	<-l.buried
	return false
}

// bury lets what is left of a killed process unwind.
func (l *life) bury() { l.grave.Do(func() { close(l.buried) }) }

func (l *life) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func (l *life) tears() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.torn
}

// hold keeps a wire, so that it can be cut.
func (l *life) hold(w *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wires = append(l.wires, w)
}

// cut breaks every connection of the process, as the kernel does when it ends one, or a network that fails.
func (l *life) cut() {
	l.mu.Lock()
	wires := l.wires
	l.wires = nil
	l.mu.Unlock()
	for _, w := range wires {
		_ = w.Close()
	}
}

// wire is a connection between a member's process and the broker's.
type wire struct {
	net.Conn
	member, broker *life
}

// Write implements net.Conn. A member that is killed in it may have sent a half of it.
func (w *wire) Write(p []byte) (int, error) {
	if !w.member.pass() {
		if w.member.tears() {
			_, _ = w.Conn.Write(p[:len(p)/2])
		}
		<-w.member.buried
		return 0, errKilled
	}
	if !w.broker.pass() {
		return 0, errAway
	}
	return w.Conn.Write(p)
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 && !w.broker.pass() {
		return 0, errAway
	}
	if !w.member.cross() {
		return 0, errKilled
	}
	return n, err
}

// plug connects a process with whichever broker runs now. It implements nats.InProcessConnProvider.
type plug struct {
	w    *world
	mine *life
}

func (p plug) InProcessConn() (net.Conn, error) {
	b := p.w.running()
	if b == nil || b.isOver() || p.mine.isOver() {
		return nil, errAway
	}
	conn, err := b.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	w := &wire{conn, p.mine, b.life}
	p.mine.hold(w)
	b.hold(w)
	return w, nil
}

// copyDisk copies what a process has on disk. The parts that name others come first, so that a copy which is taken while
// the process still finishes what it had received is one that a kill leaves: an audit entry without its message is not.
func copyDisk(t rapid.TB, from, to string, first ...string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err == nil && d.IsDir() {
			err = os.MkdirAll(filepath.Join(to, rel), 0o700)
		} else if err == nil && d.Type().IsRegular() {
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rank := func(file string) int {
		for i, f := range first {
			if strings.Contains(file, f) {
				return i
			}
		}
		return len(first)
	}
	slices.SortStableFunc(files, func(a, b string) int { return rank(a) - rank(b) })
	for _, rel := range files {
		data, err := os.ReadFile(filepath.Join(from, rel))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, rel), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tearJournal leaves behind what a kill in the middle of a write may: the first bytes of a line, or a page that the file
// was given and that was never written.
func tearJournal(t rapid.TB, dir string, how int) {
	t.Helper()
	path := filepath.Join(dir, "journal.jsonl")
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(data, []byte("\n")) {
		return // it is torn already
	}
	lines := strings.SplitAfter(string(data), "\n")
	last := lines[len(lines)-2]
	switch how {
	case 0:
		return
	case 1: // a line was begun
		data = append(data, last[:len(last)/3]...)
	case 2:
		data = append(append(data, make([]byte, 200)...), '\n')
	case 3: // the last line only said that effects were carried out: it is not waited for, and may be lost
		if !strings.Contains(last, `"done":`) {
			return
		}
		data = data[:len(data)-len(last)+len(last)/2]
	default:
		panic(fmt.Sprint("no way to tear: ", how))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
