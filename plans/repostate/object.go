package repostate

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

// treeOf is the raw name of a commit's tree.
func (r *repo) treeOf(commit string) (string, error) {
	raw, err := hex.DecodeString(commit)
	if err != nil {
		return "", err
	}
	if f, _, err := openRegular(r.common, "objects/"+commit[:2]+"/"+commit[2:]); err == nil {
		defer f.Close()
		return treeLine(f, len(commit), true)
	}
	dir, err := r.common.Open("objects/pack")
	if err != nil {
		return "", err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if stem, ok := strings.CutSuffix(name, ".idx"); ok {
			if tree, err := r.packedTree("objects/pack/"+stem, string(raw)); tree != "" || err != nil {
				return tree, err
			}
		}
	}
	return "", fmt.Errorf("commit %s: %w", commit, os.ErrNotExist)
}

// treeLine reads the first line of a commit, which names its tree. A loose object has a header before it.
func treeLine(compressed io.Reader, hexSize int, loose bool) (string, error) {
	z, err := zlib.NewReader(compressed)
	if err != nil {
		return "", err
	}
	defer z.Close()
	text := bufio.NewReader(io.LimitReader(z, 256))
	if loose {
		header, err := text.ReadString(0)
		if err != nil || !strings.HasPrefix(header, "commit ") {
			return "", fmt.Errorf("object: %w", errNotUnderstood)
		}
	}
	line, err := text.ReadString('\n')
	name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "tree ")
	if err != nil || !ok || len(name) != hexSize {
		return "", fmt.Errorf("commit: %w", errNotUnderstood)
	}
	raw, err := hex.DecodeString(name)
	return string(raw), err
}

// packedTree looks for a commit in one pack, and reads its tree; "" when it is not in this pack.
func (r *repo) packedTree(stem, commit string) (string, error) {
	offset, ok, err := r.packOffset(stem+".idx", commit)
	if err != nil || !ok {
		return "", err
	}
	pack, _, err := openRegular(r.common, stem+".pack")
	if err != nil {
		return "", err
	}
	defer pack.Close()
	in := bufio.NewReader(io.NewSectionReader(pack, offset, 1<<16))
	first, err := in.ReadByte()
	if err != nil || first>>4&7 != 1 {
		return "", fmt.Errorf("commit is stored as a difference: %w", errNotUnderstood)
	}
	for b := first; b&0x80 != 0; { // the rest of the size
		if b, err = in.ReadByte(); err != nil {
			return "", err
		}
	}
	return treeLine(in, 2*len(commit), false)
}

// packOffset looks an object up in a pack's index, version 2.
func (r *repo) packOffset(name, oid string) (offset int64, found bool, err error) {
	f, _, err := openRegular(r.common, name)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	idx := idxFile{f: f}
	if string(idx.bytes(0, 8)) != "\xfftOc\x00\x00\x00\x02" {
		return 0, false, fmt.Errorf("%s: %w", name, errNotUnderstood)
	}
	const fanout = 8
	first, last, all := int64(0), int64(idx.word(fanout+4*int64(oid[0]))), int64(idx.word(fanout+4*255))
	if oid[0] > 0 {
		first = int64(idx.word(fanout + 4*int64(oid[0]-1)))
	}
	names := int64(fanout + 4*256)
	size := int64(len(oid))
	for first < last && idx.err == nil {
		middle := (first + last) / 2
		switch at := string(idx.bytes(names+middle*size, int(size))); {
		case at == oid:
			offset := idx.word(names + all*(size+4) + 4*middle)
			if offset>>31 != 0 { // packs above 2 GiB have a table of their own
				at := names + all*(size+8) + 8*int64(offset&0x7fffffff)
				return int64(idx.word(at))<<32 | int64(idx.word(at+4)), true, idx.err
			}
			return int64(offset), true, idx.err
		case at < oid:
			first = middle + 1
		default:
			last = middle
		}
	}
	return 0, false, idx.err
}

// idxFile reads numbers of an index; after an error they are zero.
type idxFile struct {
	f   io.ReaderAt
	err error
}

func (x *idxFile) bytes(at int64, n int) []byte {
	b := make([]byte, n)
	if x.err == nil {
		_, x.err = x.f.ReadAt(b, at)
	}
	return b
}

func (x *idxFile) word(at int64) uint32 { return binary.BigEndian.Uint32(x.bytes(at, 4)) }
