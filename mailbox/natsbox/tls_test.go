package natsbox_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/certs"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// own is what a broker shows by an authority of its own.
func own(t testing.TB, now func() time.Time, names ...string) *certs.Server {
	t.Helper()
	s, err := certs.Own(t.TempDir(), "shop", names, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sealed is a team whose broker listens on a loopback address of its own, by TLS.
func sealed(t testing.TB) (*mailboxtest.Team, *certs.Server) {
	t.Helper()
	team, by := shop(t, mailboxtest.Listen("127.0.0.2:0")), own(t, time.Now, "127.0.0.2")
	team.Stop()
	team.Secure(by.TLS())
	team.Start()
	if url := team.Server().URL(); !strings.HasPrefix(url, "tls://127.0.0.2:") {
		t.Fatalf("the broker is at %s", url)
	}
	return team, by
}

// over is how a member comes to an address.
func over(team *mailboxtest.Team, name, url string, ca func() string) natsbox.Config {
	cfg := team.Config(name)
	cfg.InProcess, cfg.URL, cfg.CA = nil, url, ca
	return cfg
}

// tap passes what two sides say on, changed by edit, and keeps what the client has said.
type tap struct {
	ln   net.Listener
	mu   sync.Mutex
	sent bytes.Buffer
}

func newTap(t testing.TB, to string, edit func([]byte) []byte) *tap {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{ln: ln}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.pass(client, to, edit) })
		}
	})
	return p
}

func (p *tap) pass(client net.Conn, to string, edit func([]byte) []byte) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	info := bufio.NewReader(server)
	line, err := info.ReadBytes('\n')
	if err != nil {
		return
	}
	_, _ = client.Write(edit(line))
	go func() {
		_, _ = io.Copy(client, info)
		client.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(server, p), client)
}

// Write keeps what the client has said.
func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.Write(b)
}

func (p *tap) said() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.sent.Bytes())
}

func same(b []byte) []byte { return b }

// Members and those with an invitation come by TLS, and members of the broker's own process as before; who is on the way
// reads nothing of it.
func TestMembersMeetTheBrokerByTLS(t *testing.T) {
	t.Parallel()
	team, by := sealed(t)
	at := strings.TrimPrefix(team.Server().URL(), "tls://")
	p := newTap(t, at, same)
	api, err := natsbox.Connect(t.Context(), over(team, "api", "tls://"+p.ln.Addr().String(), by.CA))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	if _, err := api.Join(t.Context(), natsbox.JoinRequest{Name: "api", Instance: "api-test"}); err != nil {
		t.Fatal(err)
	}
	const secret = "the words of a letter"
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", mailbox.Lead, 1, time.Now(), mailbox.Message{Text: secret})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	anna := team.Connect("anna") // in process
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		letters, err := anna.Mail(t.Context())
		if err == nil && len(letters) == 1 && letters[0].Text == secret {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("anna's mail = %+v, %v", letters, err)
		}
	}
	said := p.said()
	for _, words := range []string{secret, "CONNECT", "PUB", "swarm.shop"} {
		if bytes.Contains(said, []byte(words)) {
			t.Errorf("%q goes over the wire in clear", words)
		}
	}
	if len(said) < 1000 {
		t.Errorf("only %d bytes went over the tapped wire", len(said))
	}
}

// A server that cannot show a certificate that the invitation's authority has signed, for its name and for now, is sent
// nothing: no key, no signature, no name.
func TestAttackServerWithAnotherCertificate(t *testing.T) {
	t.Parallel()
	team := shop(t)
	now := time.Now
	later := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }
	good := own(t, now, "127.0.0.2")
	dir := t.TempDir()
	at := func(clock func() time.Time, names ...string) *certs.Server { // all of one authority
		s, err := certs.Own(dir, "shop", names, clock)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ours := at(later(-2*certs.Life), "127.0.0.2") // the authority has been there since then
	for name, x := range map[string]struct {
		shows *certs.Server
		ca    string
		says  string
	}{
		"another authority's certificate":   {good, ours.CA(), "is not signed by the authority of your invitation"},
		"one that this machine trusts":      {trusted(t), ours.CA(), "is not signed by the authority of your invitation"},
		"one of no authority that is known": {good, "", "no authority that this machine knows"},
		"an expired certificate":            {ours, ours.CA(), "it expired at"},
		"a certificate of the future":       {at(later(certs.Life), "127.0.0.2"), ours.CA(), "it is valid from"},
		"another machine's certificate":     {at(now, "127.0.0.3", "broker.example.com"), ours.CA(), "not for 127.0.0.2, but for broker.example.com, 127.0.0.3"},
		"an authority that cannot be read":  {good, "-----BEGIN", "its authority, as it is kept here"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, x.shows.TLS(), true)
			ca := func() string { return x.ca }
			conn, err := natsbox.Connect(t.Context(), over(team, "api", "tls://"+f.ln.Addr().String(), ca))
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			if !errors.Is(err, natsbox.ErrCertificate) || !strings.Contains(err.Error(), x.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Connect = %v, want one line with %q", err, x.says)
			}
			cfg := over(team, "api", "tls://"+f.ln.Addr().String(), ca)
			cfg.Key = newUser(t)
			if _, err := natsbox.Enrol(t.Context(), cfg, natsbox.EnrolRequest{Key: "x"}); !errors.Is(err, natsbox.ErrCertificate) {
				t.Errorf("Enrol = %v, want %v", err, natsbox.ErrCertificate)
			}
			if got := f.heard(); len(got) > 0 {
				t.Errorf("the server was told %q", got)
			}
			mailboxtest.Refused(t, "stand in for the broker with "+name, "who is on the way", mailboxtest.ByMember, err.Error())
		})
	}
}

// trusted is a server whose authority every program of this machine believes.
func trusted(t testing.TB) *certs.Server {
	t.Helper()
	s, err := certs.Own(publicAuthority, "public", []string{"127.0.0.2"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fake is a server that says that it wants TLS, or that it does not, and keeps what it is told.
type fake struct {
	ln   net.Listener
	mu   sync.Mutex
	told []byte
}

func newFake(t testing.TB, cfg *tls.Config, required bool) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{ln: ln}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				fmt.Fprintf(c, "INFO {\"server_id\":\"x\",\"version\":\"2.15.3\",\"proto\":1,\"headers\":true,\"max_payload\":8388608,\"auth_required\":true,\"nonce\":\"AAAAAAAAAAA\",\"tls_required\":%t}\r\n", required)
				if required {
					c = tls.Server(c, cfg)
				}
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					f.mu.Lock()
					f.told = append(f.told, buf[:n]...)
					f.mu.Unlock()
					if err != nil {
						return
					}
				}
			})
		}
	})
	return f
}

func (f *fake) heard() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(f.told)
}

// Whoever answers in clear at a tls:// address is sent nothing, and so is the broker behind one who says that it wants no
// TLS; the broker itself answers nobody in clear.
func TestAttackPlaintextDowngrade(t *testing.T) {
	t.Parallel()
	team, by := sealed(t)
	at := strings.TrimPrefix(team.Server().URL(), "tls://")
	refuse := func(name, url string, heard func() []byte) {
		t.Helper()
		conn, err := natsbox.Connect(t.Context(), over(team, "api", url, by.CA))
		if err == nil {
			conn.Close()
			t.Fatalf("%s: connected", name)
		}
		if !errors.Is(err, natsbox.ErrNoTLS) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "use nats:// for a broker of this machine") {
			t.Errorf("%s: %v, want one line of %v", name, err, natsbox.ErrNoTLS)
		}
		if got := heard(); len(got) > 0 {
			t.Errorf("%s: it was told %q", name, got)
		}
		mailboxtest.Refused(t, "have a member speak in clear: "+name, "who is on the way", mailboxtest.ByMember, err.Error())
	}
	f := newFake(t, nil, false)
	refuse("a server without TLS", "tls://"+f.ln.Addr().String(), f.heard)
	p := newTap(t, at, func(info []byte) []byte {
		return bytes.ReplaceAll(info, []byte(`"tls_required":true`), []byte(`"tls_required":false`))
	})
	refuse("who takes the broker's wish for TLS away", "tls://"+p.ln.Addr().String(), p.said)

	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(c)
	if _, err := r.ReadString('\n'); err != nil { // its INFO
		t.Fatal(err)
	}
	fmt.Fprint(c, "CONNECT {\"verbose\":true,\"pedantic\":false,\"tls_required\":false}\r\nPING\r\n")
	rest, _ := io.ReadAll(r) // an alert, and the end
	if bytes.Contains(rest, []byte("+OK")) || bytes.Contains(rest, []byte("PONG")) {
		t.Errorf("the broker answers in clear: %q", rest)
	}
	mailboxtest.Refused(t, "speak to the broker in clear", "anybody", mailboxtest.ByDoor, fmt.Sprintf("%d bytes of alert, then the end", len(rest)))
}

// A runner's connection survives a broker that comes back with TLS, with a certificate by another authority, and without:
// it asks each time where the broker is, and what its certificate is checked with.
func TestABrokerThatComesBackByTLS(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.Listen("127.0.0.2:0"))
	team.AddLeader("mia", charter.KindPerson)
	var mu sync.Mutex
	var url, ca string
	now := func(by *certs.Server) {
		mu.Lock()
		defer mu.Unlock()
		if url, ca = team.Server().URL(), ""; by != nil {
			ca = by.CA()
		}
	}
	now(nil)
	cfg := team.Config("api")
	cfg.InProcess = nil
	const nobody = "nats://127.0.0.2:1" // is tried first, each time
	cfg.Servers = func() []string { mu.Lock(); defer mu.Unlock(); return []string{nobody, url} }
	cfg.CA = func() string { mu.Lock(); defer mu.Unlock(); return ca }
	api, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	for i, by := range []*certs.Server{own(t, time.Now, "127.0.0.2"), own(t, time.Now, "127.0.0.2"), nil} {
		team.Stop()
		team.Secure(nil)
		if by != nil {
			team.Secure(by.TLS())
		}
		team.Start()
		now(by)
		for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			err := api.Call(t.Context(), natsbox.VerbCharter, struct{}{}, nil)
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("start %d: %v", i, err)
			}
		}
	}
}
