//go:build unix

package execute

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// accounts knows which groups are shared with other users, from /etc/passwd and /etc/group. A group that stands in
// neither is shared.
type accounts struct {
	user   uint32
	groups map[uint32]bool // that nobody but this user and root is in
}

func newAccounts() accounts {
	a := accounts{user: uint32(os.Geteuid()), groups: map[uint32]bool{0: true}}
	mine := map[string]bool{"root": true}
	shared := map[uint32]bool{}
	for _, f := range accountLines("/etc/passwd", 4) {
		uid, gid := number(f[2]), number(f[3])
		if uid == a.user {
			mine[f[0]] = true
		} else if uid != 0 {
			shared[gid] = true
		}
	}
	for _, f := range accountLines("/etc/group", 4) {
		gid := number(f[2])
		alone := !shared[gid]
		for member := range strings.SplitSeq(f[3], ",") {
			alone = alone && (member == "" || mine[member])
		}
		if alone {
			a.groups[gid] = true
		}
	}
	return a
}

// accountLines are the fields of each line that has at least n.
func accountLines(name string, n int) (lines [][]string) {
	data, _ := os.ReadFile(name)
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= n {
			lines = append(lines, f)
		}
	}
	return lines
}

// number is the largest there is, which no account has, for what is none.
func number(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return ^uint32(0)
	}
	return uint32(n)
}

// trust reports whether only this user and root decide what lies in dir, which is absolute and without links.
func (a accounts) trust(dir string) bool {
	for at := dir; ; at = filepath.Dir(at) {
		fi, err := os.Lstat(at)
		if err != nil || !fi.IsDir() {
			return false
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && st.Uid != a.user {
			return false
		}
		shared := fi.Mode()&0o002 != 0 || fi.Mode()&0o020 != 0 && !a.groups[uint32(st.Gid)]
		if shared && (at == dir || fi.Mode()&os.ModeSticky == 0) {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}
