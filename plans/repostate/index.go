package repostate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// entry is a tracked file as the index knows it.
type entry struct {
	name         string
	mode         uint32
	size         uint32
	ctime, mtime [2]uint32 // seconds, nanoseconds
	oid          string    // raw
	unsure       bool      // in conflict, or added by name only
	absent       bool      // not wanted in the working tree
}

// index is what the next commit would have.
type index struct {
	entries []entry
	tree    string // raw name of the tree that all entries make; "" when it is not known
}

// below reports whether anything is tracked whose path begins so.
func (ix index) below(prefix string) bool {
	return slices.ContainsFunc(ix.entries, func(e entry) bool { return strings.HasPrefix(e.name, prefix) })
}

const (
	maxIndex = 256 << 20

	flagExtended = 0x4000
	flagStage    = 0x3000
	extraSkip    = 0x4000 // skip-worktree
	extraIntent  = 0x2000 // intent-to-add
	fixedEntry   = 40     // bytes before the object name
)

// parseIndex reads an index of version 2 to 4 whose object names have so many bytes.
func parseIndex(data []byte, oidSize int) (index, error) {
	if len(data) < 12+oidSize || string(data[:4]) != "DIRC" {
		return index{}, fmt.Errorf("index: %w", errNotUnderstood)
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || uint64(count)*uint64(fixedEntry+oidSize+2) > uint64(len(data)) {
		return index{}, fmt.Errorf("index of version %d with %d entries: %w", version, count, errNotUnderstood)
	}
	p := indexParser{data: data[12 : len(data)-oidSize], oidSize: oidSize, version: version}
	ix := index{entries: make([]entry, 0, count)}
	for range count {
		e, err := p.entry()
		if err != nil {
			return index{}, err
		}
		ix.entries = append(ix.entries, e)
	}
	var err error
	ix.tree, err = p.extensions()
	return ix, err
}

type indexParser struct {
	data    []byte
	oidSize int
	version uint32
	last    string // name of the entry before
}

// take gives the next n bytes.
func (p *indexParser) take(n int) ([]byte, error) {
	if n < 0 || n > len(p.data) {
		return nil, fmt.Errorf("index ends early: %w", errNotUnderstood)
	}
	out := p.data[:n]
	p.data = p.data[n:]
	return out, nil
}

func (p *indexParser) entry() (entry, error) {
	left := len(p.data)
	b, err := p.take(fixedEntry + p.oidSize + 2)
	if err != nil {
		return entry{}, err
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	flags := binary.BigEndian.Uint16(b[fixedEntry+p.oidSize:])
	e := entry{
		ctime: [2]uint32{word(0), word(1)}, mtime: [2]uint32{word(2), word(3)}, mode: word(6), size: word(9),
		oid: string(b[fixedEntry : fixedEntry+p.oidSize]), unsure: flags&flagStage != 0,
	}
	if flags&flagExtended != 0 {
		extra, err := p.take(2)
		if err != nil {
			return entry{}, err
		}
		e.absent = binary.BigEndian.Uint16(extra)&extraSkip != 0
		e.unsure = e.unsure || binary.BigEndian.Uint16(extra)&extraIntent != 0
	}
	e.name, err = p.name(left)
	p.last = e.name
	return e, err
}

// name reads the name of an entry that began when so many bytes were left.
func (p *indexParser) name(left int) (string, error) {
	prefix := ""
	if p.version == 4 { // the end of the name before is cut off, and another put on
		cut, err := p.varint()
		if err != nil || cut > len(p.last) {
			return "", fmt.Errorf("index: %w", errNotUnderstood)
		}
		prefix = p.last[:len(p.last)-cut]
	}
	end := bytes.IndexByte(p.data, 0)
	if end < 0 {
		return "", fmt.Errorf("index: %w", errNotUnderstood)
	}
	name, err := p.take(end)
	if err != nil {
		return "", err
	}
	zeros := 1
	if p.version < 4 { // the entry is filled up to a multiple of eight
		zeros = 8 - (left-len(p.data))%8
	}
	_, err = p.take(zeros)
	return prefix + string(name), err
}

// varint reads a number as pack files have it.
func (p *indexParser) varint() (int, error) {
	n := 0
	for i := range 5 {
		b, err := p.take(1)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int(b[0]&0x7f)
		if b[0]&0x80 == 0 {
			return n, nil
		}
	}
	return 0, errNotUnderstood
}

// extensions looks for the cached tree. An extension that must be understood (its name begins with a small letter)
// is not.
func (p *indexParser) extensions() (tree string, err error) {
	for len(p.data) > 0 {
		head, err := p.take(8)
		if err != nil {
			return "", err
		}
		body, err := p.take(int(binary.BigEndian.Uint32(head[4:])))
		if err != nil {
			return "", err
		}
		if head[0] < 'A' || head[0] > 'Z' {
			return "", fmt.Errorf("index extension %q: %w", head[:4], errNotUnderstood)
		}
		if string(head[:4]) == "TREE" {
			tree = cachedTree(body, p.oidSize)
		}
	}
	return tree, nil
}

// cachedTree is the name of the whole tree, where the cache has it.
func cachedTree(body []byte, oidSize int) string {
	rest, ok := strings.CutPrefix(string(body), "\x00")
	counts, rest, found := strings.Cut(rest, "\n")
	if !ok || !found || strings.HasPrefix(counts, "-") || len(rest) < oidSize {
		return ""
	}
	return rest[:oidSize]
}
