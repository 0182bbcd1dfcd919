package natsbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsauth"
)

// Conn is a member's connection. Its methods may be called at once. After a break it connects again, for ever.
type Conn struct {
	cfg   Config
	seen  *recent // mail and orders that were handled
	count counters
	wg    sync.WaitGroup // checks of our standing
	life  context.Context
	end   context.CancelFunc

	mu       sync.Mutex
	instance string
	link     link
	isUp     bool
	up       chan struct{} // closed while connected
	lastErr  error
	welcome  *Welcome
	fenced   chan struct{}
	denials  map[string][]chan error // who waits for the broker's word on a subject
	members  map[string]time.Time    // recipients that the coordinator knew, and when
}

// link is one uninterrupted connection. Its context ends with it.
type link struct {
	context.Context
	cancel context.CancelFunc
	nc     *nats.Conn
	js     jetstream.JetStream
}

// Stats counts what a Conn did not hand over.
type Stats struct {
	Mismatched int64 // mail whose envelope contradicts its subject, or that cannot be read
	Repeated   int64 // mail and orders that had been handled before
	Failed     int64 // handlers that returned an error
}

type counters struct{ mismatched, repeated, failed atomic.Int64 }

// Connect connects to the broker. Errors are [ErrUnreachable], [ErrRefused] for a key that is not in the team,
// [ErrInsecure], [ErrNoTLS] and [ErrCertificate], and mistakes in the Config. Later breaks are mended in the background until [Conn.Close].
func Connect(ctx context.Context, cfg Config) (*Conn, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Conn{
		cfg: cfg, instance: cfg.Instance, seen: newRecent(8192), up: make(chan struct{}), fenced: make(chan struct{}),
		denials: map[string][]chan error{}, members: map[string]time.Time{},
	}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.dial(ctx); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// dial makes a connection with the rights of our instance, and lets go of the one before it, if any.
func (c *Conn) dial(ctx context.Context) error {
	pub, err := c.cfg.Key.PublicKey()
	if err != nil {
		return fmt.Errorf("natsbox: the member's key: %w", err)
	}
	url := ""
	if c.cfg.InProcess == nil {
		list, err := c.cfg.addresses()
		if err != nil {
			return err
		}
		url = plain(list)
	}
	timeout := max(min(c.cfg.Wait, dialWait), c.cfg.Confirm)
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(d), time.Millisecond))
	}
	nc, err := nats.Connect(url, c.options(pub, timeout)...)
	if err != nil {
		return c.connectError(err)
	}
	if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
		nc.Close()
		return err
	}
	js, err := jetstream.NewWithAPIPrefix(nc, natsauth.APIPrefix)
	if err != nil {
		nc.Close()
		return fmt.Errorf("natsbox: %w", err)
	}
	c.adopt(nc, js)
	return nil
}

// adopt makes a connection the present one. Its callbacks count from now on.
func (c *Conn) adopt(nc *nats.Conn, js jetstream.JetStream) {
	c.mu.Lock()
	old := c.link.nc
	c.down()
	c.link = link{nc: nc, js: js}
	if nc.IsConnected() {
		c.begin()
	} // else it broke already, and its callback will say when it is mended
	c.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// begin starts a link over the present connection. The caller holds the lock.
func (c *Conn) begin() {
	if c.isUp {
		return
	}
	c.link.Context, c.link.cancel = context.WithCancel(c.life)
	c.isUp, c.lastErr = true, nil
	close(c.up)
}

// down ends the present link. The caller holds the lock.
func (c *Conn) down() {
	if !c.isUp {
		return
	}
	c.link.cancel()
	c.isUp, c.up = false, make(chan struct{})
}

func (c *Conn) connectError(err error) error {
	if refused(err) {
		return fmt.Errorf("%w of %s: ask the team's owner to add it, or use the right --as", ErrRefused, c.cfg.Me)
	}
	if errors.Is(err, ErrInsecure) {
		return err
	}
	if e := untrusted(err); e != nil {
		return e
	}
	if errors.Is(err, ErrForeignServer) {
		return cmp.Or(errors.Unwrap(err), err) // without the client library's words
	}
	if foreign(err) {
		return fmt.Errorf("%w: a NATS server that asks nobody for a key: name the port of `swarm up`", ErrForeignServer)
	}
	return fmt.Errorf("%w: %w: is `swarm up` running?", ErrUnreachable, err)
}

func refused(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked)
}

// Close ends the connection and every receiving. It may be called more than once.
func (c *Conn) Close() {
	c.mu.Lock()
	c.end() // under the lock: no check of our standing begins after it
	nc := c.link.nc
	c.mu.Unlock()
	nc.Close()
	c.wg.Wait()
}

// Fenced is closed when another instance has taken this one's name. The member must stop then.
func (c *Conn) Fenced() <-chan struct{} { return c.fenced }

// Stats returns what was not handed over so far.
func (c *Conn) Stats() Stats {
	return Stats{Mismatched: c.count.mismatched.Load(), Repeated: c.count.repeated.Load(), Failed: c.count.failed.Load()}
}

// token tells the broker which instance connects, so that it allows that instance's own consumers.
func (c *Conn) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.instance
}

// broken is called when a connection has ended.
func (c *Conn) broken(nc *nats.Conn, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if nc != c.link.nc {
		return
	}
	c.down()
	c.lastErr = err
	c.cfg.Logger.Info("connection to the broker lost", "member", c.cfg.Me, "error", err)
}

// mended is called when a connection is there again.
func (c *Conn) mended(nc *nats.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if nc != c.link.nc {
		return
	}
	c.begin()
	if c.welcome != nil && c.life.Err() == nil {
		c.wg.Go(func() { c.checkStanding(c.life) })
	}
	c.cfg.Logger.Info("connected to the broker again", "member", c.cfg.Me)
}

// connected waits for a connection.
func (c *Conn) connected(ctx context.Context) (link, error) {
	for {
		c.mu.Lock()
		up, l, isUp := c.up, c.link, c.isUp
		c.mu.Unlock()
		if c.life.Err() != nil {
			return link{}, errClosed
		}
		if isUp && ctx.Err() == nil {
			return l, nil
		}
		select {
		case <-up:
			if ctx.Err() != nil {
				return link{}, c.unreachable(ctx)
			}
		case <-ctx.Done():
			return link{}, c.unreachable(ctx)
		case <-c.life.Done():
			return link{}, errClosed
		}
	}
}

var errClosed = fmt.Errorf("%w: the connection was closed", ErrUnreachable)

// unreachable says why nothing came of it when ctx has ended.
func (c *Conn) unreachable(ctx context.Context) error {
	c.mu.Lock()
	last := c.lastErr
	c.mu.Unlock()
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	if refused(last) || untrusted(last) != nil {
		return c.connectError(last)
	}
	if last != nil {
		return fmt.Errorf("%w: %w: is `swarm up` running?", ErrUnreachable, last)
	}
	return fmt.Errorf("%w: nothing within %s: is `swarm up` running?", ErrUnreachable, c.cfg.Wait)
}

// limit bounds an operation to Config.Wait.
func (c *Conn) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.Wait)
}

// until returns a context that ends with ctx or with the link, and has no deadline of its own.
func until(ctx, link context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stops := []func() bool{context.AfterFunc(ctx, cancel), context.AfterFunc(link, cancel)}
	return inner, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// pause waits, and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// The streams that mail, decisions and orders of this team lie in.
func (c *Conn) mailStream() string     { return "MB_" + c.cfg.Team }
func (c *Conn) decisionStream() string { return "DEC_" + c.cfg.Team }
func (c *Conn) orderStream() string    { return "ORD_" + c.cfg.Team }

func (c *Conn) serviceSubject(verb string) string {
	return mailbox.ServiceSubject(c.cfg.Team, c.cfg.Me, verb)
}
