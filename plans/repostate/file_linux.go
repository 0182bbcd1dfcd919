package repostate

import (
	"io/fs"
	"syscall"
)

// changeTime is when the file was changed last in any way, which nobody can set.
func changeTime(info fs.FileInfo) (at [2]uint32, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return at, false
	}
	return [2]uint32{uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec)}, true
}
