// Package natsauth lets a team's members into the broker and says what each of them may publish and read there.
//
// An [Authenticator] runs inside the embedded server. It verifies the signature over the server's nonce itself, looks
// the key up in the team's charter, and registers the connection in an account of the member's own, with exactly the
// subjects of its role. There is no default user: who is not in the charter does not get in.
package natsauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// Authenticator implements [server.Authentication] from a charter. Its methods may be called at once.
type Authenticator struct {
	log   *slog.Logger
	coord nkeys.KeyPair
	key   string        // public part of coord
	open  chan struct{} // closed by the first Open
	once  sync.Once

	mu      sync.Mutex
	srv     *server.Server
	account *server.Account            // of the streams
	offered string                     // the team whose services it exports
	imports map[string]map[Import]bool // of each member's account
	secret  []byte                     // nil until Open: no member is let in before
	team    string
	members map[string]charter.Member // by key
	guests  map[string]Guest          // by key
	conns   map[uint64]connection
	fenced  map[identity]bool
	// by name
	silenced map[string]Silence
	barred   map[string]time.Time
}

// identity is one running copy of a member. An empty instance has not said which one it is.
type identity struct{ name, instance string }

type connection struct {
	identity
	key  string
	role charter.Role
}

var instanceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// New returns an Authenticator that knows nobody but the coordinator, whose key it makes. A nil logger discards.
func New(log *slog.Logger) (*Authenticator, error) {
	kp, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("natsauth: make the coordinator's key: %w", err)
	}
	pub, err := kp.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("natsauth: make the coordinator's key: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Authenticator{
		log: log, coord: kp, key: pub, open: make(chan struct{}),
		imports: map[string]map[Import]bool{}, members: map[string]charter.Member{}, conns: map[uint64]connection{}, fenced: map[identity]bool{},
		silenced: map[string]Silence{}, barred: map[string]time.Time{},
	}, nil
}

// CoordinatorKey is the key of the one connection that has every right. It lives in memory only, and is another one
// after each start.
func (a *Authenticator) CoordinatorKey() nkeys.KeyPair { return a.coord }

// Bind tells the Authenticator which server it guards, and which account has the streams. Call it before the server starts.
func (a *Authenticator) Bind(s *server.Server, account *server.Account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.srv, a.account, a.offered, a.imports = s, account, "", map[string]map[Import]bool{}
}

// Open lets members in. The secret makes the names of their consumers unguessable; it must be the same after a restart.
func (a *Authenticator) Open(secret []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secret = append([]byte{}, secret...)
	a.once.Do(func() { close(a.open) })
}

// Update replaces the roster. Connections of members that are gone, retired, or have another role or key now are cut.
func (a *Authenticator) Update(c charter.Charter) {
	a.mu.Lock()
	a.team = c.Team
	a.members = make(map[string]charter.Member, len(c.Members))
	for _, m := range c.Members {
		a.members[m.Key] = m
	}
	cut := a.takeOut(func(x connection) bool {
		m, ok := a.members[x.key]
		return !IsGuest(x.name) && (!ok || m.Retired || m.Role != x.role || m.Name != x.name)
	})
	a.mu.Unlock()
	a.disconnect(cut)
}

// Cut disconnects every live connection of a member and returns how many there were. A member that is still in the
// roster may come back.
func (a *Authenticator) Cut(name string) int {
	a.mu.Lock()
	cut := a.takeOut(func(x connection) bool { return x.name == name })
	a.mu.Unlock()
	a.disconnect(cut)
	return len(cut)
}

// Fence takes every right but that of asking the coordinator from one instance of a member, and cuts its connections.
func (a *Authenticator) Fence(name, instance string) {
	id := identity{name, instance}
	a.mu.Lock()
	a.fenced[id] = true
	cut := a.takeOut(func(x connection) bool { return x.identity == id })
	a.mu.Unlock()
	a.disconnect(cut)
}

// Unfence gives an instance its rights back, from its next connection on, and reports whether it had lost them.
func (a *Authenticator) Unfence(name, instance string) bool {
	id := identity{name, instance}
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.fenced[id]
	delete(a.fenced, id)
	return was
}

// Connected reports whether an instance of a member has a live connection.
func (a *Authenticator) Connected(name, instance string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prune()
	for _, x := range a.conns {
		if x.name == name && x.instance == instance {
			return true
		}
	}
	return false
}

// Online reports whether a member has any live connection.
func (a *Authenticator) Online(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prune()
	for _, x := range a.conns {
		if x.name == name {
			return true
		}
	}
	return false
}

// Durable is the name of the consumers of one instance: "<member>-<32 hex>". Only the coordinator and that instance
// know it.
func (a *Authenticator) Durable(name, instance string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.durable(name, instance)
}

func (a *Authenticator) durable(name, instance string) string {
	if a.secret == nil || instance == "" {
		return ""
	}
	h := hmac.New(sha256.New, a.secret)
	h.Write([]byte(name + "\x00" + instance))
	return name + "-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Check implements [server.Authentication]: it is called by the server for each new connection.
func (a *Authenticator) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if c.Kind() != server.CLIENT || !signed(o.Nkey, o.Sig, c.GetNonce()) {
		a.refuse(c, o.Nkey, "no valid signature")
		return false
	}
	if o.Nkey != a.key {
		a.waitOpen()
	}
	// The connection is registered under the lock: a member is either cut after it, or refused before it.
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.Nkey == a.key {
		c.RegisterUser(&server.User{Username: "coordinator", Account: a.account})
		return true
	}
	m, ok := a.members[o.Nkey]
	if !ok {
		why := a.admitGuest(c, o.Nkey, time.Now())
		if why != "" {
			a.refuse(c, o.Nkey, why)
		}
		return why == ""
	}
	if why := a.whyNot(m, o.Token, time.Now()); why != "" {
		a.refuse(c, o.Nkey, why)
		return false
	}
	if err := a.register(c, m, o.Token); err != nil {
		a.log.Error("connection refused", "member", m.Name, "error", err)
		return false
	}
	return true
}

// openWait is how long a member that comes before the coordinator is ready waits at the door. The server gives it half
// a minute.
const openWait = time.Second

func (a *Authenticator) waitOpen() {
	t := time.NewTimer(openWait)
	defer t.Stop()
	select {
	case <-a.open:
	case <-t.C:
	}
}

// whyNot says why a member is not let in, "" when it is.
func (a *Authenticator) whyNot(m charter.Member, instance string, now time.Time) string {
	switch {
	case a.secret == nil:
		return "the coordinator has not started"
	case m.Retired:
		return "retired"
	case m.NotAfter != nil && !now.Before(*m.NotAfter):
		return "the key has expired"
	case instance != "" && !instanceForm.MatchString(instance):
		return "bad instance"
	}
	return a.crowded(m.Name, now)
}

func (a *Authenticator) register(c server.ClientAuthentication, m charter.Member, instance string) error {
	id := identity{m.Name, instance}
	r := RightsOf(a.team, m, a.durable(m.Name, instance)).under(a.silenced[m.Name])
	if a.fenced[id] {
		r = Fenced(a.team, m)
	}
	account, err := a.accountOf(r)
	if err != nil {
		return fmt.Errorf("natsauth: make the account %s: %w", r.Account, err)
	}
	u := &server.User{Username: m.Name, Account: account, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish, Deny: r.Deny},
		Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
	}}
	if m.NotAfter != nil {
		u.ConnectionDeadline = *m.NotAfter // the server ends the connection then
	}
	c.RegisterUser(u)
	if len(a.conns) > 4*len(a.members) {
		a.prune()
	}
	a.conns[c.GetID()] = connection{identity: id, key: m.Key, role: m.Role}
	return nil
}

// accountOf returns a member's account, which it makes and gives what is missing. Imports of an instance that is gone stay:
// without the permission of a connection they are ways that nobody walks. The caller holds the lock.
func (a *Authenticator) accountOf(r Rights) (*server.Account, error) {
	if err := a.offer(); err != nil {
		return nil, err
	}
	account, _ := a.srv.LookupOrRegisterAccount(r.Account)
	have := a.imports[r.Account]
	if have == nil {
		have = map[Import]bool{}
		a.imports[r.Account] = have
		if r.Events != "" {
			if err := account.AddStreamImport(a.account, r.Events, ""); err != nil {
				return nil, fmt.Errorf("events: %w", err)
			}
		}
	}
	for _, in := range r.Imports {
		if have[in] {
			continue
		}
		if err := account.AddServiceImport(a.account, in.Local, in.Remote); err != nil {
			return nil, fmt.Errorf("import %s: %w", in.Remote, err)
		}
		have[in] = true
	}
	return account, nil
}

// offer exports the team's services, once. The caller holds the lock.
func (a *Authenticator) offer() error {
	if a.offered == a.team {
		return nil
	}
	for _, e := range Exports(a.team) {
		kind := server.Singleton
		if e.Streamed {
			kind = server.Streamed
		}
		if err := a.account.AddServiceExportWithResponse(e.Subject, kind, nil); err != nil {
			return fmt.Errorf("export %s: %w", e.Subject, err)
		}
	}
	if err := a.account.AddStreamExport(mailbox.EventSubject(a.team, ">"), nil); err != nil {
		return fmt.Errorf("export events: %w", err)
	}
	a.offered = a.team
	return nil
}

func (a *Authenticator) refuse(c server.ClientAuthentication, key, why string) {
	a.log.Info("connection refused", "reason", why, "key", key, "remote", fmt.Sprint(c.RemoteAddress()))
}

// prune forgets connections that have ended. The caller holds the lock.
func (a *Authenticator) prune() {
	for id := range a.conns {
		if a.srv == nil || a.srv.GetClient(id) == nil {
			delete(a.conns, id)
		}
	}
}

// takeOut removes the connections that match and returns their ids. The caller holds the lock.
func (a *Authenticator) takeOut(match func(connection) bool) []uint64 {
	var ids []uint64
	a.prune()
	for id, x := range a.conns {
		if match(x) {
			ids = append(ids, id)
			delete(a.conns, id)
		}
	}
	return ids
}

func (a *Authenticator) disconnect(ids []uint64) {
	for _, id := range ids {
		_ = a.srv.DisconnectClientByID(id) // an error means that it has gone by itself
	}
}

// signed reports whether sig is key's signature over the nonce. The server leaves this to us.
func signed(key, sig string, nonce []byte) bool {
	kp, err := nkeys.FromPublicKey(key)
	if err != nil || len(nonce) == 0 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	return err == nil && kp.Verify(nonce, raw) == nil
}
