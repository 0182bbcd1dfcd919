package charter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
)

// Handover gives a team to another owner, or names who may do that besides the owner. Payload is the JSON of a [NewOwner].
//
// A team keeps its id, which is the hash of its first owner's key: its streams, orders and grants are bound to that. Who
// owns it now, the chain of hand-overs proves, from the key that has this hash to the key that signs the charter.
type Handover struct {
	Payload []byte `json:"payload"`
	Sig     string `json:"sig"`
}

// NewOwner is what a hand-over's payload says.
type NewOwner struct {
	V      int    `json:"v"`
	TeamID string `json:"teamId"`
	Number int    `json:"number"`         // of this hand-over, from 1
	Prev   string `json:"prev,omitempty"` // hash of the payload before
	From   string `json:"from"`           // public: the owner until now
	To     string `json:"to"`             // public: the owner from now on; the same where only a recovery key is named
	By     string `json:"by"`             // public: whose signature this is, the owner's or that of the recovery key
	// RecoveryKey is public: it may sign the next hand-over, and nothing else. Empty: only the owner may.
	RecoveryKey string `json:"recoveryKey,omitempty"`
	// Serial is that of the first charter under it. A charter that is older is none of the new owner's.
	Serial uint64 `json:"serial"`
	// Compromised says that the owner's key was in other hands: what waits and what was granted before Serial is void.
	Compromised bool `json:"compromised,omitempty"`
}

// Owner is who owns a team after a chain of hand-overs.
type Owner struct {
	Key         string // public
	RecoveryKey string // public; empty: none was named
	Serial      uint64 // no charter below it counts
	Voided      uint64 // the newest hand-over of a compromised key is of this serial; 0: none
}

// Root is what a member believes of its team before it sees a charter: who founded it, and which hand-overs it has followed.
type Root struct {
	Founder string // public key of the first owner
	Known   []Handover
}

// maxHandovers bounds a chain: it is part of each charter that is sent.
const maxHandovers = 64

// SignHandover puts one more hand-over at the end of a chain. Of next it takes To, RecoveryKey, Serial and Compromised. The
// first one is signed by the founder; later ones by the owner or with the recovery key that was named last.
func SignHandover(by nkeys.KeyPair, teamID string, chain []Handover, next NewOwner) ([]Handover, error) {
	key, err := by.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("charter: hand over: %w", err)
	}
	owner, err := ownerAfter(teamID, chain)
	if err != nil {
		return nil, err
	}
	if owner.Key == "" {
		owner.Key = key
	}
	next.V, next.TeamID, next.Number, next.From, next.By = mailbox.Version, teamID, len(chain)+1, owner.Key, key
	if len(chain) > 0 {
		next.Prev = hashOf(chain[len(chain)-1].Payload)
	}
	payload, err := mailbox.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("charter: hand over: %w", err)
	}
	sig, err := sign(by, []byte(handoverContext), payload)
	if err != nil {
		return nil, fmt.Errorf("charter: hand over: %w", err)
	}
	out := append(append([]Handover{}, chain...), Handover{payload, sig})
	_, err = ownerAfter(teamID, out)
	return out, err
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ownerAfter verifies a chain from the team's id on. The zero Owner is that of no chain: whoever has the key with that hash.
func ownerAfter(teamID string, chain []Handover) (Owner, error) {
	var o Owner
	if len(chain) > maxHandovers {
		return o, bad("it was handed over %d times, at most %d are read: found the team anew", len(chain), maxHandovers)
	}
	prev := ""
	for i, h := range chain {
		n, err := o.read(teamID, i, prev, h)
		if err != nil {
			return Owner{}, fmt.Errorf("hand-over %d: %w", i+1, err)
		}
		o.Key, o.RecoveryKey, o.Serial = n.To, n.RecoveryKey, n.Serial
		if n.Compromised {
			o.Voided = n.Serial
		}
		prev = hashOf(h.Payload)
	}
	return o, nil
}

// read verifies the next hand-over after an owner: first that one who may has signed it, then what it says.
func (o Owner) read(teamID string, i int, prev string, h Handover) (NewOwner, error) {
	n, err := readVersioned[NewOwner](h.Payload)
	if err != nil {
		return NewOwner{}, err
	}
	founder := i == 0 && TeamID(n.By) == teamID && n.By == n.From
	switch {
	case !founder && (i == 0 || n.By != o.Key && (o.RecoveryKey == "" || n.By != o.RecoveryKey)):
		return NewOwner{}, fmt.Errorf("%w: %s may not hand this team over: only its owner and its recovery key can", ErrBadSignature, n.By)
	case checkOwnerKey(n.By) != nil || !verify(n.By, []byte(handoverContext), h.Payload, h.Sig):
		return NewOwner{}, fmt.Errorf("%w: it is not of %s: fetch the charter again", ErrBadSignature, n.By)
	case n.TeamID != teamID:
		return NewOwner{}, bad("it is of another team")
	case n.Number != i+1 || n.Prev != prev || i > 0 && n.From != o.Key:
		return NewOwner{}, bad("it does not follow the one before")
	case n.Serial == 0 || n.Serial < o.Serial:
		return NewOwner{}, bad("serial %d, after %d", n.Serial, o.Serial)
	case n.To == n.RecoveryKey:
		return NewOwner{}, bad("owner and recovery have one key: make another")
	}
	if err := checkOwnerKey(n.To); err != nil {
		return NewOwner{}, bad("to: %w", err)
	}
	if n.RecoveryKey != "" {
		if err := checkOwnerKey(n.RecoveryKey); err != nil {
			return NewOwner{}, bad("recoveryKey: %w", err)
		}
	}
	return n, nil
}

// Owner verifies a chain of hand-overs and says whose the team is after it. A chain that the member has followed stays: it may
// grow, and it may not be cut or told otherwise, with one exception. Where a hand-over of the owner's key and one of the
// recovery key begin at the same place, that of the recovery key counts: it is made when the owner's key is in other hands.
func (r Root) Owner(chain []Handover) (Owner, error) {
	id := TeamID(r.Founder)
	o, err := ownerAfter(id, chain)
	if err != nil {
		return Owner{}, err
	}
	if len(chain) == 0 {
		o.Key = r.Founder
	}
	for i, known := range r.Known {
		if i == len(chain) {
			return Owner{}, fmt.Errorf("%w: it is from before the team was handed over: fetch the charter again; if this stays, tell the owner", ErrOldCharter)
		}
		if hashOf(known.Payload) == hashOf(chain[i].Payload) {
			continue
		}
		if !r.recovered(chain[:i+1]) || r.recovered(r.Known[:i+1]) {
			return Owner{}, fmt.Errorf("%w: the team was handed over to somebody else before: tell the owner", ErrBadSignature)
		}
		break
	}
	return o, nil
}

// recovered reports whether the last hand-over of a chain is one of the recovery key.
func (r Root) recovered(chain []Handover) bool {
	before, err := ownerAfter(TeamID(r.Founder), chain[:len(chain)-1])
	if err != nil || before.RecoveryKey == "" {
		return false
	}
	n, err := readVersioned[NewOwner](chain[len(chain)-1].Payload)
	return err == nil && n.By == before.RecoveryKey
}

// Founder is the key of the first owner as a charter's hand-overs name it, empty where there are none. Nothing is verified.
func (s Signed) Founder() string {
	if len(s.Handovers) == 0 {
		return ""
	}
	n, err := readVersioned[NewOwner](s.Handovers[0].Payload)
	if err != nil {
		return ""
	}
	return n.From
}
