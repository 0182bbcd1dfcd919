package execute

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ChildMain turns this process into what it was started as, when [Start] started it: a reaper, or the stage that confines
// itself and becomes the target. Then it does not return. In every other process it returns at once.
//
// Call it first in main and in TestMain. What it does needs nothing of the program around it, and nothing that the
// program does before is undone.
func ChildMain() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case argReaper:
		os.Exit(reaperMain())
	case argConfine:
		os.Exit(confineMain(os.Args[2:]))
	}
}

// closeOnExec keeps every descriptor above 2 from the programs that this process starts, also those that were open when
// it was started. They cannot simply be closed: some belong to the Go runtime.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
