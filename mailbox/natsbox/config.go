package natsbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
)

// Config says where the broker is and who we are. Team, Me, Key and one of URL, Servers and InProcess are required.
type Config struct {
	// URL is nats://host:port or tls://host:port; several are separated by commas.
	URL string
	// Servers replaces URL: it is asked again at each attempt to connect, because a broker that was restarted may
	// listen elsewhere. It must not block.
	Servers func() []string
	// InProcess connects to a broker of this process, without a socket.
	InProcess nats.InProcessConnProvider
	// CA is the PEM of the authorities that the certificates of tls:// addresses are checked with. It is asked again at each
	// attempt to connect, as Servers is. Nil, or none: the system's roots.
	CA func() string
	// Insecure allows addresses beyond this machine without TLS.
	Insecure bool

	Team string
	Me   string
	Key  nkeys.KeyPair
	// Instance is that of the [JoinRequest]. When it is given here, joining needs no second connection.
	Instance string

	// Confirm is how long a person may take to confirm the signature with which we connect. Zero: the key signs at once.
	Confirm time.Duration
	// Logger receives connection events. Nil means slog.DiscardHandler.
	Logger *slog.Logger
	// Wait is how long an operation may take. Zero means 10 seconds: a cluster that has lost a stream's leader stops
	// for 3 to 7.
	Wait time.Duration

	newID func() string // of messages; tests draw their own
}

// DefaultWait is [Config.Wait] when it is zero.
const DefaultWait = 10 * time.Second

// dialWait is how long one address may take to answer: another program may have taken the port, and say nothing.
const dialWait = 3 * time.Second

func (c *Config) check() error {
	if err := mailbox.CheckName(c.Team); err != nil {
		return fmt.Errorf("natsbox: team: %w", err)
	}
	if err := mailbox.CheckName(c.Me); err != nil {
		return fmt.Errorf("natsbox: me: %w", err)
	}
	if err := checkInstance(c.Instance); err != nil {
		return err
	}
	if c.Key == nil {
		return errors.New("natsbox: no key: give the member's nkey")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Wait <= 0 {
		c.Wait = DefaultWait
	}
	if c.newID == nil {
		c.newID = randomID
	}
	if c.InProcess != nil {
		return nil
	}
	_, err := c.addresses()
	return err
}

var instanceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func checkInstance(s string) error {
	if !instanceForm.MatchString(s) {
		return fmt.Errorf("natsbox: bad instance %q: use at most 64 letters, digits, - and _, such as a UUID", s)
	}
	return nil
}

// addresses are where the broker may be now.
func (c *Config) addresses() ([]string, error) {
	list := strings.Split(c.URL, ",")
	if c.Servers != nil {
		list = c.Servers()
	}
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if err := c.checkAddress(s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no address: is `swarm up` running?", ErrUnreachable)
	}
	return out, nil
}

func (c *Config) checkAddress(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Port() == "" || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return fmt.Errorf("%w %q: use nats://host:port or tls://host:port", ErrBadAddress, s)
	}
	if u.Scheme == "nats" && !c.Insecure && !loopback(u.Hostname()) {
		return fmt.Errorf("%w: %s: use tls://", ErrInsecure, s)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// options are the client's settings. Nothing is buffered over a break: what is not sent is an error or is tried again
// by us, with a rule for its message id.
func (c *Conn) options(pub string, timeout time.Duration) []nats.Option {
	o := []nats.Option{
		nats.Name(c.cfg.Me), nats.Nkey(pub, signNonce(c.cfg.Key)), nats.TokenHandler(c.token),
		nats.CustomInboxPrefix("_INBOX_" + c.cfg.Me),
		nats.MaxReconnects(-1), nats.CustomReconnectDelay(delay), nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(), nats.IgnoreDiscoveredServers(), nats.DontRandomize(),
		nats.NoCallbacksAfterClientClose(),
		nats.Timeout(timeout), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(c.broken), nats.ReconnectHandler(c.mended),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.failed(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.failed(err) }),
	}
	return append(o, c.cfg.way(timeout)...)
}

// delay grows from 50 ms to 2 s, so that a broker that comes back is found soon and one that does not costs nothing.
func delay(attempts int) time.Duration {
	return min(2*time.Second, 50*time.Millisecond<<min(attempts, 6))
}
