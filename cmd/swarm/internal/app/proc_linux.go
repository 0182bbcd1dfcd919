package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// process is what /proc says of one.
type process struct {
	pid, parent int
	ticks       uint64 // start time, in clock ticks since boot: pid and ticks together are never used twice
}

// lookup reads /proc/PID/stat. The name in it may hold blanks and brackets, so fields count from the last bracket.
func lookup(pid int) (process, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	i := bytes.LastIndexByte(data, ')')
	f := strings.Fields(string(data[i+1:]))
	if len(f) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(f[1])
	ticks, err2 := strconv.ParseUint(f[19], 10, 64)
	return process{pid, parent, ticks}, err == nil && err2 == nil
}

func startTicks(pid int) uint64 {
	p, _ := lookup(pid)
	return p.ticks
}

// alive reports whether the process that once had this pid and start time still runs.
func alive(pid int, ticks uint64) bool {
	p, ok := lookup(pid)
	return ok && p.ticks == ticks
}

// ancestors are the process itself, its parent, and so on up to the first one. Not all says that the line was cut: a
// process on it has ended meanwhile, and what stands above it is not known.
func ancestors(pid int) (line []process, all bool) {
	for pid > 0 && len(line) < 1000 {
		p, ok := lookup(pid)
		if !ok {
			return line, false
		}
		line = append(line, p)
		pid = p.parent
	}
	return line, pid == 0
}

// insideTeammate reports whether a process was started by a teammate's runner, whatever its environment says now. What
// cannot be known counts as yes.
func insideTeammate(pid int) bool {
	line, all := ancestors(pid)
	return !all || slices.ContainsFunc(line, func(p process) bool { return isRunner(p.pid) })
}

// isRunner looks at what a process is: a runner, or the reaper of a command that a runner started.
func isRunner(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	args := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	if len(args) < 2 {
		return false
	}
	if strings.HasPrefix(args[1], "__swarm-") {
		return true
	}
	return isSwarm(pid) && slices.ContainsFunc(args[1:], func(a string) bool { return a == "teammate" || a == "mcp" })
}

func isSwarm(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	if strings.TrimSuffix(filepath.Base(exe), " (deleted)") == "swarm" {
		return true
	}
	own, err := os.Stat("/proc/self/exe")
	other, err2 := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && err2 == nil && os.SameFile(own, other)
}
