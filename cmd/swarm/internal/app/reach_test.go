package app

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox/certs"
	"github.com/planswarm/swarm/mailbox/embednats"
)

// files are a certificate for these names, its key, and its authority.
func files(t testing.TB, names ...string) config.TLS {
	t.Helper()
	dir := t.TempDir()
	by, err := certs.Own(dir, "other", names, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := by.TLS().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	out := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "broker-ca.pem")}
	for path, b := range map[string]*pem.Block{out.Cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, out.Key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Beyond loopback there is TLS, or the person has typed that there is none; members get the names that a certificate is
// good for.
func TestHowABrokerIsReached(t *testing.T) {
	t.Parallel()
	given := files(t, "broker.example.com", "127.0.0.2")
	named := given
	named.Names = []string{"broker.example.com"}
	half := given
	half.Names = []string{"broker.example.com", "other.example.com"}
	me, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	mine := files(t, me)
	wrong := given
	wrong.Names = []string{"other.example.com"}
	for name, x := range map[string]struct {
		own     config.Broker
		o       UpOptions
		local   string // where members of this machine look; "": refused
		servers []string
		says    string
	}{
		"nothing said":                 {config.Broker{}, UpOptions{}, "nats://127.0.0.1:", nil, ""},
		"loopback":                     {config.Broker{}, UpOptions{Listen: "127.0.0.2:0"}, "nats://127.0.0.2:", nil, ""},
		"loopback with a name":         {config.Broker{}, UpOptions{Listen: "127.0.0.2:0", TLS: config.TLS{Names: []string{"a.example"}}}, "tls://127.0.0.2:", []string{"tls://a.example:"}, ""},
		"everywhere":                   {config.Broker{}, UpOptions{Listen: "0.0.0.0:0", TLS: config.TLS{Names: []string{"a.example", "192.0.2.9"}}}, "tls://127.0.0.1:", []string{"tls://a.example:", "tls://192.0.2.9:"}, ""},
		"everywhere, nothing said":     {config.Broker{}, UpOptions{Listen: "0.0.0.0:0"}, "tls://127.0.0.1:", []string{"tls://"}, ""},
		"everywhere, as it is called":  {config.Broker{}, UpOptions{Listen: "0.0.0.0:0", TLS: mine}, "tls://" + me + ":", []string{"tls://" + me + ":"}, ""},
		"files for one of two names":   {config.Broker{}, UpOptions{Listen: "0.0.0.0:0", TLS: half}, "", nil, "not for broker.example.com, other.example.com"},
		"everywhere in clear":          {config.Broker{}, UpOptions{Listen: "0.0.0.0:0", Insecure: true}, "nats://127.0.0.1:", []string{"nats://"}, ""},
		"the person's file says it":    {config.Broker{TLS: named}, UpOptions{}, "tls://broker.example.com:", []string{"tls://broker.example.com:"}, ""},
		"a flag is before the file":    {config.Broker{TLS: wrong}, UpOptions{TLS: config.TLS{Names: named.Names}}, "tls://broker.example.com:", []string{"tls://broker.example.com:"}, ""},
		"files for the address":        {config.Broker{}, UpOptions{Listen: "127.0.0.2:0", TLS: given}, "tls://127.0.0.2:", []string{"tls://127.0.0.2:"}, ""},
		"files for another name":       {config.Broker{}, UpOptions{Listen: "0.0.0.0:0", TLS: wrong}, "", nil, "is good for broker.example.com, 127.0.0.2, not for other.example.com"},
		"files for no name of here":    {config.Broker{}, UpOptions{Listen: "127.0.0.3:0", TLS: given}, "", nil, "not for 127.0.0.3"},
		"a name and in clear":          {config.Broker{Insecure: true}, UpOptions{TLS: named}, "", nil, "contradict"},
		"a certificate without a key":  {config.Broker{}, UpOptions{TLS: config.TLS{Cert: given.Cert}}, "", nil, "go together"},
		"an authority alone":           {config.Broker{}, UpOptions{TLS: config.TLS{CA: given.CA}}, "", nil, "go together"},
		"a name that none can have":    {config.Broker{}, UpOptions{TLS: config.TLS{Names: []string{"a b"}}}, "", nil, "not a host name"},
		"a port that there is none of": {config.Broker{}, UpOptions{Listen: "127.0.0.1:65536"}, "", nil, "HOST:PORT"},
		"an address without a host":    {config.Broker{}, UpOptions{Listen: ":4222"}, "", nil, "HOST:PORT"},
		"the authority is not a file":  {config.Broker{}, UpOptions{TLS: config.TLS{Cert: given.Cert, Key: given.Key, CA: "nowhere"}}, "", nil, "nowhere"},
		"no files, but a wrong folder": {config.Broker{TLS: config.TLS{Cert: "nowhere", Key: "nowhere"}}, UpOptions{}, "", nil, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := state{dir: t.TempDir()}
			r, err := s.reach(Env{Settings: config.Settings{Broker: x.own}}, x.o)
			if x.local == "" {
				if err == nil || !strings.Contains(err.Error(), x.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("reach = %v, want one line with %q", err, x.says)
				}
				return
			}
			if left, _ := os.ReadDir(s.dir); err != nil || len(left) > 0 {
				t.Fatalf("reach = %v, and left %v", err, left)
			}
			if err := r.certify(s, "shop"); err != nil {
				t.Fatal(err)
			}
			srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: t.TempDir(), Listen: r.listen, TLS: r.tls(), Insecure: r.insecure})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			if got := r.local(srv); !strings.HasPrefix(got, x.local) {
				t.Errorf("members here look at %s, want %s", got, x.local)
			}
			got, want := r.servers(srv), x.servers
			for len(want) == 1 && strings.HasSuffix(want[0], "://") && len(want) < len(got) { // whatever this machine is called
				want = slices.Repeat(want, len(got))
			}
			if !slices.EqualFunc(got, want, strings.HasPrefix) || strings.Contains(strings.Join(got, " "), "//0.0.0.0:") {
				t.Errorf("others look at %v, want %v", got, x.servers)
			}
		})
	}
}
