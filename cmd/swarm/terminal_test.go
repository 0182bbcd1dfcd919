//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// onTerminal runs a command on a terminal of its own, types a line at each prompt that ends with a colon, and returns how it
// ended and what the terminal showed.
func (m *team) onTerminal(lines []string, args ...string) (outcome, string) {
	m.t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	m.must(err)
	defer screen.Close()
	m.must(unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	m.must(err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	m.must(err)
	var out, errs bytes.Buffer
	cmd := exec.Command(m.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.path("tree"), m.env(), tty, &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	m.must(cmd.Start())
	m.must(tty.Close())
	shown := &syncBuffer{}
	go func() { // ends with the screen
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			_, _ = shown.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	for i, line := range lines {
		m.until(fmt.Sprintf("prompt %d of %q", i+1, args), func() bool { return strings.Count(shown.String(), ": ") > i })
		_, err := screen.WriteString(line + "\n")
		m.must(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	timer.Stop()
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, shown.String()
}

// What is typed as a passphrase is neither shown nor left in a file, and never taken from anywhere but the terminal.
func TestAttackPassphraseFromElsewhere(t *testing.T) {
	m := bareTeam(t)
	const secret = "correct horse battery"
	o, shown := m.onTerminal([]string{secret, secret}, "team", "init", "--as", "mia")
	m.ok(o)
	if !strings.Contains(shown, "at least 10 characters: ") || strings.Contains(shown, "horse") {
		t.Errorf("the terminal showed %q", shown)
	}
	m.up()
	m.background("teammate", "script", "--name", "fixer", "--", "sleep", "60")
	m.until("fixer", func() bool { return strings.Contains(m.lead("team", "list").out, "fixer") })
	m.must(os.WriteFile(m.path("tmp", "answer"), []byte(secret+"\n"), 0o600))
	for _, args := range [][]string{
		{"team", "remove", "fixer"},
		{"team", "remove", "fixer", "--timeout", "5s"},
	} {
		o := m.as([]string{"SWARM_PASSPHRASE=" + secret, "SWARM_OWNER_PASSPHRASE=" + secret}, append([]string{"--as", "mia"}, args...)...)
		if o.code != 4 {
			t.Errorf("%q: exit %d, %s, want 4", args, o.code, o.err)
		}
	}
	cmd := exec.Command("setsid", m.bin, "--as", "mia", "team", "remove", "fixer")
	cmd.Dir, cmd.Env, cmd.Stdin = m.path("tree"), m.env(), strings.NewReader(secret+"\n")
	if data, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("a passphrase on standard input is taken: %s", data)
	}
	for _, dir := range []string{"state", "config", "run", "tree", "home"} {
		out, _ := exec.Command("grep", "-rl", secret, m.path(dir)).Output()
		if len(out) > 0 {
			t.Errorf("the passphrase lies in %s", out)
		}
	}
	if strings.Contains(m.lead("team", "list").out, "removed") {
		t.Error("fixer was removed")
	}
	mailboxtest.Refused(t, "a passphrase from environment, file or standard input", "nobody", mailboxtest.ByTerminal, "exit 4: it is asked at the terminal alone")
	if o, shown = m.onTerminal([]string{secret}, "--as", "mia", "team", "remove", "fixer"); o.code != 0 || strings.Contains(shown, "horse") {
		t.Errorf("on the terminal: exit %d, %s, shown %q", o.code, o.err, shown)
	}
}
