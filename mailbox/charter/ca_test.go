package charter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox/certs"
	"github.com/planswarm/swarm/mailbox/charter"
)

// authority is one that signs for nobody here.
func authority(t testing.TB) string {
	t.Helper()
	s, err := certs.Own(t.TempDir(), "shop", []string{"x"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s.CA()
}

// An invitation's authority comes as it was written; what is none refuses the invitation, before anybody goes anywhere.
func TestInvitationNamesAnAuthority(t *testing.T) {
	t.Parallel()
	one := authority(t)
	for name, x := range map[string]struct{ ca, says string }{
		"none":            {"", ""},
		"one":             {one, ""},
		"two":             {one + "\n" + authority(t), ""},
		"words":           {"trust me", "no certificate in PEM"},
		"words around it": {one + "trust me", "no certificate in PEM"},
		"half of one":     {one[:len(one)/2], "no certificate in PEM"},
		"a key":           {strings.ReplaceAll(one, "CERTIFICATE", "PRIVATE KEY"), "no certificate in PEM"},
		"altered bytes":   {strings.Replace(one, "MII", "AAA", 1), "it is no certificate"},
		"too many":        {strings.Repeat(one, 9), "more than 8"},
		"too large":       {one + strings.Repeat("\n", 16<<10), "at most 16384"},
	} {
		i := invitation(t)
		i.CA, i.Servers = x.ca, []string{"tls://broker.example.com:4222"}
		text, err := i.Encode()
		if x.says != "" {
			if !errors.Is(err, charter.ErrBadInvitation) || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s: %v, want %q", name, err, x.says)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := charter.ParseInvitation(text); err != nil || got.CA != x.ca {
			t.Errorf("%s: %q, %v, want it as it was", name, got.CA, err)
		}
	}
}

// FuzzParseCA reads whatever it is given: nothing panics, and what is read is an authority.
func FuzzParseCA(f *testing.F) {
	f.Add(authority(f))
	f.Add("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := charter.ParseCA(text)
		for _, c := range list {
			if !c.IsCA {
				t.Errorf("%q is read as an authority", c.Subject)
			}
		}
		if (err == nil) == (len(list) == 0) {
			t.Errorf("%d authorities, %v", len(list), err)
		}
	})
}
