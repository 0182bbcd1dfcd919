//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// conversation is a person at the prompts of `swarm run --interactive`.
type conversation struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *syncBuffer
	read int
	done chan error
}

func converse(t *testing.T, dir string) *conversation {
	t.Helper()
	c := &conversation{t: t, cmd: exec.Command(binary(t), "run", dir, "--interactive", "--as", "mia"), out: &syncBuffer{}, done: make(chan error, 1)}
	c.cmd.Env = own(t)
	c.trust(dir)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.cmd.Wait() }()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// trust has the person trust a project.
func (c *conversation) trust(dir string) {
	c.t.Helper()
	trusting := exec.Command(c.cmd.Path, "trust", dir)
	trusting.Env = c.cmd.Env
	if out, err := trusting.CombinedOutput(); err != nil {
		c.t.Fatalf("swarm trust: %v\n%s", err, out)
	}
}

// until waits for new output that matches, and returns it.
func (c *conversation) until(re string) string {
	c.t.Helper()
	want := regexp.MustCompile(re)
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text := c.out.String()
		if at := want.FindStringIndex(text[c.read:]); at != nil {
			found := text[c.read : c.read+at[1]]
			c.read += at[1]
			return found
		}
	}
	c.t.Fatalf("%q did not come; output:\n%s", re, c.out)
	return ""
}

// say types a line as a person does: after the prompt has stood for a moment.
func (c *conversation) say(line string) {
	c.t.Helper()
	time.Sleep(600 * time.Millisecond)
	c.early(line)
}

// early types a line at once.
func (c *conversation) early(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) end() int {
	c.t.Helper()
	select {
	case err := <-c.done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		if err != nil {
			c.t.Fatal(err)
		}
		return 0
	case <-time.After(60 * time.Second):
		c.t.Fatalf("the run did not end; output:\n%s", c.out)
		return 0
	}
}

// oneTeammate is a project whose only teammate plans once, edits, and asks a question.
func oneTeammate(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"swarm.yaml": "version: 1\nteam: one\nteammates:\n  fixer:\n    run: [bash, fixer.sh]\npolicy:\n  - name: all\n    then: approve\n",
		"go.mod":     "module example.com/x\n\ngo 1.26\n",
		"x_test.go":  "package x\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
		"fixer.sh": `set -eu
echo "# First" >"$SWARM_PLAN_FILE"; swarm plan submit
swarm plan wait || [ $? -eq 3 ]
swarm ask "which port?"
echo "# Second" >"$SWARM_PLAN_FILE"; swarm plan submit --prompt "run tests"
swarm plan wait
swarm exec -- go test ./...
swarm exec -- touch once
swarm exec -- touch again && exit 9
swarm plan done
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A person decides in place of the policy. What was typed before a request was shown decides nothing.
func TestRunInteractive(t *testing.T) {
	c := converse(t, oneTeammate(t))
	c.early("a")
	shown := c.until(`# First`)
	shown += c.until(`fixer-[0-9a-z]+> `)
	if !strings.Contains(shown, "# First") || !strings.Contains(shown, "r TEXT changes") {
		t.Errorf("before the prompt:\n%s\nwant the plan and what can be typed", shown)
	}
	c.until(`typed before this was shown, and not used`)
	c.say("")
	c.say("zzz")
	c.until(`"zzz" is not understood`)
	c.say("r")
	c.until(`r needs a text`)
	c.say("r say how you will test it")
	c.until(`REJECTS +fixer r1, mia`)
	c.until(`which port\?`)
	c.until(`fixer-[0-9a-z]+> `)
	c.say("8080")
	c.until(`# Second`)
	c.until(`fixer-[0-9a-z]+> `)
	c.say("a")
	c.until(`approves +fixer r2, mia; run tests`)
	c.until(`ran +go test ./... \(grant "run tests"`)
	c.until(`touch once`)
	c.until(`fixer-[0-9a-z]+> `)
	c.say("a")
	c.until(`touch again`)
	c.until(`fixer-[0-9a-z]+> `)
	c.say("r not again")
	c.until(`plan complete`)
	if code := c.end(); code != 0 {
		t.Errorf("exit %d, want 0; output:\n%s", code, c.out)
	}
}

// Nobody at the terminal is nobody to decide: the run rejects, and ends.
func TestRunInteractiveWithoutInput(t *testing.T) {
	c := converse(t, oneTeammate(t))
	c.until(`fixer-[0-9a-z]+> `)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	c.until(`nobody to ask: standard input`)
	if code := c.end(); code == 0 || code == 130 {
		t.Errorf("exit %d, want a rejected run; output:\n%s", code, c.out)
	}
}

// openTerminal makes a pseudo-terminal: what is written to the first is typed into the second.
func openTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keys, screen
}

// A key that was pressed for one request, and its Enter that comes after another took its place, approve neither: the
// teammate chooses the moment at which it asks for something else.
func TestAKeyForOneRequestDecidesNoOther(t *testing.T) {
	dir := oneTeammate(t)
	script := `set -eu
echo "# Harmless" >"$SWARM_PLAN_FILE"; swarm plan submit
while [ ! -e "$SWARM_TREE/go-on" ]; do sleep 0.05; done
echo "# Evil" >"$SWARM_PLAN_FILE"; swarm plan submit
swarm plan wait || [ $? -eq 3 ]
`
	if err := os.WriteFile(filepath.Join(dir, "fixer.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, screen := openTerminal(t)
	c := &conversation{t: t, cmd: exec.Command(binary(t), "run", dir, "--interactive", "--as", "mia", "--keep"), out: &syncBuffer{}, done: make(chan error, 1)}
	c.cmd.Env, c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = own(t), screen, c.out, c.out
	c.trust(dir)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.cmd.Wait() }()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	kept := regexp.MustCompile(`in a copy in (\S+?)\.?\n`).FindStringSubmatch(c.until(`in a copy in \S+\n`))[1]
	t.Cleanup(func() { _ = os.RemoveAll(kept) })
	c.until(`# Harmless`)
	c.until(`fixer-[0-9a-z]+> `)
	if _, err := keys.WriteString("a"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kept, "fixer", "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.until(`# Evil`)
	c.until(`fixer-[0-9a-z]+> `)
	if _, err := keys.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	c.until(`fixer-[0-9a-z]+> `) // asked again
	if _, err := keys.WriteString("r no\n"); err != nil {
		t.Fatal(err)
	}
	c.until(`REJECTS +fixer r2, mia`)
	c.end()
	if strings.Contains(c.out.String(), "approves") {
		t.Errorf("something was approved:\n%s", c.out)
	}
}
