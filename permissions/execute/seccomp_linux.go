package execute

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filtered says on which processors the socket filter can be made. Elsewhere [Open] lists what stays open.
var filtered = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// offsets in the kernel's struct seccomp_data; both processors are little-endian.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
	x32Bit     = 0x40000000 // calls of the x32 ABI have it, under other numbers
)

// denySockets lets this thread, and what it executes, open UNIX sockets only. Landlock denies TCP, and from ABI 10 UDP;
// multipath TCP is a protocol of its own and reached the broker past it (measured). io_uring opens sockets without the
// call that is looked at here. It needs no_new_privs.
func denySockets() error {
	arch, ok := filtered[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	refuse := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	filter := []unix.SockFilter{
		load(dataArch),
		skip(unix.BPF_JEQ, arch, 1, 0),
		give(refuse(unix.EPERM)), // a 32-bit program: its numbers mean other calls
		load(dataNumber),
		skip(unix.BPF_JGE, x32Bit, 0, 1),
		give(refuse(unix.ENOSYS)),
		skip(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 0, 1),
		give(refuse(unix.EPERM)),
		skip(unix.BPF_JEQ, unix.SYS_SOCKET, 1, 0),
		give(unix.SECCOMP_RET_ALLOW),
		load(dataArg0),
		skip(unix.BPF_JEQ, unix.AF_UNIX, 0, 1),
		give(unix.SECCOMP_RET_ALLOW),
		give(refuse(unix.EACCES)),
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	runtime.KeepAlive(filter)
	return err
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// skip goes on yes or no instructions further.
func skip(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func give(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}

// canFilter reports whether [denySockets] can work here, for what is told before a start.
func canFilter() bool { _, ok := filtered[runtime.GOARCH]; return ok }
