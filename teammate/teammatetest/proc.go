package teammatetest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// clientOf is the process below a runner whose command line begins with a program; 0 is none.
func clientOf(mate *Process, program string) int {
	children := childrenOf()
	for level := []int{mate.Cmd.Process.Pid}; len(level) > 0; {
		var next []int
		for _, pid := range level {
			for _, child := range children[pid] {
				if argv0(child) == program {
					return child
				}
				next = append(next, child)
			}
		}
		level = next
	}
	return 0
}

// childrenOf are the processes of this machine that run, by their parent.
func childrenOf() map[int][]int {
	children := map[int][]int{}
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		data, err := os.ReadFile(name)
		end := bytes.LastIndexByte(data, ')') // a name may have one too
		if err != nil || end < 0 {
			continue // it has ended
		}
		var pid, parent int
		var state string
		_, err1 := fmt.Sscan(string(data), &pid)
		_, err2 := fmt.Sscan(string(data[end+1:]), &state, &parent)
		if err1 == nil && err2 == nil && state != "Z" {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

func argv0(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if i := slices.Index(data, 0); err == nil && i >= 0 {
		return string(data[:i])
	}
	return ""
}

// left are the processes that work in the tree, as the client and all that it starts do.
func (s *Swarm) left() []int {
	var pids []int
	names, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, name := range names {
		var pid int
		if cwd, err := os.Readlink(name); err != nil || cwd != s.Tree {
			continue
		}
		if _, err := fmt.Sscanf(name, "/proc/%d/cwd", &pid); err == nil && pid != s.Up.Cmd.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// NothingLeft waits until no process works in the tree but the broker.
func (s *Swarm) NothingLeft() {
	s.T.Helper()
	s.Until("the end of all that was started", func() bool { return len(s.left()) == 0 })
}

// KillClient kills a teammate's client, whose command line begins with a program, and waits until the adapter runs another
// one.
func (s *Swarm) KillClient(mate *Process, program string) {
	s.T.Helper()
	old := clientOf(mate, program)
	if old == 0 {
		s.T.Fatalf("no process %s below the teammate", program)
	}
	p, err := os.FindProcess(old)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		s.T.Fatal(err)
	}
	s.Until("a new client", func() bool {
		mate.alive()
		now := clientOf(mate, program)
		return now != 0 && now != old
	})
}

// Memory is what a process has of the machine's memory now, in MiB: its own with its share of what it has in common with
// others, and with all of that.
func (s *Swarm) Memory(p *Process) (share, resident float64) {
	s.T.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.Cmd.Process.Pid))
	if err != nil {
		s.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "Pss: %f kB", &kib); err == nil {
			share = kib / 1024
		}
		if _, err := fmt.Sscanf(line, "Rss: %f kB", &kib); err == nil {
			resident = kib / 1024
		}
	}
	if share == 0 || resident == 0 {
		s.T.Fatalf("no Pss and Rss in %s", data)
	}
	return share, resident
}
