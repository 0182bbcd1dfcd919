package natsbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
)

// The verbs of invitations.
const (
	VerbInvite   = "invite"   // InviteRequest -> InviteInfo: persons who lead
	VerbUninvite = "uninvite" // UninviteRequest -> InviteInfo: persons who lead
	VerbInvites  = "invites"  // -> []InviteInfo: not for teammates
	VerbEnrol    = natsauth.VerbEnrol
)

// InviteRequest has the coordinator remember an invitation. Its seed stays with who made it.
type InviteRequest struct {
	Key     string       `json:"key"` // public, of the invitation
	Name    string       `json:"name"`
	Role    charter.Role `json:"role"`
	Kind    charter.Kind `json:"kind"`
	Expires time.Time    `json:"expires"`
}

// UninviteRequest takes an invitation back, or turns away who waits for the owner's word.
type UninviteRequest struct {
	Name string `json:"name"`
}

// InviteState is how an invitation stands.
type InviteState string

// The states.
const (
	InviteOpen    InviteState = "open"    // nobody has used it yet
	InvitePending InviteState = "pending" // used, and the owner has to confirm
	InviteExpired InviteState = "expired" // nobody used it in time
	InviteIn      InviteState = "in"      // used, and its holder is a member
)

// InviteInfo is one invitation as the coordinator knows it.
type InviteInfo struct {
	Name      string            `json:"name"`
	Role      charter.Role      `json:"role"`
	Kind      charter.Kind      `json:"kind"`
	State     InviteState       `json:"state"`
	Expires   time.Time         `json:"expires"`
	InvitedBy string            `json:"invitedBy"`
	Key       string            `json:"key,omitempty"` // public, of who used it
	Assurance charter.Assurance `json:"assurance,omitempty"`
	UsedAt    *time.Time        `json:"usedAt,omitempty"`
	Again     int               `json:"again,omitempty"` // attempts to use it once more, with another key
}

// EnrolRequest asks for the place that an invitation gives, and afterwards how it stands.
type EnrolRequest struct {
	Key       string            `json:"key"`   // public, of the new member
	Proof     string            `json:"proof"` // charter.ProveKey
	Assurance charter.Assurance `json:"assurance,omitempty"`
}

// Enrolled is the answer: the place is there, or it waits for the owner's word. The charter must be opened with the owner's
// key, and have the new member in it, before any of this is believed.
type Enrolled struct {
	State   InviteState    `json:"state"` // in or pending
	Name    string         `json:"name"`
	Role    charter.Role   `json:"role"`
	Kind    charter.Kind   `json:"kind"`
	Charter charter.Signed `json:"charter"`
}

// Enrol uses an invitation: it connects with the invitation's key, which may do nothing else, and asks once. Of cfg it takes
// where the broker is, Team, CA, Insecure, and in Key the invitation's.
func Enrol(ctx context.Context, cfg Config, req EnrolRequest) (Enrolled, error) {
	var out Enrolled
	cfg.Me = mailbox.Lead // a name that check takes; the broker knows us by the key
	if err := cfg.check(); err != nil {
		return out, err
	}
	pub, err := cfg.Key.PublicKey()
	if err != nil {
		return out, fmt.Errorf("natsbox: the invitation's key: %w", err)
	}
	data, err := json.Marshal(req)
	if err != nil {
		return out, fmt.Errorf("natsbox: enrol: %w", err)
	}
	c := &Conn{cfg: cfg}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	me := natsauth.GuestName(pub)
	nc, err := c.guest(pub, me)
	if err != nil {
		return out, err
	}
	defer nc.Close()
	m, err := nc.RequestWithContext(ctx, mailbox.ServiceSubject(cfg.Team, me, VerbEnrol), data)
	switch {
	case err != nil && ctx.Err() != nil:
		return out, fmt.Errorf("%w: nothing within %s: is `swarm up` running?", ErrUnreachable, cfg.Wait)
	case err != nil:
		return out, fmt.Errorf("%w: %w: is `swarm up` running?", ErrUnreachable, err)
	case m.Header.Get("Nats-Service-Error-Code") != "":
		return out, serviceError(m)
	}
	if err := json.Unmarshal(m.Data, &out); err != nil {
		return out, fmt.Errorf("natsbox: enrol: answer: %w", err)
	}
	return out, nil
}

// guest connects with the key of an invitation.
func (c *Conn) guest(pub, me string) (*nats.Conn, error) {
	url := ""
	o := []nats.Option{
		nats.Name(me), nats.Nkey(pub, signNonce(c.cfg.Key)), nats.CustomInboxPrefix("_INBOX_" + me), nats.NoReconnect(), nats.Timeout(dialWait),
		nats.IgnoreDiscoveredServers(),
	}
	if c.cfg.InProcess == nil {
		list, err := c.cfg.addresses()
		if err != nil {
			return nil, err
		}
		url = plain(list)
	}
	nc, err := nats.Connect(url, append(o, c.cfg.way(dialWait)...)...)
	switch {
	case err != nil && untrusted(err) != nil:
		return nil, untrusted(err)
	case err != nil && refused(err):
		return nil, fmt.Errorf("%w: the broker does not know this invitation, or its time is over: ask for another", ErrRefused)
	case err != nil:
		return nil, fmt.Errorf("%w: %w: is `swarm up` running?", ErrUnreachable, err)
	}
	return nc, nil
}
