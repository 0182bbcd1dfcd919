package natsbox

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox/charter"
)

// way is how the client gets to the broker: within this process, or to an address, and there by TLS where its scheme says so.
func (c *Config) way(timeout time.Duration) []nats.Option {
	if c.InProcess != nil {
		return []nats.Option{nats.InProcessServer(c.InProcess)}
	}
	d := &dialer{cfg: c, timeout: timeout}
	return []nats.Option{nats.SetCustomDialer(d), nats.SkipHostLookup(), d.checked}
}

// plain are addresses as the client library is given them: which of them are reached by TLS is the dialer's matter, since a
// broker that comes back may be reached otherwise than before.
func plain(list []string) string {
	return strings.ReplaceAll(strings.Join(list, ","), "tls://", "nats://")
}

// dialer goes where the broker is now, not where it was when the connection was made.
type dialer struct {
	cfg     *Config
	timeout time.Duration
	next    int    // the client dials, and agrees on keys, from one goroutine
	host    string // that was dialed last
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	list, err := d.cfg.addresses()
	if err != nil {
		return nil, err
	}
	var to *url.URL
	for _, s := range list {
		u, err := url.Parse(s)
		if err != nil {
			return nil, err
		}
		if u.Host == address {
			to = u
			break
		}
	}
	if to == nil {
		if to, err = url.Parse(list[d.next%len(list)]); err != nil {
			return nil, err
		}
		d.next++
	}
	d.host = to.Hostname()
	conn, err := net.DialTimeout(network, to.Host, d.timeout)
	if err != nil || to.Scheme != "tls" {
		return conn, err
	}
	return &sealedWire{Conn: conn}, nil
}

// checked has the client believe a broker only with a certificate that we have checked, whatever the broker says that it
// offers.
func (d *dialer) checked(o *nats.Options) error {
	o.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The name and the authorities are those of the address that was dialed, and are known then only: verify does
		// everything that is skipped here.
		InsecureSkipVerify: true, //nolint:gosec // see verify
		VerifyConnection:   d.verify,
	}
	return nil
}

// verify checks the certificate of the broker that was dialed. It is called in each handshake, before anything of ours is
// sent.
func (d *dialer) verify(s tls.ConnectionState) error {
	o := x509.VerifyOptions{Intermediates: x509.NewCertPool()}
	if d.cfg.CA != nil {
		if text := d.cfg.CA(); text != "" {
			cas, err := charter.ParseCA(text)
			if err != nil {
				return bad("its authority, as it is kept here: %v", err)
			}
			o.Roots = x509.NewCertPool()
			for _, c := range cas {
				o.Roots.AddCert(c)
			}
		}
	}
	if len(s.PeerCertificates) == 0 {
		return bad("it shows none")
	}
	leaf := s.PeerCertificates[0]
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(o); err != nil {
		return d.unverified(leaf, o.Roots != nil, err)
	}
	if err := leaf.VerifyHostname(d.host); err != nil { // last: the names in it are shown, and an authority stands for them
		return d.unverified(leaf, o.Roots != nil, err)
	}
	return nil
}

// badCertificate is an [ErrCertificate] with its reason.
type badCertificate struct{ why string }

func bad(format string, args ...any) error { return &badCertificate{fmt.Sprintf(format, args...)} }

// Error implements error.
func (e *badCertificate) Error() string { return ErrCertificate.Error() + ": " + e.why }

// Unwrap is ErrCertificate.
func (e *badCertificate) Unwrap() error { return ErrCertificate }

// unverified says in one line what is wrong with a certificate.
func (d *dialer) unverified(leaf *x509.Certificate, own bool, err error) error {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && time.Now().Before(leaf.NotBefore):
		return bad("it is valid from %s on: look at the clocks of both machines", leaf.NotBefore.UTC().Format(time.DateTime))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return bad("it expired at %s: whoever runs the broker renews it", leaf.NotAfter.UTC().Format(time.DateTime))
	case errors.As(err, &name):
		return bad("it is not for %s, but for %s: use one of these, or start swarm up with --tls-name %s", d.host, names(leaf), d.host)
	case errors.As(err, &unknown) && own:
		return bad("it is not signed by the authority of your invitation: it is another broker, or its authority was made anew: ask for another invitation by a way that you trust")
	case errors.As(err, &unknown):
		return bad("no authority that this machine knows has signed it: join with an invitation, which names the team's own")
	}
	return bad("%v", err)
}

// untrusted is what a connection's error says of the broker's certificate, without the client library's words; nil: nothing.
func untrusted(err error) error {
	if errors.Is(err, ErrNoTLS) {
		return fmt.Errorf("%w: use nats:// for a broker of this machine, or start it with a certificate", ErrNoTLS)
	}
	var found *badCertificate
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// names are those that a certificate is good for, a few of them.
func names(c *x509.Certificate) string {
	all := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) > 8 {
		all = append(all[:8], "others")
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// sealedWire is a connection to an address that is reached by TLS: nothing of ours goes out on it before a handshake has
// begun, whatever the other side says that it wants.
type sealedWire struct {
	net.Conn
	begun bool // written while the client connects, which it does from one goroutine
}

// handshake begins each record of a TLS handshake.
const handshake = 22

// Write implements net.Conn.
func (w *sealedWire) Write(p []byte) (int, error) {
	if !w.begun {
		if len(p) == 0 || p[0] != handshake {
			return 0, ErrNoTLS
		}
		w.begun = true
	}
	return w.Conn.Write(p)
}
