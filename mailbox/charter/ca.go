package charter

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Bounds of what an invitation says about the brokers' certificates: bytes of PEM, and authorities in it.
const (
	maxCA          = 16 << 10
	maxAuthorities = 8
)

// ParseCA reads the certificates of authorities, in PEM. There is at least one, and nothing else.
func ParseCA(text string) ([]*x509.Certificate, error) {
	if len(text) > maxCA {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", len(text), maxCA)
	}
	var out []*x509.Certificate
	for rest := []byte(text); strings.TrimSpace(string(rest)) != ""; {
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("it is no certificate in PEM")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("it is no certificate: %w", err)
		}
		if !c.IsCA {
			return nil, fmt.Errorf("%q is no authority's certificate", c.Subject.CommonName)
		}
		if out, rest = append(out, c), after; len(out) > maxAuthorities {
			return nil, fmt.Errorf("it names more than %d authorities", maxAuthorities)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it has no certificate in it")
	}
	return out, nil
}
