package config

import (
	"path/filepath"
	"slices"
)

// Broker says how `swarm up` is reached. It stands in a person's own configuration: no project opens a port.
type Broker struct {
	Listen   string `yaml:"listen"`   // HOST:PORT
	Insecure bool   `yaml:"insecure"` // beyond this machine in clear
	TLS      TLS    `yaml:"tls"`
}

// TLS is what a broker shows to other machines: files, or by an authority of its own a certificate for these names.
type TLS struct {
	Cert  string   `yaml:"cert"` // PEM files
	Key   string   `yaml:"key"`
	CA    string   `yaml:"ca"`    // what members check Cert with; empty: their system's roots
	Names []string `yaml:"names"` // under which members reach the broker; they stand in invitations
}

// Wanted reports whether anything of it is named: then the broker speaks TLS on loopback too.
func (t TLS) Wanted() bool { return t.Cert != "" || t.Key != "" || t.CA != "" || len(t.Names) > 0 }

// Over is t, with what is named in more in front: a certificate, its key and its authority go together.
func (t TLS) Over(more TLS) TLS {
	if more.Cert != "" || more.Key != "" || more.CA != "" {
		t.Cert, t.Key, t.CA = more.Cert, more.Key, more.CA
	}
	if len(more.Names) > 0 {
		t.Names = slices.Clone(more.Names)
	}
	return t
}

// in has relative files lie in a folder.
func (b Broker) in(dir string) Broker {
	for _, path := range []*string{&b.TLS.Cert, &b.TLS.Key, &b.TLS.CA} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	return b
}
