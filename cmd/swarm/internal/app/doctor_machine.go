package app

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox/embednats"
)

// programWait is how long a program may take to say its version.
const programWait = 5 * time.Second

// programs are what runs here: this one, and those that teammates' commands need.
func (d *doctor) programs(ctx context.Context) {
	own := "devel"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		own = b.Main.Version
	}
	d.add("swarm", StateOK, fmt.Sprintf("%s, built with %s for %s/%s; nats-server %s is built in", own, runtime.Version(), runtime.GOOS, runtime.GOARCH, embednats.Version), "")
	wanted := []struct {
		name, arg string
		missing   State
		next      string
	}{
		{"bash", "--version", StateBad, "install bash: teammates' command lines are run by it"},
		{"git", "--version", StateWarn, "install git: without it no plan says what has changed since it was written"},
		{"go", "version", StateOK, ""},
	}
	found := make([]Finding, len(wanted))
	var wg sync.WaitGroup
	d.slow("programs to say their versions", func() {
		for i, p := range wanted {
			wg.Go(func() {
				found[i] = Finding{Check: p.name, State: StateOK}
				text, err := version1(ctx, p.name, p.arg)
				if found[i].Text = text; err != nil {
					found[i].State, found[i].Text, found[i].Next = p.missing, err.Error(), p.next
				}
			})
		}
		wg.Wait()
	})
	for _, f := range found {
		d.add(f.Check, f.State, f.Text, f.Next)
	}
}

// version1 is the first line of what a program says of itself, and where it lies.
func version1(ctx context.Context, name, arg string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH", name)
	}
	ctx, cancel := context.WithTimeout(ctx, programWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, arg)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s fails (%w)", path, arg, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return path + ": " + first, nil
}
