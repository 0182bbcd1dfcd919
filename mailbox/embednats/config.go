package embednats

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/planswarm/swarm/mailbox/natsauth"
)

// MaxPayload is the largest message that the embedded broker takes: a plan of 2 MiB, in base64, with everything else.
const MaxPayload = 8 << 20

// DefaultMaxStore is the size of the store when nobody says another.
const DefaultMaxStore = 8 << 30

// maxMemory bounds what the status stream may take.
const maxMemory = 64 << 20

// Config adjusts a [Server]. StoreDir is required; the rest may be zero.
type Config struct {
	// StoreDir is the folder of the store. It is made when it does not exist, for this user only.
	StoreDir string
	// Listen is host:port on loopback, or with TLS anywhere. Port 0 is any free port; a port that is taken is replaced by a free one, and
	// said. Empty means no port: members of this process connect by [Server.InProcessConn].
	Listen string
	// TLS is needed for any address that is not loopback. Members of this process need none.
	TLS *tls.Config
	// Insecure allows such an address without TLS: who is on the way reads everything, and may take a connection over.
	Insecure bool
	// Sync is "always" (acknowledged = on disk) or how long a write may wait for the disk ("100ms"). Empty means always.
	Sync string
	// MaxStore is the size of the store in bytes. Zero means [DefaultMaxStore].
	MaxStore int64
	// Auth lets members in. Nil means a new one, which [Server.Auth] returns.
	Auth *natsauth.Authenticator
	// Logger receives the broker's messages. Nil means slog.DiscardHandler.
	Logger *slog.Logger
}

// The errors of [Start] that callers branch on.
var (
	// ErrLocked means that another process has this store open.
	ErrLocked = errors.New("embednats: the store is in use by another process")
	// ErrNotWritable means that the store's folder cannot be written.
	ErrNotWritable = errors.New("embednats: the store cannot be written")
	// ErrNewerStore means that a newer swarm has written the store.
	ErrNewerStore = errors.New("embednats: the store was written by a newer swarm")
	// ErrNotLoopback means an address that others could reach, without TLS.
	ErrNotLoopback = errors.New("embednats: refusing to listen beyond this machine without TLS")
)

// address takes Listen apart and refuses what is not safe. An empty host is no port at all.
func (c Config) address() (host string, port int, err error) {
	if c.Listen == "" {
		return "", 0, nil
	}
	host, p, err := net.SplitHostPort(c.Listen)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 || host == "" {
		return "", 0, fmt.Errorf("embednats: bad listen address %q: use host:port, such as 127.0.0.1:0", c.Listen)
	}
	if c.TLS == nil && !c.Insecure && !loopback(host) {
		return "", 0, fmt.Errorf("%w: %s: use 127.0.0.1, or give it a certificate", ErrNotLoopback, c.Listen)
	}
	return host, port, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sync reads Sync: whether each write reaches the disk before it is acknowledged, or the interval.
func (c Config) sync() (always bool, every time.Duration, err error) {
	if c.Sync == "" || c.Sync == "always" {
		return true, 0, nil
	}
	d, err := time.ParseDuration(c.Sync)
	if err != nil || d <= 0 {
		return false, 0, fmt.Errorf("embednats: bad sync %q: use always, or a duration such as 100ms", c.Sync)
	}
	return false, d, nil
}
