package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
)

// Server is what a broker shows to who connects. Its methods may be called at once.
type Server struct {
	ca    string // PEM
	now   func() time.Time
	renew func(now time.Time, old *tls.Certificate) (*tls.Certificate, error) // old: there is nothing to renew

	mu   sync.Mutex
	cert *tls.Certificate
}

// CA is the PEM of what members check the broker's certificate with; empty: their system's roots.
func (s *Server) CA() string { return s.ca }

// TLS is the broker's side. A certificate that is about to expire is renewed on the way.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current(), nil },
	}
}

// current is what is shown now. One that cannot be renewed stays: whoever connects sees what is wrong with it.
func (s *Server) current() *tls.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next, err := s.renew(s.now(), s.cert); err == nil {
		s.cert = next
	}
	return s.cert
}

// Until is when the certificate of now expires.
func (s *Server) Until() time.Time { return s.current().Leaf.NotAfter }

// For reports whether the certificate of now is good for a host name or address.
func (s *Server) For(name string) bool { return s.current().Leaf.VerifyHostname(name) == nil }

// Names are those that the certificate of now is good for.
func (s *Server) Names() []string {
	leaf := s.current().Leaf
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// lookAgain is how often files are looked at again: what renews them writes them anew.
const lookAgain = time.Minute

// Files returns what a broker shows whose certificate and key are in PEM files that somebody else makes. They are read again
// when they were changed; files that cannot be used then are not, and the ones before stay. ca is the file of what members
// check it with; empty: their system's roots.
func Files(cert, key, ca string, now func() time.Time) (*Server, error) {
	s := &Server{now: now}
	var roots *x509.CertPool
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("certs: %w", err)
		}
		cas, err := charter.ParseCA(string(text))
		if err != nil {
			return nil, fmt.Errorf("certs: %s: %w", ca, err)
		}
		s.ca, roots = string(text), x509.NewCertPool()
		for _, c := range cas {
			roots.AddCert(c)
		}
	}
	var looked time.Time
	var read [2]time.Time // when the files were changed that are in use
	s.renew = func(at time.Time, old *tls.Certificate) (*tls.Certificate, error) {
		if old != nil && at.Sub(looked).Abs() < lookAgain {
			return old, nil
		}
		looked = at
		changed, err := changes(cert, key)
		if err != nil || old != nil && changed == read {
			return old, err
		}
		next, err := load(cert, key, roots, at)
		if err == nil {
			read = changed
		}
		return next, err
	}
	var err error
	s.cert, err = s.renew(now(), nil)
	return s, err
}

func changes(paths ...string) (at [2]time.Time, err error) {
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return at, fmt.Errorf("certs: %w", err)
		}
		at[i] = info.ModTime()
	}
	return at, nil
}

// load reads a certificate with its key, and refuses what no member would believe.
func load(cert, key string, roots *x509.CertPool, now time.Time) (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certs: %s with %s: %w", cert, key, errors.New(strings.TrimPrefix(err.Error(), "tls: ")))
	}
	if c.Leaf == nil {
		if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return nil, fmt.Errorf("certs: %s: %w", cert, err)
		}
	}
	switch {
	case !now.Before(c.Leaf.NotAfter):
		return nil, fmt.Errorf("certs: %s expired at %s: renew it", cert, day(c.Leaf.NotAfter))
	case now.Before(c.Leaf.NotBefore):
		return nil, fmt.Errorf("certs: %s is valid from %s on: look at this machine's clock", cert, day(c.Leaf.NotBefore))
	case roots == nil:
		return &c, nil
	}
	between := x509.NewCertPool()
	for _, der := range c.Certificate[1:] {
		if one, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(one)
		}
	}
	if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now}); err != nil {
		return nil, fmt.Errorf("certs: %s is not signed by the authority that you name (%w): name its own", cert, err)
	}
	return &c, nil
}
