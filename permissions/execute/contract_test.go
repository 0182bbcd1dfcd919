//go:build linux

package execute_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"golang.org/x/sys/unix"
)

// contract is one as a judge gives it out.
func contract(dir, tree, command string, env ...string) *permissions.Contract {
	c := &permissions.Contract{Command: command, Dir: dir, Tree: tree, Env: append(slices.Clone(path), env...)}
	seal(c)
	return c
}

// seal sets the hash, by its description.
func seal(c *permissions.Contract) {
	b := []byte("swarm/contract/v1\n")
	for _, s := range append([]string{c.Command, c.Dir, c.Tree}, c.Env...) {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(b)
	c.Hash = hex.EncodeToString(sum[:])
}

// run carries out a contract and returns what it printed.
func run(t testing.TB, c *permissions.Contract) (string, execute.Result, error) {
	t.Helper()
	var out bytes.Buffer
	res, err := execute.Run(t.Context(), c, execute.Options{Stdout: &out, Stderr: &out})
	return out.String(), res, err
}

func TestRunIsExact(t *testing.T) {
	t.Parallel()
	tree := tempDir(t)
	if err := os.MkdirAll(tree+"/sub dir", 0o755); err != nil {
		t.Fatal(err)
	}
	out, res, err := run(t, contract(tree+"/sub dir", tree, "pwd; printf '%s|' \"$0\" \"$-\" \"$#\"; cat; echo 'ü\\n'; exit 9", "LC_ALL=C"))
	if want := tree + "/sub dir\n/bin/bash|hpBc|0|ü\\n\n"; out != want || res.Status != 9 || err != nil {
		t.Errorf("Run = %q, %d, %v, want %q, 9, nil", out, res.Status, err, want)
	}
}

func TestRunEnvironmentIsTheContracts(t *testing.T) {
	for _, e := range []string{"GIT_DIR=/x", "GOFLAGS=-exec=x", "LD_PRELOAD=", "BASH_ENV=/x", "SHELLOPTS=xtrace", "PS4=$(touch x)", "CANARY=1"} {
		key, value, _ := strings.Cut(e, "=")
		t.Setenv(key, value)
	}
	tree := tempDir(t)
	c := contract(tree, tree, `tr '\0' '\n' </proc/$$/environ`, "B=2 3", "A=", "LAST=\xff=x")
	out, _, err := run(t, c)
	if want := strings.Join(c.Env, "\n") + "\n"; out != want || err != nil {
		t.Errorf("environment = %q, %v, want %q", out, err, want)
	}
}

// Functions, options and start files that an environment carries do nothing, even when a contract had them.
func TestRunTakesNothingFromTheEnvironment(t *testing.T) {
	t.Setenv("BASH_FUNC_ls%%", "() { echo canary; }")
	tree := tempDir(t)
	writeFile(t, tree+"/rc", "echo canary")
	out, _, err := run(t, contract(tree, tree, "ls; echo end",
		"BASH_FUNC_ls%%=() { echo canary; }", "BASH_ENV="+tree+"/rc", "ENV="+tree+"/rc", "SHELLOPTS=xtrace:verbose", "PS4=canary", "HOME="+tree))
	if out != "rc\nend\n" || err != nil {
		t.Errorf("Run = %q, %v, want only ls and end", out, err)
	}
}

func TestRunReadsNothing(t *testing.T) {
	t.Parallel()
	tree := tempDir(t)
	out, _, err := run(t, contract(tree, tree, "readlink /proc/$$/fd/0; cat; echo end"))
	if out != "/dev/null\nend\n" || err != nil {
		t.Errorf("Run = %q, %v, want /dev/null and its end", out, err)
	}
}

func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	tree := tempDir(t)
	if _, _, err := run(t, contract(tree, tree, strays)); err != nil {
		t.Fatal(err)
	}
	wantDead(t, numbers(t, filepath.Join(tree, "pids"), 4)...)
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	tree := tempDir(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("its grant was revoked")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(tree + "/started"); err == nil {
				cancel(why)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	res, err := execute.Run(ctx, contract(tree, tree, "touch started; sleep 60"), execute.Options{})
	if res.Status != 137 || !errors.Is(err, why) || !errors.Is(err, execute.ErrKilled) || errors.Is(err, execute.ErrRefused) {
		t.Errorf("Run = %d, %v, want 137, ErrKilled and the cause", res.Status, err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	outside := tempDir(t)
	tree := tempDir(t)
	for _, dir := range []string{tree + "/dir", outside + "/dir"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, tree+"/file", "")
	for link, to := range map[string]string{"/in": "dir", "/out": outside, "/proc": "/proc/self/cwd"} {
		if err := os.Symlink(to, tree+link); err != nil {
			t.Fatal(err)
		}
	}
	linked := outside + "/tree"
	if err := os.Symlink(tree, linked); err != nil {
		t.Fatal(err)
	}
	ran := "touch " + tree + "/ran"
	altered := contract(tree, tree, ran)
	altered.Command += " "
	otherEnv := contract(tree, tree, ran, "A=1")
	otherEnv.Env[1] = "A=2"
	for name, c := range map[string]struct {
		contract *permissions.Contract
		is       error
	}{
		"none":             {nil, execute.ErrRefused},
		"altered bytes":    {altered, execute.ErrAltered},
		"altered variable": {otherEnv, execute.ErrAltered},
		"no hash":          {&permissions.Contract{Command: ran, Dir: tree, Tree: tree}, execute.ErrAltered},
		"empty":            {contract(tree, tree, ""), execute.ErrRefused},
		"NUL":              {contract(tree, tree, ran+"\x00"), execute.ErrRefused},
		"not UTF-8":        {contract(tree, tree, ran+"\xff"), execute.ErrRefused},
		"an option":        {contract(tree, tree, "-x"), execute.ErrRefused},
		"bad environment":  {contract(tree, tree, ran, "PATH=twice"), execute.ErrRefused},
		"relative":         {contract("dir", tree, ran), execute.ErrRefused},
		"not clean":        {contract(tree+"/dir/..", tree, ran), execute.ErrRefused},
		"gone":             {contract(tree+"/none", tree, ran), execute.ErrMoved},
		"a file":           {contract(tree+"/file", tree, ran), execute.ErrMoved},
		"a link inside":    {contract(tree+"/in", tree, ran), execute.ErrMoved},
		"a link outside":   {contract(tree+"/out/dir", tree, ran), execute.ErrMoved},
		"a magic link":     {contract(tree+"/proc", tree, ran), execute.ErrMoved},
		"outside":          {contract(outside, tree, ran), execute.ErrMoved},
		"above":            {contract(filepath.Dir(tree), tree, ran), execute.ErrMoved},
		"a linked tree":    {contract(linked, linked, ran), execute.ErrMoved},
	} {
		_, _, err := run(t, c.contract)
		if !errors.Is(err, c.is) || !errors.Is(err, execute.ErrRefused) {
			t.Errorf("%s: Run = %v, want %v", name, err, c.is)
		}
	}
	if _, err := os.Stat(tree + "/ran"); err == nil {
		t.Error("a refused contract ran")
	}
}

// While the directory is swapped for a link and back, a command runs in the directory that was judged, or not at all.
func TestRunWinsTheSwapRace(t *testing.T) {
	t.Parallel()
	tree := tempDir(t)
	writeFile(t, tree+"/dir/which", "judged")
	writeFile(t, tree+"/other/which", "other")
	if err := os.Symlink("other", tree+"/link"); err != nil {
		t.Fatal(err)
	}
	stop, swapped := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				swapped <- n
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, tree+"/dir", unix.AT_FDCWD, tree+"/link", unix.RENAME_EXCHANGE)
				time.Sleep(400 * time.Microsecond)
			}
		}
	}()
	ran, refused := 0, 0
	for end := time.Now().Add(time.Minute); (ran < runs || refused == 0) && time.Now().Before(end); {
		// The file is named through the working directory, where the kernel keeps it, not by path.
		switch out, _, err := run(t, contract(tree+"/dir", tree, "cat which")); {
		case err == nil && out == "judged":
			ran++
		case errors.Is(err, execute.ErrMoved):
			refused++
			time.Sleep(50 * time.Microsecond)
		default:
			t.Fatalf("Run = %q, %v, want the judged directory or ErrMoved", out, err)
		}
	}
	close(stop)
	t.Logf("ran %d, refused %d, swapped %d times", ran, refused, <-swapped)
	if ran < runs || refused == 0 {
		t.Errorf("ran %d and refused %d: nothing was raced", ran, refused)
	}
}

// hardenedHelper is a process that holds a seed, and starts commands.
func hardenedHelper() {
	if err := execute.Harden(); err != nil {
		panic(err)
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil || core.Max != 0 {
		panic("core files are not off")
	}
	dir := os.Getenv("DIR")
	res, err := execute.Run(background, contract(dir, dir, "ulimit -c; echo ran"), execute.Options{Stdout: os.Stdout})
	if err != nil || res.Status != 0 {
		panic(err)
	}
	os.Stdout.Close()
	select {}
}

func TestHarden(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	helper := exec.Command("/proc/self/exe")
	helper.Env, helper.Stdout, helper.Stderr = []string{helperVar + "=hardened", "DIR=" + tempDir(t)}, in, os.Stderr
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = helper.Process.Kill(); _ = helper.Wait() }()
	in.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(out); err != nil || b.String() != "0\nran\n" {
		t.Errorf("a hardened process ran %q, %v, want no core files, and a command", b.String(), err)
	}
	wantClosed(t, helper.Process.Pid)
}

// wantClosed looks whether the user's other processes can look into one.
func wantClosed(t testing.TB, pid int) {
	t.Helper()
	for _, secret := range []string{"mem", "environ"} {
		name := filepath.Join("/proc", strconv.Itoa(pid), secret)
		if st, err := os.Stat(name); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s belongs to its user, want root: %v", name, err)
		}
		if os.Geteuid() == 0 {
			continue // root reads everything
		}
		if f, err := os.Open(name); err == nil {
			f.Close()
			t.Errorf("%s can be opened by its user", name)
		}
	}
}

// BenchmarkRun is what carrying out a contract adds to its command.
func BenchmarkRun(b *testing.B) {
	tree := tempDir(b)
	c := contract(tree, tree, ":")
	for b.Loop() {
		if res, err := execute.Run(b.Context(), c, execute.Options{}); res.Status != 0 || err != nil {
			b.Fatal(res, err)
		}
	}
}
