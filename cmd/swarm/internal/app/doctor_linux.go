package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/planswarm/swarm/permissions/execute"
)

// kernel tries what the guarantees rest on.
func (d *doctor) kernel() {
	d.landlock()
	if err := tryOpenat2(); err != nil {
		d.add("openat2", StateBad, fmt.Sprintf("it fails (%v): no command of a teammate is run", err), "use Linux 5.6 or newer, and a container that allows openat2")
	} else {
		d.add("openat2", StateOK, "directories are opened without following links", "")
	}
	if err := trySubreaper(); err != nil {
		d.add("subreaper", StateBad, fmt.Sprintf("it fails (%v): no command of a teammate is run", err), "use a container that allows prctl")
	} else {
		d.add("subreaper", StateOK, "what a command leaves running is found and killed", "")
	}
	if _, all := ancestors(os.Getpid()); !all {
		d.add("processes", StateBad, "/proc does not show every parent of this process: every leader's command is refused as a teammate's", "mount /proc without hidepid, or run swarm outside of this container")
	} else {
		d.add("processes", StateOK, "/proc shows who started whom", "")
	}
	if dir, err := tryCgroup(); err != nil {
		d.add("cgroup", StateOK, fmt.Sprintf("not delegated (%v): not needed, strays are found by the subreaper", err), "")
	} else {
		d.add("cgroup", StateOK, dir+" is delegated to this user; not needed, strays are found by the subreaper", "")
	}
}

func (d *doctor) landlock() {
	abi, ok := execute.Supported()
	open := strings.Join(execute.Open(abi, false), "; ")
	switch {
	case !ok:
		d.add("landlock", StateWarn, "missing: plan mode of scripts is NOT ENFORCED by the kernel", "use Linux 5.13 or newer with Landlock switched on (lsm=landlock), or run teammates as another user")
	case abi < unixSocketABI:
		d.add("landlock", StateWarn, fmt.Sprintf("ABI %d confines teammates' programs; open: %s", abi, open), "let no agent, D-Bus or container socket be reachable for teammates, or use a newer Linux (7.1 closes these sockets)")
	default:
		d.add("landlock", StateOK, fmt.Sprintf("ABI %d confines teammates' programs; open: %s", abi, open), "")
	}
}

// unixSocketABI is the first ABI of Landlock that closes UNIX sockets with a path.
const unixSocketABI = 9

func tryOpenat2() error {
	root, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// trySubreaper becomes one, and is none afterwards.
func trySubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
}

// tryCgroup makes a group below our own, and removes it.
func tryCgroup() (string, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		dir := filepath.Join("/sys/fs/cgroup", path)
		try := filepath.Join(dir, fmt.Sprintf("swarm-doctor-%d", os.Getpid()))
		if err := os.Mkdir(try, 0o700); err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(try, "cgroup.procs")); err != nil { // a folder like any other
			_ = os.Remove(try)
			return "", fmt.Errorf("%s is no cgroup", dir)
		}
		return dir, os.Remove(try)
	}
	return "", fmt.Errorf("no unified hierarchy (cgroup v2)")
}
