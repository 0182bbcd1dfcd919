package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// kept is how much of what a hook prints or answers is kept, for its error, in bytes.
const kept = 512

// passed are the variables that a hook's program gets: enough to notify its person, and nothing of swarm.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE",
}

func environment() (env []string) {
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// run has a program read the event. It stands in the person's home, not in a project. When the time is over it is killed,
// with everything that it has started.
func run(ctx context.Context, argv []string, line []byte) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("the program cannot be started: %w", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	var out head
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = home, environment(), bytes.NewReader(line), &out, &out
	cmd.WaitDelay = time.Second
	alone(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, out.text())
	}
	return err
}

// post hands the event to an address. No redirect is followed.
func post(ctx context.Context, client *http.Client, address string, line []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(line))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "swarm")
	res, err := client.Do(req)
	if named := (*url.Error)(nil); errors.As(err, &named) {
		return named.Err // without the address: a token may stand in it
	} else if err != nil {
		return err
	}
	defer res.Body.Close()
	var out head
	_, _ = io.Copy(&out, io.LimitReader(res.Body, kept))
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("it answered %s: %s", res.Status, out.text())
	}
	return nil
}

// head keeps the beginning of what is written, and takes the rest as well.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), kept-len(h.b))]...)
	return len(p), nil
}

func (h *head) text() string { return strings.ToValidUTF8(strings.TrimSpace(string(h.b)), "\uFFFD") }
