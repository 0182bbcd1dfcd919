package charter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
)

// ErrBadInvitation means that a text is no invitation, or one that cannot be used. The text says why.
var ErrBadInvitation = errors.New("charter: bad invitation")

// MaxInvitationLife is the longest time between an invitation and its use.
const MaxInvitationLife = time.Hour

// Invitation lets one person make one member, once, until it expires. Its seed is the secret: whoever has it first can use
// it. It says which owner to believe; what it grants is what the coordinator remembers of it, not what it says.
type Invitation struct {
	V        int       `json:"v"`
	Team     string    `json:"team"`
	TeamID   string    `json:"teamId"`
	OwnerKey string    `json:"ownerKey"` // public, of the first owner: everything the new member is told is checked with it
	Servers  []string  `json:"servers"`
	Name     string    `json:"name"`
	Role     Role      `json:"role"`
	Kind     Kind      `json:"kind"`
	Seed     string    `json:"seed"` // of the key with which it is used
	Expires  time.Time `json:"expires"`
	// Handovers lead to the owner of now: a key that was given up is not believed by whoever comes later.
	Handovers []Handover `json:"handovers,omitempty"`
	CA        string     `json:"ca,omitempty"` // PEM: what the brokers' certificates are checked with, instead of the system's roots
}

// invitationPrefix begins the text of an invitation, so that it is told from other secrets.
const invitationPrefix = "swarm-invitation-1."

// maxInvitation is the longest text that is read, and maxServers how many addresses it may name.
const (
	maxInvitation = 64 << 10
	maxServers    = 16
)

// Encode returns the invitation as one line of text to paste.
func (i Invitation) Encode() (string, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	data, err := mailbox.Marshal(i)
	if err != nil {
		return "", fmt.Errorf("charter: encode an invitation: %w", err)
	}
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(data), nil
}

// ParseInvitation reads the text of an invitation. Blanks and line ends, which mail programs put into long lines, do not
// count. It does not look at the time.
func ParseInvitation(text string) (Invitation, error) {
	if len(text) > maxInvitation {
		return Invitation{}, badInvitation("it has %d bytes, at most %d", len(text), maxInvitation)
	}
	body, ok := strings.CutPrefix(strings.Join(strings.Fields(text), ""), invitationPrefix)
	if !ok {
		return Invitation{}, badInvitation("it does not begin with %s: paste the whole line", invitationPrefix)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return Invitation{}, badInvitation("it was cut or altered on its way: paste the whole line")
	}
	var head struct {
		V int `json:"v"`
	}
	if json.Unmarshal(data, &head) == nil && head.V != mailbox.Version {
		return Invitation{}, fmt.Errorf("charter: %w: the invitation has version %d, and this swarm reads %d: update the older one", mailbox.ErrVersion, head.V, mailbox.Version)
	}
	var i Invitation
	if err := mailbox.DecodeStrict(data, &i); err != nil {
		return Invitation{}, badInvitation("it was cut or altered on its way: %v", err)
	}
	return i, i.check()
}

func badInvitation(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadInvitation, fmt.Errorf(format, args...))
}

func (i Invitation) check() error {
	if i.V != mailbox.Version {
		return fmt.Errorf("charter: %w: the invitation has version %d, and this swarm reads %d: update the older one", mailbox.ErrVersion, i.V, mailbox.Version)
	}
	if err := mailbox.CheckMember(i.Team); err != nil {
		return badInvitation("team: %w", err)
	}
	if err := checkOwnerKey(i.OwnerKey); err != nil {
		return badInvitation("owner: %w", err)
	}
	if !teamIDForm.MatchString(i.TeamID) {
		return badInvitation("teamId %q is none: ask for another", i.TeamID)
	}
	if len(i.Handovers) > 0 {
		if _, err := (Root{Founder: i.OwnerKey}).Owner(i.Handovers); err != nil {
			return badInvitation("owner: %w", err)
		}
	}
	if err := i.checkServers(); err != nil {
		return err
	}
	if _, err := i.Key(); err != nil {
		return err
	}
	if i.Expires.IsZero() {
		return badInvitation("it has no time: ask for another")
	}
	return CheckInvited(i.Name, i.Role, i.Kind)
}

func (i Invitation) checkServers() error {
	if len(i.Servers) == 0 || len(i.Servers) > maxServers {
		return badInvitation("it names %d brokers, want 1 to %d", len(i.Servers), maxServers)
	}
	for _, s := range i.Servers {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.Port() == "" || u.User != nil {
			return badInvitation("the broker %q is no address: ask for another", s)
		}
	}
	if i.CA != "" {
		if _, err := ParseCA(i.CA); err != nil {
			return badInvitation("ca: %w: ask for another", err)
		}
	}
	return nil
}

// CheckInvited refuses what nobody can be invited as.
func CheckInvited(name string, role Role, kind Kind) error {
	if err := mailbox.CheckMember(name); err != nil {
		return badInvitation("member: %w", err)
	}
	switch {
	case role != RoleTeammate && role != RoleLeader && role != RoleObserver:
		return badInvitation("role %q: use one of %s", role, listed(roles))
	case kind != KindPerson && kind != KindAgent:
		return badInvitation("kind %q: use %s or %s", kind, KindPerson, KindAgent)
	}
	return nil
}

// Key returns the key pair with which the invitation is used. Wipe it afterwards.
func (i Invitation) Key() (nkeys.KeyPair, error) {
	kp, err := nkeys.FromSeed([]byte(i.Seed))
	if err != nil {
		return nil, badInvitation("its key cannot be read: paste the whole line")
	}
	if pub, err := kp.PublicKey(); err != nil || checkUserKey(pub) != nil {
		return nil, badInvitation("its key is of another kind: ask for another")
	}
	return kp, nil
}

// ProveKey signs, with a member's new key, that it belongs to whoever uses an invitation; [VerifyKey] checks it. Nobody can
// join under a key that is another's.
func ProveKey(kp nkeys.KeyPair, teamID, invitationKey string) (string, error) {
	sig, err := sign(kp, []byte(joinContext), []byte(teamID+"\n"+invitationKey))
	if err != nil {
		return "", fmt.Errorf("charter: prove a key: %w", err)
	}
	return sig, nil
}

// VerifyKey reports whether proof is that of [ProveKey].
func VerifyKey(key, teamID, invitationKey, proof string) bool {
	return checkUserKey(key) == nil && verify(key, []byte(joinContext), []byte(teamID+"\n"+invitationKey), proof)
}
