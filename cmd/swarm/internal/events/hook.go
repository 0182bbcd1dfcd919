package events

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
)

// Hook is where a person wants events to go: a command, or an address.
type Hook struct {
	On      []string      `yaml:"on"`      // names of events; plan.* is all that begin so, * is all
	Command []string      `yaml:"command"` // a program and its arguments; the event is one line of JSON on its standard input
	Webhook string        `yaml:"webhook"` // the event is the body of a POST
	Timeout time.Duration `yaml:"timeout"` // after which a delivery is given up; default 10s, at most 1m
}

// Bounds of hooks.
const (
	MaxHooks       = 16
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
)

// Fault is what is wrong with a hook, at one of its fields.
type Fault struct{ Field, Message, Suggestion string }

// Check returns what is wrong with a hook.
func (h Hook) Check() (faults []Fault) {
	bad := func(field, suggestion, format string, args ...any) {
		faults = append(faults, Fault{field, fmt.Sprintf(format, args...), suggestion})
	}
	if len(h.On) == 0 {
		bad("on", "add on: [plan.*]", "the hook has no events")
	}
	for i, name := range h.On {
		if !known(name) {
			suggestion := "swarm schema event lists them"
			if near := mailbox.Nearest(name, planmode.Events()); len(near) > 0 {
				suggestion = fmt.Sprintf("did you mean %q?", near[0])
			}
			bad(fmt.Sprintf("on[%d]", i), suggestion, "unknown event %q", name)
		}
	}
	switch {
	case (len(h.Command) > 0) == (h.Webhook != ""):
		bad("", "write command: [PROGRAM, ARGUMENT, ...], or webhook: URL", "a hook is either a command or a webhook")
	case len(h.Command) > 0 && !program(h.Command[0]):
		bad("command", "name a program of your PATH, or its absolute path", "program %q cannot be found from everywhere", h.Command[0])
	case h.Webhook != "":
		if why, next := address(h.Webhook); why != "" {
			bad("webhook", next, "%q %s", h.Webhook, why)
		}
	}
	if h.Timeout > maxTimeout {
		bad("timeout", "name at most 1m", "a delivery cannot take %v", h.Timeout)
	}
	return faults
}

// program reports whether a name is one that no working folder gives a meaning.
func program(name string) bool {
	return name != "" && (filepath.IsAbs(name) || !strings.ContainsAny(name, `/\`) && name != "." && name != "..")
}

// address says what is wrong with the address of a webhook: events say what a team does, and go in the open on this
// machine alone.
func address(text string) (why, next string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is no address", "write it like https://example.com/hook"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "would send events in the open", "use https, or an address of this machine"
	}
	return "", ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func known(pattern string) bool {
	return slices.ContainsFunc(planmode.Events(), func(name string) bool { return matches(pattern, name) })
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && (prefix == "" || strings.HasSuffix(prefix, ".")) {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// Wants reports whether a hook is about an event.
func (h Hook) Wants(event string) bool {
	return slices.ContainsFunc(h.On, func(p string) bool { return matches(p, event) })
}

// Name says which hook it is, without its arguments: a token may stand in them.
func (h Hook) Name() string {
	if len(h.Command) > 0 {
		return filepath.Base(h.Command[0])
	}
	u, err := url.Parse(h.Webhook)
	if err != nil {
		return "webhook"
	}
	return u.Host
}

func (h Hook) timeout() time.Duration {
	if h.Timeout == 0 {
		return defaultTimeout
	}
	return h.Timeout
}
