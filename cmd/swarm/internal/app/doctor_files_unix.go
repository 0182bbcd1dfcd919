//go:build unix

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// way is who can get to a place: everybody, or the members of some group. Groups are not told apart: who comes as a
// member of one may be anybody to the next folder, so that both kinds of bits count.
type way struct{ group, others bool }

// through is the way on through a folder.
func (w way) through(mode fs.FileMode) way {
	return way{group: (w.group || w.others) && mode&0o011 != 0, others: w.others && mode&0o001 != 0}
}

// reads and writes report whether somebody else can do so at the end of a way.
func (w way) reads(mode fs.FileMode) bool {
	return (w.group || w.others) && mode&0o044 != 0
}

func (w way) writes(mode fs.FileMode) bool {
	return (w.group || w.others) && mode&0o022 != 0
}

// wayTo is the way to a folder itself, from the root. A folder on it that others can write without the sticky bit
// counts as writable: what lies in it can be replaced.
func wayTo(dir string) (w way, open []string) {
	var chain []string
	for at := dir; ; at = filepath.Dir(at) {
		chain = append(chain, at)
		if at == filepath.Dir(at) {
			break
		}
	}
	w = way{true, true}
	for i := len(chain) - 1; i > 0; i-- {
		info, err := os.Lstat(chain[i])
		if err != nil {
			return way{true, true}, open
		}
		if w.writes(info.Mode()) && info.Mode()&fs.ModeSticky == 0 {
			open = append(open, chain[i])
		}
		w = w.through(info.Mode())
	}
	return w, open
}

// lookAt says who else could read or change what lies below a folder.
func lookAt(dir string) Finding {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Finding{State: StateOK, Text: dir + " is not there yet"}
	}
	if err != nil {
		return exposed{unread: err}.finding(dir)
	}
	var x exposed
	w, open := wayTo(real)
	x.writable = open
	ways := map[string]way{filepath.Dir(real): w}
	err = filepath.WalkDir(real, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // gone meanwhile
				x.unread = err
			}
			return nil
		}
		if x.looked++; x.looked > maxLooked {
			x.looked, x.cut = maxLooked, true
			return filepath.SkipAll
		}
		if info, err := e.Info(); err == nil {
			x.look(path, info, ways)
		}
		return nil
	})
	if err != nil {
		x.unread = err
	}
	return x.finding(dir)
}

// look takes one file or folder. The mode of a link says nothing.
func (x *exposed) look(path string, info fs.FileInfo, ways map[string]way) {
	mode := info.Mode()
	w := ways[filepath.Dir(path)]
	if mode.IsDir() {
		ways[path] = w.through(mode)
	}
	if mode&fs.ModeSymlink != 0 {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		x.foreign = append(x.foreign, fmt.Sprintf("%s (user %d)", path, st.Uid))
		return
	}
	told := fmt.Sprintf("%s (mode %04o)", path, mode.Perm())
	switch reads := w.reads(mode); {
	case reads && !mode.IsDir() && isSecret(info.Name()):
		x.secrets = append(x.secrets, told)
	case w.writes(mode):
		x.writable = append(x.writable, told)
	case reads && mode.Type()&fs.ModeSocket == 0: // a socket is written, not read
		x.readable = append(x.readable, told)
	case mode.Perm()&0o077 != 0:
		x.wide++
	}
}

// room is how much of a disk is free for us, and its size, in bytes.
func room(dir string) (free, total uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	size := uint64(st.Bsize) //nolint:gosec,unconvert // its type differs between systems
	return uint64(st.Bavail) * size, uint64(st.Blocks) * size, nil
}
