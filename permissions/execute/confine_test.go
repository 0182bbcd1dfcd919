//go:build linux

package execute_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/planswarm/swarm/permissions/execute"
	"golang.org/x/sys/unix"
)

// den is a place with a working tree, a plan folder inside a state folder, a temporary folder, a key and a gate's socket.
type den struct {
	dir, tree, state, plan, temp, key, binary, gate string
}

func newDen(t testing.TB) den {
	t.Helper()
	dir := tempDir(t)
	d := den{
		dir: dir, tree: dir + "/tree", state: dir + "/state", plan: dir + "/state/team/work", temp: dir + "/temp",
		key: dir + "/state/team/owner.seed", binary: dir + "/bin/swarm", gate: dir + "/run/gate.sock",
	}
	writeFile(t, d.tree+"/main.go", "package main")
	writeFile(t, d.tree+"/agent.sh", "#!/bin/bash\necho agent runs\n")
	writeFile(t, d.tree+"/sub/file", "")
	writeFile(t, d.plan+"/plan.md", "old")
	writeFile(t, d.temp+"/x/file", "")
	writeFile(t, d.temp+"/y/file", "")
	writeFile(t, d.key, "SUSECRET")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, d.binary, string(self))
	for _, program := range []string{d.binary, d.tree + "/agent.sh"} {
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(d.gate), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		d.tree + "/key": d.key, d.plan + "/code": d.tree + "/main.go", d.temp + "/new": d.tree + "/new", d.temp + "/all": d.dir,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	listen(t, "unix", d.gate)
	return d
}

func (d den) confine() *execute.Confine {
	return &execute.Confine{
		Read: []string{d.tree, d.binary}, Write: []string{d.plan, d.temp}, Connect: []string{d.gate},
		Forbidden: []string{d.state}, Require: true,
	}
}

// listen serves one answer on a UNIX or TCP address until the test ends.
func listen(t testing.TB, network, address string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("served\n"))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr()
}

// tries runs each line under the confinement and returns the names of those that succeeded.
func tries(t testing.TB, d den, c *execute.Confine, lines map[string]string) []string {
	t.Helper()
	var script strings.Builder
	for name, line := range lines {
		fmt.Fprintf(&script, "( %s ) >/dev/null 2>&1 && echo '%s'\n", line, name)
	}
	env := append(slices.Clone(path), "TREE="+d.tree, "STATE="+d.state, "PLAN="+d.plan, "TMP="+d.temp, "KEY="+d.key, "DEN="+d.dir)
	out, _, err := output(t, execute.Spec{Argv: shell(script.String() + "exit 0"), Dir: d.tree, Env: env, Confine: c})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Split(strings.TrimSpace(out), "\n")
}

func TestConfineAllows(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	lines := map[string]string{
		"read the tree":        `grep package main.go && ls "$TREE"`,
		"run from the tree":    `./agent.sh`,
		"write the plan":       `echo new >"$PLAN/plan.md"`,
		"new plan":             `echo new >"$PLAN/next.md"`,
		"temporary file":       `echo x >"$TMP/a" && rm "$TMP/a" && mkdir "$TMP/b" && rmdir "$TMP/b"`,
		"move among temporary": `mv "$TMP/x/file" "$TMP/y/moved"`,
		"here-document":        `TMPDIR=$TMP cat <<<x`,
		"pipes and devices":    `head -c 8 /dev/urandom | cat >/dev/null; echo >/dev/stdout; exec 2>/dev/null`,
		"users and names":      `id -un; getent passwd root`,
		"programs":             `find . -name '*.go' | xargs wc -l; awk 1 main.go; perl -e 1; git --version`,
		"own process":          `cat /proc/self/environ && cat /proc/$$/maps`,
		"kill own child":       `sleep 60 & kill %1`,
	}
	done := tries(t, d, d.confine(), lines)
	for name := range lines {
		if !slices.Contains(done, name) {
			t.Errorf("%s was refused: %s", name, lines[name])
		}
	}
	if got := readFile(t, d.plan+"/plan.md"); got != "new\n" {
		t.Errorf("the plan = %q, want it written", got)
	}
}

func TestConfineRefuses(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	lines := map[string]string{
		"write the tree":          `echo x >main.go`,
		"append":                  `echo x >>main.go`,
		"truncate":                `truncate -s 0 main.go`,
		"new file":                `touch new`,
		"new folder":              `mkdir new`,
		"delete":                  `rm -f sub/file`,
		"rename":                  `mv main.go main2.go`,
		"by absolute path":        `echo x >"$TREE/main.go"`,
		"through a link":          `echo x >"$PLAN/code"`,
		"create through a link":   `echo x >"$TMP/new"`,
		"create through a folder": `echo x >"$TMP/all/tree/new"`,
		"new link, then through":  `ln -sf "$TREE/main.go" "$TMP/l" && echo x >"$TMP/l"`,
		"hard link out of reach":  `ln "$KEY" "$TMP/key"`,
		"hard link of the tree":   `ln main.go "$TMP/main.go"`,
		"move out of the tree":    `mv sub/file "$TMP/"`,
		"move into the tree":      `mv "$TMP/y/file" sub/`,
		"read the key":            `cat "$KEY"`,
		"read the key by a link":  `cat key`,
		"read the key by dots":    `cat "$PLAN/../owner.seed"`,
		"list the state":          `ls "$STATE"`,
		"list what lies around":   `ls "$DEN"`,
		"write into the state":    `touch "$STATE/x"`,
		"list /":                  `ls /`,
		"list /etc":               `ls /etc`,
		"read the home":           `ls ~root`,
		"password hashes":         `cat /etc/shadow`,
		"host keys":               `cat /etc/ssh/ssh_host_*`,
		"temporary of all":        `touch /tmp/execute-test`,
		"shared memory":           `touch /dev/shm/execute-test`,
		"environment of others":   `cat /proc/$OUTER/environ`,
		"memory of others":        `head -c 1 /proc/$OUTER/mem`,
		"files of others":         `ls /proc/$OUTER/root/ || cat /proc/$OUTER/fd/0`,
		"environment of reaper":   `cat /proc/$PPID/environ`,
		"kernel memory":           `head -c 1 /proc/kcore`,
		"kernel settings":         `echo 1 >/proc/sys/vm/drop_caches`,
		"its own oom score":       `echo 1 >/proc/self/oom_score_adj`,
		"device":                  `mknod "$TMP/null" c 1 3`,
		"mount":                   `mount -t tmpfs none "$TMP"`,
		"mount as another root":   `unshare -rm mount -t tmpfs none "$TMP"`,
		"kill the reaper":         `kill -0 $PPID`,
		"kill others":             `kill -0 $OUTER`,
		"trace others":            `strace -p $OUTER`,
		"system folders":          `touch /usr/x`,
		"run from the state":      `cp /bin/true "$STATE/true"`,
		"edit in place":           `sed -i s/main/x/ main.go`,
		"a repository":            `git init .`,
	}
	for name, line := range lines {
		lines[name] = strings.ReplaceAll(line, "$OUTER", strconv.Itoa(os.Getpid()))
	}
	for _, name := range tries(t, d, d.confine(), lines) {
		if name != "" {
			t.Errorf("%s passed: %s", name, lines[name])
		}
	}
	if got := readFile(t, d.tree+"/main.go") + readFile(t, d.key); got != "package mainSUSECRET" {
		t.Errorf("files were changed: %q", got)
	}
}

// A plan file alone may be writable, and not its neighbours.
func TestConfineOneFile(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	c := &execute.Confine{Read: []string{d.tree}, Write: []string{d.plan + "/plan.md"}}
	done := tries(t, d, c, map[string]string{
		"plan": `echo x >"$PLAN/plan.md"`, "neighbour": `echo x >"$PLAN/other.md"`, "delete": `rm -f "$PLAN/plan.md"`,
	})
	if !slices.Equal(done, []string{"plan"}) {
		t.Errorf("passed %q, want only the plan", done)
	}
}

// clientHelper is a thin client in a confinement: it finds its ancestor, and asks the gate.
func clientHelper() {
	for pid := os.Getpid(); strconv.Itoa(pid) != os.Getenv("OUTER"); {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			panic(err)
		}
		pid, err = strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
		if err != nil || pid == 0 {
			panic("no ancestor")
		}
	}
	c, err := net.Dial("unix", os.Getenv("GATE"))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	fmt.Print(line, err)
}

func TestConfinedClientReachesItsGate(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	out, _, err := output(t, execute.Spec{
		Argv: shell(d.binary), Dir: d.tree, Confine: d.confine(),
		Env: append(slices.Clone(path), helperVar+"=client", "GATE="+d.gate, "OUTER="+strconv.Itoa(os.Getpid())),
	})
	if out != "served\n<nil>" || err != nil {
		t.Errorf("the client said %q, %v, want an answer of the gate", out, err)
	}
}

// networkHelper dials what it is told, and says which it reached.
func networkHelper() {
	for _, to := range strings.Fields(os.Getenv("DIAL")) {
		network, address, _ := strings.Cut(to, "=")
		if c, err := net.Dial(network, address); err == nil {
			fmt.Println(network, "reached")
			c.Close()
		} else {
			fmt.Println(network, errors.Is(err, fs.ErrPermission))
		}
	}
	if l, err := net.Listen("tcp4", "127.0.0.1:0"); err == nil {
		_ = l.Close()
	}
}

func TestConfineNetwork(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	abstract := "@execute-test-" + strconv.Itoa(os.Getpid())
	dial := "tcp4=" + listen(t, "tcp4", "127.0.0.1:0").String() + " unix=" + listen(t, "unix", abstract).String()
	for _, c := range []struct {
		network bool
		want    string
	}{{false, "tcp4 true\nunix true\n"}, {true, "tcp4 reached\nunix true\n"}} {
		confine := d.confine()
		confine.Connect, confine.Network = nil, c.network
		out, _, err := output(t, execute.Spec{
			Argv: []string{d.binary}, Dir: d.tree, Confine: confine, Env: []string{helperVar + "=network", "DIAL=" + dial},
		})
		if out != c.want || err != nil {
			t.Errorf("network %v: %q, %v, want %q", c.network, out, err, c.want)
		}
	}
}

func TestConfineForbidden(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	alias := d.dir + "/alias"
	if err := os.Symlink(d.state, alias); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		confine execute.Confine
		ok      bool
	}{
		"around it":          {execute.Confine{Read: []string{d.dir}, Forbidden: []string{d.state}}, false},
		"far around it":      {execute.Confine{Read: []string{"/"}, Forbidden: []string{d.state}}, false},
		"itself":             {execute.Confine{Read: []string{d.state}, Forbidden: []string{d.state}}, false},
		"writable":           {execute.Confine{Write: []string{d.dir}, Forbidden: []string{d.state}}, false},
		"connectable":        {execute.Confine{Connect: []string{d.dir}, Forbidden: []string{d.state}}, false},
		"by a link":          {execute.Confine{Read: []string{d.dir}, Forbidden: []string{alias}}, false},
		"allowed by a link":  {execute.Confine{Read: []string{alias}, Forbidden: []string{d.state}}, false},
		"not there yet":      {execute.Confine{Read: []string{d.dir}, Forbidden: []string{d.dir + "/later/swarm"}}, false},
		"in a system folder": {execute.Confine{Forbidden: []string{"/usr/share/swarm-state"}}, false},
		"beside it":          {execute.Confine{Read: []string{d.tree}, Forbidden: []string{d.state}}, true},
		"inside it":          {execute.Confine{Write: []string{d.plan}, Forbidden: []string{d.state}}, true},
		"relative":           {execute.Confine{Read: []string{"tree"}}, false},
		"missing":            {execute.Confine{Read: []string{d.dir + "/none"}}, false},
	} {
		p, err := execute.Start(t.Context(), execute.Spec{Argv: shell("true"), Dir: "/usr", Confine: &c.confine})
		if err == nil {
			_ = p.Kill()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: Start = %v, want success %v", name, err, c.ok)
		}
	}
}

func TestConfineStartErrors(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	writeFile(t, d.dir+"/program", "#!/bin/sh\n")
	if err := os.Chmod(d.dir+"/program", 0o755); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]error{d.dir + "/program": fs.ErrPermission, d.tree + "/none": fs.ErrNotExist} {
		p, err := execute.Start(t.Context(), execute.Spec{Argv: []string{program}, Dir: d.tree, Confine: d.confine()})
		if err == nil {
			_ = p.Kill()
		}
		if !errors.Is(err, want) {
			t.Errorf("Start(%s) = %v, want %v", program, err, want)
		}
	}
}

func TestConfinedSurroundings(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	extra, err := os.Open(d.key) // a descriptor that is given is a right that is given
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	p := start(t, execute.Spec{Argv: shell("sleep 60"), Dir: d.tree, Confine: d.confine()})
	abi, ok := execute.Supported()
	if e := p.Enforcement(); !ok || !e.Enforced || e.ABI != abi || len(e.Open) == 0 {
		t.Errorf("Enforcement = %+v, want Landlock %d", e, abi)
	}
	_ = p.Kill()
	wantDead(t, p.Pid())
	out, status, err := output(t, execute.Spec{
		Argv: shell(`for f in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$f ] && printf '%s ' $f; done; cat <&3; env; grep -e NoNewPrivs -e CapEff /proc/$$/status; exit 5`),
		Dir:  d.tree, Env: []string{"A=\xff"}, Confine: d.confine(), ExtraFiles: []*os.File{extra},
	})
	caps := "0000000000000000"
	if os.Geteuid() == 0 {
		caps = "000000000000001b" // chown, dac_override, fowner, fsetid
	}
	for _, want := range []string{"0 1 2 3 SUSECRET", "A=\xff\n", "CapEff:\t" + caps, "NoNewPrivs:\t1"} {
		if !strings.Contains(out, want) {
			t.Errorf("the target saw %q, want %q in it", out, want)
		}
	}
	if status != 5 || err != nil {
		t.Errorf("Wait = %d, %v, want 5, nil", status, err)
	}
}

func TestConfinedStraysAreKilled(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	_, _, err := output(t, execute.Spec{Argv: shell(strays), Dir: d.temp, Confine: d.confine()})
	if err != nil {
		t.Fatal(err)
	}
	wantDead(t, numbers(t, filepath.Join(d.temp, "pids"), 4)...)
}

// Landlock alone lets a confined process reach the broker, and any host, by multipath TCP and by UDP.
func TestOnlyUnixSockets(t *testing.T) {
	program := `import socket, ctypes
for name, domain, kind, protocol in (("tcp", 2, 1, 0), ("tcp6", 10, 1, 0), ("mptcp", 2, 1, 262), ("udp", 2, 2, 0), ("netlink", 16, 3, 0), ("unix", 1, 1, 0)):
    try:
        socket.socket(domain, kind, protocol)
        print(name, "open")
    except OSError as e:
        print(name, e.errno)
print("uring", ctypes.CDLL(None, use_errno=True).syscall(425, 1, 0), ctypes.get_errno())
`
	got, status := confinedOutput(t, []string{python(t), "-c", program})
	want := "tcp 13\ntcp6 13\nmptcp 13\nudp 13\nnetlink 13\nunix open\nuring -1 1\n"
	if got != want || status != 0 {
		t.Errorf("confined sockets:\n%s(status %d)\nwant\n%s", got, status, want)
	}
}

// python is an interpreter of the system's own, which a confined process may read.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Fatalf("python3 of the system is needed: %v", err)
	}
	return path
}

func confinedOutput(t *testing.T, argv []string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	p, err := execute.Start(t.Context(), execute.Spec{Argv: argv, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out, Confine: &execute.Confine{}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), status
}

func TestOpen(t *testing.T) {
	has := func(abi int, network bool, word string) bool {
		return strings.Contains(strings.Join(execute.Open(abi, network), "\n"), word)
	}
	for _, c := range []struct {
		word     string
		closedBy int // the first ABI that closes it; 0: none
	}{
		{"everything", 1},
		{"truncate", 3},
		{"TCP", 1}, // the socket filter denies what an older Landlock does not
		{"ioctl", 5},
		{"signals", 6},
		{"abstract UNIX", 6},
		{"sockets with a path", 9},
		{"UDP", 1},
		{"chmod", 0},
		{"multipath", 1},
	} {
		for abi := 1; abi <= 12; abi++ {
			if want := c.closedBy == 0 || abi < c.closedBy; has(abi, false, c.word) != want {
				t.Errorf("Open(%d) says %q = %v, want %v", abi, c.word, !want, want)
			}
		}
	}
	if has(1, true, "TCP") {
		t.Error("an allowed network is listed as open")
	}
}

// noLandlockHelper is a process on a kernel without Landlock: its system call is missing.
func noLandlockHelper() {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		panic(errno)
	}
	abi, ok := execute.Supported()
	fmt.Println(abi, ok)
	spec := execute.Spec{Argv: shell("echo ran; exit 4"), Dir: "/", Stdout: os.Stdout, Confine: &execute.Confine{Forbidden: []string{"/"}}}
	p, err := execute.Start(background, spec)
	if err != nil {
		panic(err)
	}
	status, err := p.Wait()
	fmt.Println(status, err, p.Enforcement())
	spec.Confine.Require = true
	_, err = execute.Start(background, spec)
	fmt.Println(errors.Is(err, execute.ErrNotConfined))
}

func TestWithoutLandlock(t *testing.T) {
	t.Parallel()
	helper := exec.Command("/proc/self/exe")
	helper.Env = []string{helperVar + "=noLandlock"}
	out, err := helper.CombinedOutput()
	want := "0 false\nran\n4 <nil> {false 0 [everything: this system has no Landlock]}\ntrue\n"
	if string(out) != want || err != nil {
		t.Errorf("without Landlock: %q, %v, want %q", out, err, want)
	}
}

// What a user who is not root can do is another thing: the tests run as nobody too.
func TestAsNobody(t *testing.T) {
	if os.Geteuid() != 0 || raced {
		return // this is it; and whose process it is makes no data race
	}
	t.Parallel()
	const nobody = 65534
	dir := tempDir(t)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chown(d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	suite := exec.Command("/proc/self/exe", "-test.run=^Test(ConfineA|ConfineR|Confined|Without|RunI|RunT|KillEnds|Killed|StartE|Harden|Reaper|Clean)", "-test.v")
	suite.Dir, suite.Env = dir, []string{"TMPDIR=" + dir, "HOME=/nonexistent"}
	suite.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := suite.CombinedOutput(); err != nil || strings.Count(string(out), "--- PASS") < 15 {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
