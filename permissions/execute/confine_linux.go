package execute

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported returns the Landlock ABI of the running kernel, and whether there is one. See [Open] for what an ABI lacks.
func Supported() (abi int, ok bool) {
	abi = landlockABI()
	return abi, abi > 0
}

// confineMain is the stage between the reaper and a confined target. The order is read from descriptor args[0]; what is
// said goes to descriptor args[1]. On success it becomes the target, so it never returns 0.
func confineMain(args []string) int {
	runtime.LockOSThread() // restrictions are of a thread, and execve is to be by the same
	if len(args) != 2 {
		return statusNotRun
	}
	from, err1 := strconv.Atoi(args[0])
	to, err2 := strconv.Atoi(args[1])
	if err1 != nil || err2 != nil {
		return statusNotRun
	}
	say := os.NewFile(uintptr(to), "stage")
	o, err := readOrder(from)
	if err != nil {
		failed("read the order", err).send(say)
		return statusNotRun
	}
	r := confineSelf(*o.Confine)
	r.send(say)
	if r.err() != nil {
		return statusNotRun
	}
	_ = unix.Close(from)
	unix.CloseOnExec(to)
	name := string(o.Program)
	err = syscall.Exec(name, stringsOf(o.Argv), stringsOf(o.Env))
	failed(fmt.Sprintf("start %q", name), err).send(say)
	return statusNotRun
}

// confineSelf confines this thread and what it executes.
func confineSelf(c Confine) report {
	abi, ok := Supported()
	if !ok {
		if c.Require {
			return report{NotConfined: true, Err: "this kernel has no Landlock: start without Require, and say NOT ENFORCED"}
		}
		return report{}
	}
	rules, err := c.rules(abi)
	if err != nil {
		return failed("confine", err)
	}
	if err := restrict(abi, c.Network, rules); err != nil {
		return failed("confine", err)
	}
	open := dropCapabilities()
	if !c.Network && canFilter() {
		if err := denySockets(); err != nil {
			open = append(open, "network protocols other than TCP (the socket filter could not be set: "+err.Error()+")")
		}
	}
	return report{ABI: abi, Open: open}
}

// rules opens everything that is allowed, and looks whether a forbidden folder is among it.
func (c Confine) rules(abi int) (rules []rule, err error) {
	for _, p := range systemPaths() {
		r, err := openRule(p.path, p.rights)
		if err != nil {
			continue // not every system has every folder
		}
		rules = append(rules, r)
	}
	for _, list := range []struct {
		paths  []string
		rights uint64
	}{{c.Read, rightsRead}, {c.Write, rightsWrite}, {c.Connect, rightsConnect}} {
		for _, path := range list.paths {
			r, err := openRule(path, list.rights)
			if err != nil {
				return nil, fmt.Errorf("allowed path %q: %w", path, err)
			}
			rules = append(rules, r)
		}
	}
	for i := range rules {
		rules[i].rights &= handled(abi)
	}
	return rules, c.checkForbidden(rules)
}

// checkForbidden refuses rules that open a forbidden folder. It goes the way of the kernel: from the folder up to the
// root, comparing what lies there with what the rules name, by file identity and not by spelling.
func (c Confine) checkForbidden(rules []rule) error {
	for _, path := range c.Forbidden {
		real, err := resolve(path)
		if err != nil {
			return fmt.Errorf("forbidden path %q: %w", path, err)
		}
		for at := real; ; at = filepath.Dir(at) {
			var st unix.Stat_t
			if err := unix.Stat(at, &st); err != nil && at == "/" {
				return fmt.Errorf("forbidden path %q: %w", path, err)
			} else if err == nil {
				for _, r := range rules {
					if r.dev == st.Dev && r.ino == st.Ino {
						return fmt.Errorf("%q would open %q, which has to stay closed: allow a narrower folder, or keep it elsewhere", r.path, path)
					}
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return nil
}
