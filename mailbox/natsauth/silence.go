package natsauth

import (
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
)

// Silence is how much of its right to publish was taken from a member for a while. What it may read stays.
type Silence int

// The degrees.
const (
	// Speaks is a member that has every right of its role.
	Speaks Silence = iota
	// Muted takes mail away, but not what keeps the others' picture true: its status, its receipts, what it withdraws and
	// endorses, and a leader's decisions and orders.
	Muted
	// Silent takes everything away but questions to the coordinator and reading.
	Silent
)

// unmuted are the kinds of mail that a muted member may send.
var unmuted = []mailbox.Kind{mailbox.KindReceipt, mailbox.KindPlanWithdrawn, mailbox.KindEndorsement}

// under are the rights that are left to a silenced member.
func (r Rights) under(s Silence) Rights {
	if s == Speaks {
		return r
	}
	r.Publish = slices.DeleteFunc(slices.Clone(r.Publish), func(subject string) bool {
		t := strings.Split(subject, ".")
		if len(t) < 4 || t[0] != "swarm" {
			return false // reading
		}
		switch branch := t[2]; {
		case branch == "svc":
			return false
		case s == Silent:
			return true
		default:
			return branch == "mb" && !slices.Contains(unmuted, mailbox.Kind(t[len(t)-1]))
		}
	})
	return r
}

// SetSilence takes rights from a member, or gives them back. Its connections are cut where that changes anything, so that
// they come back with what is left.
func (a *Authenticator) SetSilence(name string, s Silence) {
	a.mu.Lock()
	was := a.silenced[name]
	a.silenced[name] = s
	if s == Speaks {
		delete(a.silenced, name)
	}
	var cut []uint64
	if was != s {
		cut = a.takeOut(func(x connection) bool { return x.name == name })
	}
	a.mu.Unlock()
	a.disconnect(cut)
}
