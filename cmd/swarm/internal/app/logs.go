package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/plans"
)

// maxLogLine is where a line of a log is cut.
const maxLogLine = 64 << 10

// Logs hands over the last n lines that a teammate's program printed, and with follow what comes after them until ctx
// ends.
func Logs(ctx context.Context, e Env, name string, n int, follow bool, line func(string) error) error {
	if err := refuseTeammates(); err != nil {
		return err
	}
	team, err := e.team()
	if err != nil {
		return err
	}
	path, err := e.logOf(team, name)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(exitError, "no_log", fmt.Sprintf("the log cannot be read (%v)", err), "run this as the user that runs the teammate")
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxLogLine)
	var last []string
	for {
		text, err := readLine(r)
		if text != "" || err == nil {
			last = append(last, text)
			last = last[max(0, len(last)-n):]
		}
		if err != nil {
			break
		}
	}
	for _, text := range last {
		if err := line(text); err != nil {
			return err
		}
	}
	for follow {
		text, err := readLine(r)
		if text != "" || err == nil {
			if err := line(text); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// readLine reads one line, cut where it is too long.
func readLine(r *bufio.Reader) (string, error) {
	part, more, err := r.ReadLine()
	text := string(part)
	for more && err == nil {
		_, more, err = r.ReadLine()
	}
	return text, err
}

// logOf finds a teammate's log: of the team on this machine, else of its last run.
func (e Env) logOf(team, name string) (string, error) {
	if err := mailbox.CheckMember(name); err != nil {
		return "", fail(exitUsage, "bad_name", fmt.Sprintf("%q cannot be a teammate's name", plans.VisibleLine(name)), "use 1 to 63 of a-z, 0-9, _ and -")
	}
	s := e.state(team)
	dirs := []string{s.path("teammates")}
	runs, _ := filepath.Glob(s.path("runs", "*", "teammates")) // names begin with the time; a bad pattern is none
	slices.Reverse(runs)
	var names []string
	for _, dir := range append(dirs, runs...) {
		path := filepath.Join(dir, name, "agent.log")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if !slices.Contains(names, entry.Name()) {
				names = append(names, entry.Name())
			}
		}
	}
	next := "it is kept on the machine where its runner runs"
	if near := mailbox.Nearest(name, names); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "", fail(exitNotFound, "unknown_teammate", fmt.Sprintf("no log of teammate %q of team %s on this machine", name, team), next)
}
