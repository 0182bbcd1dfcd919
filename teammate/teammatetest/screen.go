package teammatetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Screen is a terminal with one program in it, as a person sees it. It needs tmux.
type Screen struct {
	s    *Swarm
	name string // of the tmux server
}

// Sit starts a command of swarm in a terminal of 120 by 50. It ends with the test.
func (s *Swarm) Sit(args ...string) *Screen {
	s.T.Helper()
	return s.SitAt(append([]string{s.Bin}, args...)...)
}

// SitAt starts any program in a terminal, as [Swarm.Sit] does.
func (s *Swarm) SitAt(argv ...string) *Screen {
	s.T.Helper()
	dir, err := os.MkdirTemp(s.Home, "tmux-")
	if err != nil {
		s.T.Fatal(err)
	}
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("set -g remain-on-exit on\nset -g escape-time 0\n"), 0o600); err != nil {
		s.T.Fatal(err)
	}
	t := &Screen{s, filepath.Join(dir, "socket")}
	cmd := exec.Command("tmux", append([]string{"-S", t.name, "-f", conf, "new-session", "-d", "-x", "120", "-y", "50", "-c", s.Tree, "--"}, argv...)...)
	cmd.Env = append(s.Env, "TERM=xterm-256color")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.T.Fatalf("tmux: %v: %s", err, out)
	}
	s.T.Cleanup(func() {
		if s.T.Failed() {
			s.T.Logf("the terminal shows:\n%s", t.Text())
		}
		t.Close()
	})
	return t
}

func (t *Screen) tmux(args ...string) string {
	out, _ := exec.Command("tmux", append([]string{"-S", t.name}, args...)...).CombinedOutput() // what it says is looked at
	return string(out)
}

// Text is what the terminal shows, without blank lines.
func (t *Screen) Text() string {
	var lines []string
	for line := range strings.Lines(t.tmux("capture-pane", "-p", "-S", "-200")) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
	}
	return strings.Join(lines, "\n")
}

// Until waits until the terminal shows a text.
func (t *Screen) Until(text string) {
	t.s.T.Helper()
	t.s.Until("on the terminal: "+text, func() bool { return strings.Contains(t.Text(), text) })
}

// Keys types keys, by tmux's names.
func (t *Screen) Keys(keys ...string) {
	t.s.T.Helper()
	for _, key := range keys {
		t.tmux("send-keys", key)
		time.Sleep(300 * time.Millisecond) // a client that reads them as one paste reads something else
	}
}

// Pid is the process that was started.
func (t *Screen) Pid() int {
	t.s.T.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(t.tmux("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		t.s.T.Fatalf("no process in the terminal: %v", err)
	}
	return pid
}

// Ended reports whether the program has ended, and its exit code, which is -1 where a signal ended it. That it is dead shows
// before how it died. tmux 3.3a can miss its child's end: the pane is dead, the child stays a zombie, and the next SIGCHLD has
// tmux look for it (measured).
func (t *Screen) Ended() (code int, ended bool) {
	said := strings.Split(strings.TrimSpace(t.tmux("display-message", "-p", "#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}:#{pid}")), ":")
	if len(said) != 4 || said[0] != "1" {
		return 0, false
	}
	switch code, err := strconv.Atoi(said[1]); {
	case err == nil:
		return code, true
	case said[2] != "":
		return -1, true
	}
	_ = exec.Command("kill", "-CHLD", said[3]).Run()
	return 0, false
}

// End waits for the program's end, and returns its exit code.
func (t *Screen) End() int {
	t.s.T.Helper()
	code := 0
	t.s.Until("the program's end", func() (ended bool) {
		code, ended = t.Ended()
		return ended
	})
	return code
}

// Kill kills the program by signal 9, and waits until nothing is left that was started below a folder.
func (t *Screen) Kill(below string) {
	t.s.T.Helper()
	pid := strconv.Itoa(t.Pid())
	if out, err := exec.Command("kill", "-9", pid).CombinedOutput(); err != nil {
		t.s.T.Fatalf("kill: %v: %s", err, out)
	}
	t.s.Until("the end of what was started below "+below, func() bool {
		for _, p := range strings.Fields(commandOutput("pgrep", "-f", below)) {
			if line := commandOutput("ps", "-o", "args=", "-p", p); line != "" && !strings.HasPrefix(line, "tmux ") {
				return false
			}
		}
		_, ended := t.Ended()
		return ended
	})
}

func commandOutput(argv ...string) string {
	out, _ := exec.Command(argv[0], argv[1:]...).Output() // nothing found is an exit code too
	return string(out)
}

// Close ends the program as somebody who closes the window, and waits until it is gone.
func (t *Screen) Close() {
	pid := strings.TrimSpace(t.tmux("display-message", "-p", "#{pane_pid}"))
	t.tmux("kill-server")
	for range 1200 {
		if exec.Command("kill", "-0", pid).Run() != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.s.T.Errorf("process %s goes on without its terminal", pid)
}

// AwaitRow returns the one row that waits for the leader, when it is there and is of that kind: plan, run or question.
func (s *Swarm) AwaitRow(kind string) Row {
	s.T.Helper()
	var rows []Row
	s.Until("a row of kind "+kind, func() bool {
		rows = s.Inbox()
		return len(rows) == 1 && rows[0].Kind == kind
	})
	return rows[0]
}
