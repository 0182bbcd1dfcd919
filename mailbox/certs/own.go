package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/wholefile"
)

const (
	// Life is how long a certificate of an own authority is valid. It is renewed when a third of it is left.
	Life = 30 * 24 * time.Hour
	// authorityLife is that of the authority. Members have it from their invitation: a new one invites them again.
	authorityLife = 20 * 365 * 24 * time.Hour
	// skew is how far a member's clock may be behind.
	skew = time.Hour
)

// The files of an authority.
const (
	authorityFile = "broker-ca.pem"
	authorityKey  = "broker-ca.key"
)

// Own returns what a broker shows whose authority lies in a folder; it is made when there is none. Names are the host names
// and addresses under which members reach the broker.
func Own(dir, team string, names []string, now func() time.Time) (*Server, error) {
	ca, key, text, err := authority(dir, team, now())
	if err != nil {
		return nil, err
	}
	s := &Server{ca: text, now: now}
	s.renew = func(at time.Time, old *tls.Certificate) (*tls.Certificate, error) {
		if old != nil && old.Leaf.NotAfter.Sub(at) > Life/3 && !at.Before(old.Leaf.NotBefore) {
			return old, nil
		}
		return issue(ca, key, names, at)
	}
	s.cert, err = s.renew(now(), nil)
	return s, err
}

// authority reads the authority of a folder, or makes it.
func authority(dir, team string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, string, error) {
	certPath, keyPath := filepath.Join(dir, authorityFile), filepath.Join(dir, authorityKey)
	text, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return found(certPath, keyPath, team, now)
	}
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %w", err)
	}
	again := fmt.Sprintf("move %s and %s away: another authority is made, and members on other machines are invited again", certPath, keyPath)
	cas, err := charter.ParseCA(string(text))
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %s: %w: %s", certPath, err, again)
	}
	key, err := readKey(keyPath)
	switch {
	case err != nil:
		return nil, nil, "", fmt.Errorf("certs: %s: %w: %s", keyPath, err, again)
	case !key.PublicKey.Equal(cas[0].PublicKey):
		return nil, nil, "", fmt.Errorf("certs: %s is not the key of %s: %s", keyPath, certPath, again)
	case !now.Before(cas[0].NotAfter):
		return nil, nil, "", fmt.Errorf("certs: %s expired at %s: %s", certPath, day(cas[0].NotAfter), again)
	}
	return cas[0], key, string(text), nil
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others may read or change it (%v): chmod 600 it", info.Mode())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("it is no PEM file")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is a %T", key)
	}
	return own, nil
}

// found makes an authority. Its key is on disk before its certificate: one without the other is made again.
func found(certPath, keyPath, team string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, "", err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "swarm team " + team},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = wholefile.Write(keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	if err == nil {
		err = wholefile.Write(certPath, text)
	}
	if err != nil {
		return nil, nil, "", fmt.Errorf("certs: %w", err)
	}
	return ca, key, string(text), nil
}

// issue makes a certificate for a broker with these names.
func issue(ca *x509.Certificate, by *ecdsa.PrivateKey, names []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "swarm broker"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(Life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, &key.PublicKey, by)
	if err != nil {
		return nil, fmt.Errorf("certs: a certificate for %v: %w", names, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	return n, nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
