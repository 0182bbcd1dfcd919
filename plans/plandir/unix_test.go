//go:build unix

package plandir_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
)

func TestReadWaitsForNothing(t *testing.T) {
	s := open(t)
	dir := filepath.Dir(s.WorkFile())
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // a socket's path is short
	l, err := net.Listen("unix", "sock.md")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"pipe.md", "sock.md"} {
		if _, err := s.Read(name); !errors.Is(err, plandir.ErrNotRegular) || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("Read(%s) = %v, want ErrNotRegular", name, err)
		}
	}
}

// A file that is swapped for a link, over and over, is read as itself or not at all.
func TestReadAgainstASwappedLink(t *testing.T) {
	s := open(t)
	dir := filepath.Dir(s.WorkFile())
	secret := filepath.Join(folder(s), "secret")
	write(t, secret, "secret")
	write(t, filepath.Join(dir, "other.md"), "another plan")
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			next := filepath.Join(dir, "next")
			os.Remove(next)
			switch i % 4 {
			case 1:
				os.Symlink(secret, next)
			case 3:
				os.Symlink("other.md", next)
			default:
				os.WriteFile(next, []byte("# Plan"), 0o600)
			}
			os.Rename(next, s.WorkFile())
		}
	})
	read, refused := 0, 0
	for end := time.Now().Add(time.Minute); (read < 200 || refused < 200) && time.Now().Before(end); {
		p, err := s.Read("")
		switch {
		case err == nil && string(p.Content) == "# Plan":
			read++
		case err == nil:
			t.Errorf("Read = %q", p.Content)
		case errors.Is(err, plandir.ErrNotRegular) || errors.Is(err, plandir.ErrNotExist) || errors.Is(err, plans.ErrEmpty):
			refused++
		default:
			t.Errorf("Read = %v", err)
		}
	}
	close(done)
	group.Wait()
	if read == 0 || refused == 0 {
		t.Errorf("%d read, %d refused: the race was not run", read, refused)
	}
}

// unprivileged reports whether this process has no more rights than others. As root, it runs this test again as nobody
// instead.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o777), copyFile(os.Args[0], program), os.Chmod(program, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "no tests to run") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return false
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func TestWithoutRights(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	s := open(t)
	if _, err := s.Snapshot(id, 1, plan("kept")); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(filepath.Join(folder(s), "plans", id, "r0001.md"), os.O_WRONLY, 0); err == nil {
		f.Close()
		t.Error("a revision could be opened for writing")
	}
	write(t, s.WorkFile(), "secret")
	if err := os.Chmod(s.WorkFile(), 0); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("plan %q cannot be read (permission denied): make it readable, then submit again", filepath.Base(s.WorkFile()))
	if _, err := s.Read(""); !errors.Is(err, plandir.ErrUnreadable) || err.Error() != want {
		t.Errorf("Read = %v, want %s", err, want)
	}
	for _, dir := range []string{filepath.Join(folder(s), "plans"), filepath.Join(folder(s), "plans", id), filepath.Join(folder(s), "work")} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
	}
	for what, err := range map[string]error{
		"Snapshot of a new revision": second(s.Snapshot(id, 2, plan("x"))),
		"Snapshot of a new plan":     second(s.Snapshot("0191", 1, plan("x"))),
		"WriteWork":                  s.WriteWork([]byte("x")),
	} {
		if !errors.Is(err, os.ErrPermission) || !strings.HasSuffix(err.Error(), "then try again") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s = %v, want one line that says permission denied and what to do", what, err)
		}
	}
	if _, err := s.Snapshot(id, 1, plan("kept")); err != nil {
		t.Errorf("the stored revision again = %v", err)
	}
	if _, err := plandir.Open("/proc/none"); err == nil {
		t.Error("Open where nothing can be made succeeded")
	}
}

// A full disk leaves what was there, and nothing half-written.
func TestNoSpace(t *testing.T) {
	s := open(t)
	if _, err := s.Snapshot(id, 1, plan("first")); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteWork([]byte("working")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, folder(s))
	cmd := exec.Command(os.Args[0], folder(s))
	cmd.Env = append(os.Environ(), childTask+"=nospace")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if lines := strings.Count(string(out), "\n"); lines != 2 || strings.Count(string(out), "file too large") != 2 {
		t.Errorf("the child says:\n%swant two lines that say file too large", out)
	}
	if after := tree(t, folder(s)); !slices.Equal(before, after) {
		t.Errorf("files %q, want %q", after, before)
	}
	if p, err := s.Read(""); err != nil || string(p.Content) != "working" {
		t.Errorf("working file %q, %v", p.Content, err)
	}
	if _, err := s.LoadRevision(id, 2); !errors.Is(err, plandir.ErrNotExist) {
		t.Errorf("revision 2 = %v, want ErrNotExist", err)
	}
}

// runChild does in a process of its own what needs one.
func runChild(task, dir string) int {
	if task != "nospace" {
		return 3
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		fmt.Println(err)
		return 3
	}
	s, err := plandir.Open(dir)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	large := []byte(strings.Repeat("a", 10000))
	_, snapshot := s.Snapshot(id, 2, plans.New("a.md", "", large))
	for _, err := range []error{snapshot, s.WriteWork(large)} {
		if !errors.Is(err, syscall.EFBIG) {
			fmt.Println("no EFBIG:", err)
			return 3
		}
		fmt.Println(err)
	}
	return 0
}
