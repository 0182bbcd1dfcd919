// Package mailboxtest runs a whole team for tests: a broker in this process, its coordinator, a charter with its owner,
// and members that connect with their own keys. It is the real thing, up in about ten milliseconds, and needs no port,
// so that it also runs inside a testing/synctest bubble.
//
//	team := mailboxtest.Server(t)
//	team.AddLeader("anna", charter.KindPerson)
//	team.AddTeammate("api")
//	anna, api := team.Connect("anna"), team.Connect("api")
//
// In a bubble, give natsbox.Config an Instance (those of [Team.Config] have one), and do not let connections break: the
// NATS client shares timers between all connections of a process when it connects again, drains or flushes, and a timer
// of one bubble ends the process in another.
package mailboxtest

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/coordinator"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

// Team is a running team. Its methods fail the test when something goes wrong, and may be called at once.
type Team struct {
	Name     string
	OwnerKey string // public, of the first owner

	t     testing.TB
	cfg   settings
	owner nkeys.KeyPair
	enrol nkeys.KeyPair

	mu     sync.Mutex
	signed charter.Signed
	keys   map[string]nkeys.KeyPair
	server *embednats.Server
	coord  *coordinator.Coordinator
	stop   func() // the broker
	halt   func() // the coordinator
}

type settings struct {
	team  string
	dir   string
	embed embednats.Config
	caps  charter.Caps
	audit bool
	free  bool
	keep  time.Duration
	now   func() time.Time
	log   *slog.Logger
}

// Option adjusts a [Team].
type Option func(*settings)

// Named gives the team a name other than "shop".
func Named(team string) Option { return func(s *settings) { s.team = team } }

// StoreDir keeps the store somewhere else than in a folder of the test.
func StoreDir(dir string) Option { return func(s *settings) { s.dir = dir } }

// Listen opens a port: "127.0.0.1:0" is any free one. It does not work inside a bubble.
func Listen(address string) Option { return func(s *settings) { s.embed.Listen = address } }

// MaxStore bounds the store, in bytes.
func MaxStore(n int64) Option { return func(s *settings) { s.embed.MaxStore = n } }

// Sync is that of [embednats.Config]. Without it the broker does not wait for the disk: what is stopped in order, as
// here, loses nothing, and tests are faster.
func Sync(v string) Option { return func(s *settings) { s.embed.Sync = v } }

// Caps sets what nothing in the team exceeds. Without it that is mode bypassPermissions.
func Caps(c charter.Caps) Option { return func(s *settings) { s.caps = c } }

// Audited keeps an audit ledger, signed by a member "policy".
func Audited() Option { return func(s *settings) { s.audit = true } }

// Unguarded lets one member flood, up to the broker's own limits.
func Unguarded() Option { return func(s *settings) { s.free = true } }

// Keeps has handled mail deleted after so long by a clock.
func Keeps(d time.Duration, now func() time.Time) Option {
	return func(s *settings) { s.keep, s.now = d, now }
}

// Logged has the broker and the coordinator write to a logger. Without it nobody reads what they say.
func Logged(l *slog.Logger) Option { return func(s *settings) { s.log, s.embed.Logger = l, l } }

// Server starts a team, and ends it with the test.
func Server(t testing.TB, opts ...Option) *Team {
	t.Helper()
	cfg := settings{
		team: "shop",
		caps: charter.Caps{Mode: permissions.ModeBypass, PlanRequired: true}, embed: embednats.Config{Sync: "2m"},
	}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.dir == "" {
		cfg.dir = t.TempDir()
	}
	tm := &Team{Name: cfg.team, t: t, cfg: cfg, keys: map[string]nkeys.KeyPair{}}
	tm.owner, tm.enrol = newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateUser)
	tm.OwnerKey = public(t, tm.owner)
	var members []charter.Member
	if cfg.audit {
		kp := newKey(t, nkeys.CreateUser)
		tm.remember("policy", kp)
		members = append(members, charter.Member{Name: "policy", Role: charter.RoleLeader, Kind: charter.KindPolicy, Key: public(t, kp), Assurance: charter.Memory})
	}
	tm.sign(charter.New(cfg.team, tm.OwnerKey, members, cfg.caps, public(t, tm.enrol)))
	tm.Start()
	t.Cleanup(tm.Stop)
	return tm
}

// failer is what a key needs of a test, or of a property's try.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// UserKey is a new member's key, with its public half.
func UserKey(t failer) (nkeys.KeyPair, string) {
	t.Helper()
	kp := newKey(t, nkeys.CreateUser)
	return kp, public(t, kp)
}

func newKey(t failer, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	kp, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return kp
}

func public(t failer, kp nkeys.KeyPair) string {
	t.Helper()
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

// sign makes c the owner's word.
func (tm *Team) sign(c charter.Charter) charter.Signed {
	tm.t.Helper()
	tm.mu.Lock()
	defer tm.mu.Unlock()
	s, err := charter.Sign(tm.owner, c, tm.signed.Handovers...)
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.signed = s
	return s
}

// HandOver gives the team to an owner with a new key, which it returns. by signs it: the owner of now ([Team.Owner]), or the
// recovery key that the hand-over before has named. Of next, RecoveryKey and Compromised count.
func (tm *Team) HandOver(by nkeys.KeyPair, next charter.NewOwner) nkeys.KeyPair {
	tm.t.Helper()
	c := tm.Charter()
	c.Serial++
	kp := newKey(tm.t, nkeys.CreateAccount)
	next.To, next.Serial = public(tm.t, kp), c.Serial
	chain, err := charter.SignHandover(by, c.TeamID, tm.Coordinator().Signed().Handovers, next)
	if err != nil {
		tm.t.Fatal(err)
	}
	s, err := charter.Sign(kp, c, chain...)
	if err != nil {
		tm.t.Fatal(err)
	}
	if err := tm.Coordinator().SetCharter(context.Background(), s); err != nil {
		tm.t.Fatal(err)
	}
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.owner = kp
	return kp
}

// Start starts broker and coordinator on the team's store. [Server] has done it already; use it after [Team.Stop].
func (tm *Team) Start() {
	tm.t.Helper()
	embed := tm.cfg.embed
	embed.StoreDir = tm.cfg.dir
	srv, err := embednats.Start(context.Background(), embed)
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.mu.Lock()
	signed := tm.signed
	tm.mu.Unlock()
	co, err := coordinator.New(coordinator.Config{
		Server: srv, Team: tm.Name, OwnerKey: tm.OwnerKey, Charter: signed, Enrol: tm.enrol, Ledger: tm.ledgerKey(), Unguarded: tm.cfg.free,
		KeepMail: tm.cfg.keep, Now: tm.cfg.now, Logger: tm.cfg.log,
		Save: func(s charter.Signed) error {
			tm.mu.Lock()
			defer tm.mu.Unlock()
			tm.signed = s
			return nil
		},
	})
	if err != nil {
		tm.t.Fatal(errors.Join(err, srv.Close()))
	}
	tm.run(srv, co)
}

// ledgerKey is nil where no ledger is kept.
func (tm *Team) ledgerKey() nkeys.KeyPair {
	if !tm.cfg.audit {
		return nil
	}
	return tm.Key("policy")
}

// run runs the coordinator until stop, and waits until it answers.
func (tm *Team) run(srv *embednats.Server, co *coordinator.Coordinator) {
	tm.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- co.Run(ctx) }()
	select {
	case <-co.Ready():
	case err := <-done:
		cancel()
		tm.t.Fatal(errors.Join(err, srv.Close()))
	}
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.server, tm.coord = srv, co
	tm.halt = sync.OnceFunc(func() { cancel(); <-done })
	tm.stop = func() {
		tm.halt()
		if err := srv.Close(); err != nil {
			tm.t.Error(err)
		}
	}
}

// Stop ends coordinator and broker. Connections wait for [Team.Start].
func (tm *Team) Stop() {
	tm.mu.Lock()
	stop := tm.stop
	tm.stop = nil
	tm.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// Secure has the broker speak TLS from the next [Team.Start] on.
func (tm *Team) Secure(c *tls.Config) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.cfg.embed.TLS = c
}

// StopCoordinator ends the coordinator alone: the broker goes on.
func (tm *Team) StopCoordinator() {
	tm.mu.Lock()
	halt := tm.halt
	tm.mu.Unlock()
	halt()
}

// Server returns the running broker.
func (tm *Team) Server() *embednats.Server {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.server
}

// Coordinator returns the running coordinator.
func (tm *Team) Coordinator() *coordinator.Coordinator {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.coord
}

// InProcessConn implements nats.InProcessConnProvider with whichever broker runs now, so that connections survive a
// restart.
func (tm *Team) InProcessConn() (net.Conn, error) { return tm.Server().InProcessConn() }

// Charter returns the charter in force.
func (tm *Team) Charter() charter.Charter { return tm.Coordinator().Charter() }

// Amend puts an altered charter in force, signed by the owner with the next serial.
func (tm *Team) Amend(change func(*charter.Charter)) {
	tm.t.Helper()
	c := tm.Charter()
	c.Serial++
	change(&c)
	if err := tm.Coordinator().SetCharter(context.Background(), tm.sign(c)); err != nil {
		tm.t.Fatal(err)
	}
}

// AddLeader adds a leader with a new key, which it returns.
func (tm *Team) AddLeader(name string, kind charter.Kind) nkeys.KeyPair {
	tm.t.Helper()
	return tm.AddMember(charter.Member{Name: name, Role: charter.RoleLeader, Kind: kind, Assurance: charter.Plain})
}

// AddMember adds a member of any role with a new key, which it returns.
func (tm *Team) AddMember(m charter.Member) nkeys.KeyPair {
	tm.t.Helper()
	kp := newKey(tm.t, nkeys.CreateUser)
	m.Key = public(tm.t, kp)
	tm.Amend(func(c *charter.Charter) { c.Members = append(c.Members[:len(c.Members):len(c.Members)], m) })
	tm.remember(m.Name, kp)
	return kp
}

// AddTeammate enrols a teammate with a new key, which it returns.
func (tm *Team) AddTeammate(name string) nkeys.KeyPair {
	tm.t.Helper()
	kp := newKey(tm.t, nkeys.CreateUser)
	_, err := tm.Coordinator().Enrol(context.Background(), name, public(tm.t, kp), charter.KindAgent)
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.remember(name, kp)
	return kp
}

// Retire takes a member's rights.
func (tm *Team) Retire(name string) {
	tm.t.Helper()
	tm.Amend(func(c *charter.Charter) {
		c.Members = append([]charter.Member{}, c.Members...)
		for i := range c.Members {
			if c.Members[i].Name == name {
				c.Members[i].Retired = true
			}
		}
	})
}

func (tm *Team) remember(name string, kp nkeys.KeyPair) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.keys[name] = kp
}

// Key returns the key of a member that was added.
func (tm *Team) Key(name string) nkeys.KeyPair {
	tm.t.Helper()
	tm.mu.Lock()
	defer tm.mu.Unlock()
	kp, ok := tm.keys[name]
	if !ok {
		tm.t.Fatalf("mailboxtest: nobody was added as %q", name)
	}
	return kp
}

// Config returns what a member connects with. Change it and call [natsbox.Connect] for anything unusual.
func (tm *Team) Config(name string) natsbox.Config {
	tm.t.Helper()
	return natsbox.Config{
		InProcess: tm, Team: tm.Name, Me: name, Key: tm.Key(name), Instance: name + "-test",
		Wait: time.Minute, Confirm: 20 * time.Second, // tests share a machine
	}
}

// Dial connects as a member that has not joined. The connection ends with the test.
func (tm *Team) Dial(name string) *natsbox.Conn {
	tm.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := natsbox.Connect(ctx, tm.Config(name))
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.t.Cleanup(conn.Close)
	return conn
}

// Connect connects as a member and joins, in mode default.
func (tm *Team) Connect(name string) *natsbox.Conn {
	tm.t.Helper()
	conn := tm.Dial(name)
	if _, err := conn.Join(context.Background(), natsbox.JoinRequest{Name: name, Mode: permissions.ModeDefault}); err != nil {
		tm.t.Fatal(err)
	}
	return conn
}

// Raw connects as a member without any library of ours in between: what an attacker with a valid key can do. The
// instance is that of [Team.Config].
func (tm *Team) Raw(name string, opts ...nats.Option) *nats.Conn {
	tm.t.Helper()
	kp := tm.Key(name)
	all := append([]nats.Option{
		nats.InProcessServer(tm), nats.Nkey(public(tm.t, kp), kp.Sign), nats.Token(name + "-test"),
		nats.CustomInboxPrefix("_INBOX_" + name), nats.NoReconnect(), nats.Timeout(time.Minute),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, opts...)
	nc, err := nats.Connect("", all...)
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.t.Cleanup(nc.Close)
	return nc
}

// Enrol returns the enrolment key, which adds teammates and nobody else.
func (tm *Team) Enrol() nkeys.KeyPair { return tm.enrol }

// Owner returns the owner's key, with which a test signs a charter of its own.
func (tm *Team) Owner() nkeys.KeyPair {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.owner
}
