package natsauth

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// MaxConnections is how many connections one member may have at once: a runner, consoles, and commands that are typed.
const MaxConnections = 64

// Traffic is what came over one connection since it was made.
type Traffic struct {
	Name        string // of the member; guests have their own names
	Msgs, Bytes int64
}

// Traffic returns what came over each live connection of a member or guest, by the connection's id. It reads counters of
// the server, and is in no message's way.
func (a *Authenticator) Traffic() map[uint64]Traffic {
	a.mu.Lock()
	srv, out := a.srv, make(map[uint64]Traffic, len(a.conns))
	for id, x := range a.conns {
		out[id] = Traffic{Name: x.name}
	}
	a.mu.Unlock()
	for id, t := range out {
		z, err := srv.Connz(&server.ConnzOptions{CID: id})
		if err != nil || len(z.Conns) != 1 {
			delete(out, id)
			continue
		}
		t.Msgs, t.Bytes = z.Conns[0].InMsgs, z.Conns[0].InBytes
		out[id] = t
	}
	return out
}

// Bar lets nobody in under a name until then, and cuts its connections: what is left when nothing else stops a flood.
func (a *Authenticator) Bar(name string, until time.Time) {
	a.mu.Lock()
	a.barred[name] = until
	cut := a.takeOut(func(x connection) bool { return x.name == name })
	a.mu.Unlock()
	a.disconnect(cut)
}

// crowded says why one more connection under a name is refused, "" when it is not. The caller holds the lock.
func (a *Authenticator) crowded(name string, now time.Time) string {
	if until, ok := a.barred[name]; ok {
		if now.Before(until) {
			return "barred after a flood, until " + until.UTC().Format(time.DateTime)
		}
		delete(a.barred, name)
	}
	if count(a.conns, name) < MaxConnections {
		return ""
	}
	if a.prune(); count(a.conns, name) < MaxConnections {
		return ""
	}
	return "too many connections at once"
}

func count(conns map[uint64]connection, name string) (n int) {
	for _, x := range conns {
		if x.name == name {
			n++
		}
	}
	return n
}
