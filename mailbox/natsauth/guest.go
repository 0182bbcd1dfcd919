package natsauth

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/planswarm/swarm/mailbox"
)

// Guest is somebody with an invitation: it may ask for its place in the team, and nothing else.
type Guest struct {
	Key     string    // public, of the invitation
	Expires time.Time // no connection begins afterwards, and none lasts longer; zero: it waits for the owner's word
}

// guestPrefix begins the names of guests. No member's name has a capital letter.
const guestPrefix = "I_"

// GuestName is the name under which an invitation's key is on the broker.
func GuestName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return guestPrefix + hex.EncodeToString(sum[:16])
}

// IsGuest reports whether a name is a guest's.
func IsGuest(name string) bool { return strings.HasPrefix(name, guestPrefix) }

// VerbEnrol is the one thing that a guest may ask of the coordinator.
const VerbEnrol = "enrol"

// GuestRights are those of a guest, in an account of its own.
func GuestRights(team, name string) Rights {
	r := Rights{Account: name, Subscribe: []string{"_INBOX_" + name + ".>"}}
	r.may(mailbox.ServiceSubject(team, name, VerbEnrol))
	return r
}

// SetGuests replaces the guests. Connections of those that are guests no more are cut.
func (a *Authenticator) SetGuests(guests []Guest) {
	a.mu.Lock()
	a.guests = make(map[string]Guest, len(guests))
	for _, g := range guests {
		a.guests[g.Key] = g
	}
	cut := a.takeOut(func(x connection) bool {
		_, ok := a.guests[x.key]
		return IsGuest(x.name) && !ok
	})
	a.mu.Unlock()
	a.disconnect(cut)
}

// admitGuest lets in who holds the key of an invitation. The caller holds the lock.
func (a *Authenticator) admitGuest(c server.ClientAuthentication, key string, now time.Time) (why string) {
	g, ok := a.guests[key]
	switch {
	case a.secret == nil:
		return "the coordinator has not started"
	case !ok:
		return "unknown key"
	case !g.Expires.IsZero() && !now.Before(g.Expires):
		return "the invitation has expired"
	}
	name := GuestName(key)
	if why := a.crowded(name, now); why != "" {
		return why
	}
	r := GuestRights(a.team, name)
	account, err := a.accountOf(r)
	if err != nil {
		a.log.Error("connection refused", "guest", name, "error", err)
		return "its account cannot be made"
	}
	u := &server.User{Username: name, Account: account, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish},
		Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
	}}
	if !g.Expires.IsZero() {
		u.ConnectionDeadline = g.Expires
	}
	c.RegisterUser(u)
	a.conns[c.GetID()] = connection{identity: identity{name: name}, key: key}
	return ""
}
