package execute

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// children lists the direct children of this process, also those that became its children when their parents died.
// The list may miss what happens meanwhile: whether there are none left is for wait4 to say.
//
// Only direct children are looked for, never whole trees: a child's number cannot be used again before we reap it, a
// grandchild's can.
func children() []int {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	if len(files) == 0 {
		return scanChildren() // a kernel without CONFIG_PROC_CHILDREN
	}
	var pids []int
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for _, field := range bytes.Fields(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// scanChildren looks at every process for those whose parent we are.
func scanChildren() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && parentOf(pid) == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf is the parent of a process, or 0 when there is no such process.
func parentOf(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// pid (name) state parent ...: the name may hold blanks and brackets
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
