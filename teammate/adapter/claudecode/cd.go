package claudecode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// endsIn is the folder that a client's shell stands in after a line that begins with cd, or "" where it stays in cwd, or
// that cannot be told: a line with another cd, one in a subshell or a pipeline, a folder that is not there. The line itself
// runs in the runner, so that the client's shell has to be told.
func endsIn(line, cwd string) string {
	l, err := shellcmd.Parse(line+"\n:", cwd) // its last command stands where the line has ended
	if err != nil || len(l.Refused) > 0 || len(l.Commands) < 2 {
		return ""
	}
	first, last := l.Commands[0], l.Commands[len(l.Commands)-1]
	if !movesTo(first) || last.Lost || slices.ContainsFunc(l.Nested[1:], moves) {
		return ""
	}
	dir := first.Argv[1].Text
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cwd, dir)
	}
	dir = filepath.Clean(dir)
	if info, err := os.Stat(dir); dir == cwd || err != nil || !info.IsDir() || !slices.Contains(last.Dirs, dir) {
		return ""
	}
	return dir
}

// movesTo reports whether a command is `cd FOLDER`, with a folder that is written out.
func movesTo(c *shellcmd.Command) bool {
	if len(c.Argv) != 2 || c.Argv[0].Text != "cd" || len(c.Env) > 0 || !c.Argv[0].Literal() || !c.Argv[1].Literal() {
		return false
	}
	dir := c.Argv[1].Text
	return dir != "" && !strings.HasPrefix(dir, "-") && !strings.ContainsAny(dir, "\x00\n")
}

// moves reports whether a command may change the shell's folder.
func moves(c *shellcmd.Command) bool {
	return len(c.Argv) > 0 && (!c.Argv[0].Literal() || slices.Contains([]string{"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "exec"}, c.Argv[0].Text))
}

// thenIn is a line of a shell that stands in a folder afterwards, whose end is that of the line.
func thenIn(line, dir string) string {
	return line + `; swarm_status=$?; cd -- '` + strings.ReplaceAll(dir, "'", `'\''`) + `'; (exit $swarm_status)`
}
