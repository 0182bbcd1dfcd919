package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/planswarm/swarm/planmode"
)

// Version is the version of the lines that this package writes. Older ones are migrated when there are any.
const Version = 1

// maxLine is the longest line that is read: a step carries at most a decision with an edited plan, twice, in base64.
const maxLine = 64 << 20

// snapshotEvent stands where the event would, in the first line of a rewritten file.
var snapshotEvent = json.RawMessage(`"snapshot"`)

// line is one line of the file: a step, a snapshot, or the end of a step's effects.
type line struct {
	V       int               `json:"v"`
	Seq     uint64            `json:"seq,omitempty"`
	At      time.Time         `json:"at,omitzero"`
	Event   json.RawMessage   `json:"event,omitempty"`
	Session *planmode.Session `json:"session,omitempty"`
	Effects json.RawMessage   `json:"effects,omitempty"`
	Open    []openStep        `json:"open,omitempty"` // of a snapshot: the steps whose effects are not all carried out
	Done    uint64            `json:"done,omitempty"`
	Prev    string            `json:"prev"`
}

// openStep is a step whose effects are not all carried out.
type openStep struct {
	Seq     uint64          `json:"seq"`
	Plan    string          `json:"plan,omitempty"` // id of the plan that the session was about
	Effects json.RawMessage `json:"effects"`
}

// contents is what a file says.
type contents struct {
	lines   int
	size    int64  // of the good lines
	torn    int64  // bytes after them that a crash left
	prev    string // hash of the last line
	first   int64  // size of the first line
	seq     uint64
	at      time.Time
	session planmode.Session
	open    []openStep
}

// scan reads a whole file. Its errors are about the line after c.lines.
func scan(r io.Reader) (contents, error) {
	var c contents
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		raw, err := readLine(in)
		if errors.Is(err, io.EOF) {
			c.torn = int64(len(raw))
			return c, nil
		}
		if err != nil {
			return c, err
		}
		if err := c.add(raw); err != nil {
			if torn(raw, in) {
				c.torn = int64(len(raw))
				return c, nil
			}
			return c, err
		}
	}
}

// torn reports whether a line that cannot be used is the last one and has a page that was never written: JSON holds no
// zero bytes, and a file that was extended by a crash is full of them.
func torn(raw []byte, in *bufio.Reader) bool {
	_, err := in.Peek(1)
	return errors.Is(err, io.EOF) && bytes.IndexByte(raw, 0) >= 0
}

// readLine returns the next line with its end. At the end of the file it returns what is left and io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var raw []byte
	for {
		part, err := in.ReadSlice('\n')
		raw = append(raw, part...)
		if len(raw) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return raw, err
		}
	}
}

// add takes the next line in, or says why it cannot be the next.
func (c *contents) add(raw []byte) error {
	l, err := parse(raw)
	if err != nil {
		return err
	}
	if c.lines > 0 && l.Prev != c.prev {
		return errors.New("it does not follow the line before it")
	}
	if err := c.check(l); err != nil {
		return err
	}
	c.take(l, raw)
	return nil
}

// take is [contents.add] for a line that was checked.
func (c *contents) take(l line, raw []byte) {
	switch {
	case l.Done != 0:
		c.finish(l.Done)
	case l.isSnapshot():
		c.seq, c.at, c.session, c.open = l.Seq, l.At, *l.Session, l.Open
	default:
		c.seq, c.at, c.session = l.Seq, l.At, *l.Session
		c.open = append(c.open, openStep{Seq: l.Seq, Plan: l.Session.Cycle.PlanID, Effects: l.Effects})
	}
	if c.lines == 0 {
		c.first = int64(len(raw))
	}
	c.lines++
	c.size += int64(len(raw))
	c.prev = hash(raw)
}

// finish forgets a step whose effects were carried out.
func (c *contents) finish(seq uint64) {
	for i, o := range c.open {
		if o.Seq == seq {
			c.open = append(c.open[:i:i], c.open[i+1:]...)
			return
		}
	}
}

// check says why a line cannot stand where it stands.
func (c *contents) check(l line) error {
	switch {
	case l.Done != 0:
		if c.lines == 0 || l.Seq != 0 || l.Session != nil {
			return errors.New("the end of a step's effects stands where it cannot")
		}
		return nil
	case l.Session == nil || l.Seq == 0 || len(l.Event) == 0:
		return errors.New("a step without number, event or session")
	case l.isSnapshot():
		if c.lines > 0 {
			return errors.New("a snapshot stands after other lines")
		}
		return checkEffects(l.Open)
	case l.Seq != c.seq+1:
		return fmt.Errorf("step %d stands where step %d belongs", l.Seq, c.seq+1)
	}
	return checkEffects([]openStep{{Seq: l.Seq, Effects: l.Effects}})
}

func (l line) isSnapshot() bool { return bytes.Equal(l.Event, snapshotEvent) }

// checkEffects refuses effects that could not be carried out again.
func checkEffects(steps []openStep) error {
	for _, s := range steps {
		if _, err := planmode.UnmarshalEffects(s.Effects); err != nil {
			return fmt.Errorf("effects of step %d: %w", s.Seq, err)
		}
	}
	return nil
}

// parse decodes one line. The version is looked at first, so that a newer file says so whatever else it holds.
func parse(raw []byte) (line, error) {
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return line{}, fmt.Errorf("not JSON: %w", err)
	}
	if version.V > Version {
		return line{}, fmt.Errorf("%w: version %d, this one reads up to %d: use that swarm", ErrNewer, version.V, Version)
	}
	if version.V < 1 {
		return line{}, errors.New("no version")
	}
	var l line
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return line{}, err
	}
	return l, nil
}

func hash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
