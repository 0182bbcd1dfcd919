package certs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planswarm/swarm/mailbox/certs"
	"github.com/planswarm/swarm/mailbox/charter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

// shown is the certificate that whoever connects now is shown, checked as a member does.
func shown(t testing.TB, s *certs.Server, name string, now time.Time) *x509.Certificate {
	t.Helper()
	c, err := s.TLS().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(s.CA())) {
		t.Fatalf("no authority in %q", s.CA())
	}
	if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
		t.Errorf("a member at %s: %v", now.Format(time.DateOnly), err)
	}
	return c.Leaf
}

func own(t testing.TB, dir string, c *clock, names ...string) *certs.Server {
	t.Helper()
	s, err := certs.Own(dir, "shop", names, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The authority stays, so that members who have it believe every later certificate, for ten years; no key but its own lies
// on disk.
func TestOwnAuthorityStays(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), &clock{time.Now()}
	s := own(t, dir, c, "broker.example.com", "127.0.0.2")
	first := shown(t, s, "broker.example.com", c.t)
	for range 120 {
		c.t = c.t.Add(30 * 24 * time.Hour)
		leaf := shown(t, s, "127.0.0.2", c.t)
		if left := leaf.NotAfter.Sub(c.t); left < certs.Life/3 || leaf.SerialNumber.Cmp(first.SerialNumber) == 0 {
			t.Fatalf("a certificate with %v left is shown", left)
		}
		again := own(t, dir, c, "127.0.0.3")
		if again.CA() != s.CA() {
			t.Fatal("a restart made another authority")
		}
		shown(t, again, "127.0.0.3", c.t)
	}
	c.t = c.t.Add(-certs.Life) // a clock that was set back
	shown(t, s, "127.0.0.2", c.t)
	if s.For("other.example.com") || !s.For("127.0.0.2") {
		t.Errorf("it is good for %v", s.Names())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("the folder has %v, %v, want the authority and its key", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want 0600", f, info.Mode(), err)
		}
	}
	cas, err := charter.ParseCA(s.CA())
	if err != nil || !cas[0].IsCA || !cas[0].MaxPathLenZero || cas[0].KeyUsage != x509.KeyUsageCertSign {
		t.Errorf("the authority is %+v, %v: want one that signs for brokers, and for no other authority", cas, err)
	}
	if s.TLS().MinVersion != tls.VersionTLS13 {
		t.Errorf("members are met with TLS from %x on", s.TLS().MinVersion)
	}
	if len(s.CA()) > 800 {
		t.Errorf("an invitation carries %d bytes of authority", len(s.CA()))
	}
}

// What is wrong with the folder is said with its file, and what to do; nothing of it is replaced.
func TestOwnAuthorityThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const ca, key = "broker-ca.pem", "broker-ca.key"
	for name, x := range map[string]struct {
		spoil func(dir string) error
		says  string
	}{
		"a torn certificate": {func(dir string) error { return os.Truncate(filepath.Join(dir, ca), 100) }, "no certificate in PEM"},
		"an empty one":       {func(dir string) error { return os.Truncate(filepath.Join(dir, ca), 0) }, "no certificate in it"},
		"a torn key":         {func(dir string) error { return os.Truncate(filepath.Join(dir, key), 40) }, "no PEM file"},
		"no key":             {func(dir string) error { return os.Remove(filepath.Join(dir, key)) }, "no such file"},
		"others read it":     {func(dir string) error { return os.Chmod(filepath.Join(dir, key), 0o640) }, "chmod 600"},
		"another's key": {func(dir string) error {
			other := t.TempDir()
			own(t, other, &clock{time.Now()}, "x")
			return os.Rename(filepath.Join(other, key), filepath.Join(dir, key))
		}, "is not the key of"},
	} {
		dir, c := t.TempDir(), &clock{time.Now()}
		own(t, dir, c, "x")
		if err := x.spoil(dir); err != nil {
			t.Fatal(err)
		}
		before := content(t, dir)
		_, err := certs.Own(dir, "shop", []string{"x"}, c.now)
		if err == nil || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), "move ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q and what to do", name, err, x.says)
		}
		if content(t, dir) != before {
			t.Errorf("%s: files were replaced", name)
		}
	}
	dir, c := t.TempDir(), &clock{time.Now()}
	own(t, dir, c, "x")
	c.t = c.t.AddDate(25, 0, 0)
	if _, err := certs.Own(dir, "shop", []string{"x"}, c.now); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("after 25 years: %v", err)
	}
	if _, err := certs.Own(t.TempDir(), "shop", []string{"bücher.example"}, time.Now); err == nil || !strings.Contains(err.Error(), "bücher.example") {
		t.Errorf("a name that no certificate can have: %v", err)
	}
}

func content(t testing.TB, dir string) (all string) {
	t.Helper()
	for _, name := range []string{"broker-ca.pem", "broker-ca.key"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		all += string(data) + "|"
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return all
}

// issue writes a certificate by another authority, with its key, into files; ca is that authority's.
func issue(t testing.TB, by *certs.Server, dir string) (cert, key string) {
	t.Helper()
	c, err := by.TLS().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Files are read again when they were renewed; what cannot be used is not taken, and the one before is shown on.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	home, dir := t.TempDir(), t.TempDir()
	by := own(t, home, c, "broker.example.com")
	cert, key := issue(t, by, dir)
	ca := filepath.Join(home, "broker-ca.pem")
	s, err := certs.Files(cert, key, ca, c.now)
	if err != nil {
		t.Fatal(err)
	}
	first := shown(t, s, "broker.example.com", c.t)
	touch := func() {
		t.Helper()
		c.t = c.t.Add(2 * time.Minute)
		for _, path := range []string{cert, key} {
			if err := os.Chtimes(path, c.t, c.t); err != nil {
				t.Fatal(err)
			}
		}
	}
	issue(t, own(t, home, c, "broker.example.com"), dir)
	touch()
	second := shown(t, s, "broker.example.com", c.t)
	if second.Equal(first) {
		t.Error("the renewed certificate is not shown")
	}
	if err := os.WriteFile(cert, []byte("half a"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch()
	if !shown(t, s, "broker.example.com", c.t).Equal(second) {
		t.Error("a torn file replaced the certificate")
	}
	issue(t, own(t, t.TempDir(), c, "broker.example.com"), dir) // of another authority
	touch()
	if !shown(t, s, "broker.example.com", c.t).Equal(second) {
		t.Error("a certificate that no member believes replaced the one before")
	}
}

// signed is a certificate by another one, or by itself, with its key.
func signed(t testing.TB, name string, ca bool, by *x509.Certificate, byKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: ca, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if by == nil {
		by, byKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}

// A certificate that another one has signed, which the authority has, comes with it in its file.
func TestFilesWithACertificateBetween(t *testing.T) {
	t.Parallel()
	root, rootKey := signed(t, "root", true, nil, nil)
	between, betweenKey := signed(t, "between", true, root, rootKey)
	leaf, leafKey := signed(t, "x", false, between, betweenKey)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, all ...[]byte) string {
		t.Helper()
		var data []byte
		for _, one := range all {
			data = append(data, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: one})...)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, ca := write("key.pem", "PRIVATE KEY", der), write("ca.pem", "CERTIFICATE", root.Raw)
	if _, err := certs.Files(write("whole.pem", "CERTIFICATE", leaf.Raw, between.Raw), key, ca, time.Now); err != nil {
		t.Errorf("with the one between: %v", err)
	}
	if _, err := certs.Files(write("half.pem", "CERTIFICATE", leaf.Raw), key, ca, time.Now); err == nil || !strings.Contains(err.Error(), "is not signed by the authority") {
		t.Errorf("without the one between: %v", err)
	}
}

// Files that nobody would believe are refused at the start.
func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	home, other, dir, more := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	cert, key := issue(t, own(t, home, c, "x"), dir)
	_, otherKey := issue(t, own(t, other, c, "x"), more)
	ca, otherCA := filepath.Join(home, "broker-ca.pem"), filepath.Join(other, "broker-ca.pem")
	for name, x := range map[string]struct {
		cert, key, ca string
		at            time.Time
		says          string
	}{
		"all is well":         {cert, key, ca, c.t, ""},
		"system's roots":      {cert, key, "", c.t, ""},
		"no certificate":      {filepath.Join(dir, "none"), key, ca, c.t, "no such file"},
		"another's key":       {cert, otherKey, ca, c.t, "does not match"},
		"another's authority": {cert, key, otherCA, c.t, "is not signed by the authority"},
		"no authority":        {cert, key, key, c.t, "no certificate in PEM"},
		"not an authority":    {cert, key, cert, c.t, "no authority's certificate"},
		"expired":             {cert, key, ca, c.t.AddDate(0, 3, 0), "expired at"},
		"not yet":             {cert, key, ca, c.t.AddDate(0, -3, 0), "valid from"},
	} {
		_, err := certs.Files(x.cert, x.key, x.ca, func() time.Time { return x.at })
		if x.says == "" && err == nil {
			continue
		}
		if x.says == "" || err == nil || !strings.Contains(err.Error(), x.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", name, err, x.says)
		}
	}
}
