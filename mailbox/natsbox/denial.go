package natsbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// The broker answers nothing to what a member may not publish: it only says so on the side. Here that word is brought
// to whoever waits for an answer.

// failed hears of refused subjects, and of attempts to connect that failed.
func (c *Conn) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		c.lastErr = err
		return
	}
	subject, ok := quoted(err.Error())
	if !ok {
		return
	}
	for _, ch := range c.denials[subject] {
		select {
		case ch <- fmt.Errorf("%w: %s may not use %s: only the subjects of its role are open to a member", ErrForbidden, c.cfg.Me, subject):
		default: // it has been told
		}
	}
}

// quoted returns what stands between the first two double quotes.
func quoted(s string) (string, bool) {
	parts := strings.SplitN(s, `"`, 3)
	if len(parts) < 3 {
		return "", false
	}
	return parts[1], true
}

// denial returns a channel on which the broker's refusal of a subject arrives, and a function that ends the watch.
func (c *Conn) denial(subject string) (<-chan error, func()) {
	ch := make(chan error, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denials[subject] = append(c.denials[subject], ch)
	return ch, func() { c.unwatch(subject, ch) }
}

func (c *Conn) unwatch(subject string, ch chan error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rest []chan error
	for _, other := range c.denials[subject] {
		if other != ch {
			rest = append(rest, other)
		}
	}
	c.denials[subject] = rest
	if len(rest) == 0 {
		delete(c.denials, subject)
	}
}
