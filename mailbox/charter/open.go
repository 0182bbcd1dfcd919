package charter

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
)

// Sign checks a charter and signs it with the owner's key. Where the team was handed over, chain proves that it is the
// owner's. Additions to an earlier serial are not carried over: members who stay are in c.Members.
func Sign(owner nkeys.KeyPair, c Charter, chain ...Handover) (Signed, error) {
	key, err := owner.PublicKey()
	if err != nil {
		return Signed{}, fmt.Errorf("charter: sign: %w", err)
	}
	if err := checkOwnerKey(key); err != nil {
		return Signed{}, err
	}
	now, err := ownerAfter(c.TeamID, chain)
	switch {
	case err != nil:
		return Signed{}, err
	case len(chain) == 0 && c.TeamID != TeamID(key), len(chain) > 0 && now.Key != key:
		return Signed{}, bad("teamId %q is of another owner than %s: sign with the owner's key", c.TeamID, key)
	case c.Serial < now.Serial:
		return Signed{}, bad("serial %d is from before this owner (%d)", c.Serial, now.Serial)
	}
	if err := c.Validate(); err != nil {
		return Signed{}, err
	}
	payload, err := mailbox.Marshal(c)
	if err != nil {
		return Signed{}, fmt.Errorf("charter: sign: %w", err)
	}
	sig, err := sign(owner, []byte(charterContext), payload)
	if err != nil {
		return Signed{}, fmt.Errorf("charter: sign: %w", err)
	}
	return Signed{Payload: payload, Sig: sig, Handovers: chain}, nil
}

// Open is [Root.Open] for whoever knows the public key of the team's first owner, and no hand-over yet.
func Open(s Signed, founder string) (Charter, error) { return Root{Founder: founder}.Open(s) }

// Open verifies a charter against the public key of the team's owner, whom the hand-overs lead to, reads it strictly, and
// adds its additions. One bad addition refuses the whole: whoever adds what must not be added is not to be half believed.
// Errors are [ErrBadKey], [ErrBadSignature], [mailbox.ErrVersion], [mailbox.ErrMalformed], [ErrBadCharter], and
// [ErrOldCharter] for one from before a hand-over that is known. Whether it is the newest is for [CheckSerial] to say.
func (r Root) Open(s Signed) (Charter, error) {
	if err := checkOwnerKey(r.Founder); err != nil {
		return Charter{}, fmt.Errorf("owner: %w", err)
	}
	owner, err := r.Owner(s.Handovers)
	if err != nil {
		return Charter{}, err
	}
	if !verify(owner.Key, []byte(charterContext), s.Payload, s.Sig) {
		return Charter{}, fmt.Errorf("%w: this charter is not of the owner %s: take the join bundle of this team", ErrBadSignature, owner.Key)
	}
	c, err := readVersioned[Charter](s.Payload)
	if err != nil {
		return Charter{}, err
	}
	switch {
	case c.TeamID != TeamID(r.Founder):
		return Charter{}, bad("teamId %q is of another team: take the charter of this one", c.TeamID)
	case c.Serial < owner.Serial:
		return Charter{}, fmt.Errorf("%w: serial %d, and the team was handed over with %d: fetch the charter again", ErrOldCharter, c.Serial, owner.Serial)
	}
	if err := c.Validate(); err != nil {
		return Charter{}, err
	}
	if err := addAll(&c, s.Additions); err != nil {
		return Charter{}, err
	}
	return c, nil
}

// CheckSerial refuses a charter that is older than one seen before: it may name a leader who was removed since.
// Equal serials are the same charter, perhaps with other additions; see [Signed.Newer].
func CheckSerial(seen, got uint64) error {
	if got < seen {
		return fmt.Errorf("%w: serial %d, and %d was seen: fetch the charter again; if this stays, tell the owner", ErrOldCharter, got, seen)
	}
	return nil
}

// Serial returns the serial that the payload claims, 0 when it cannot be read. Nothing is verified: it is for choosing
// which of several copies to open.
func (s Signed) Serial() uint64 {
	var head struct {
		Serial uint64 `json:"serial"`
	}
	if json.Unmarshal(s.Payload, &head) != nil {
		return 0
	}
	return head.Serial
}

// Newer reports whether s is a later state of the team than t: a higher serial, or the same with more additions.
// It believes what both claim; [Open] verifies.
func (s Signed) Newer(t Signed) bool {
	if a, b := s.Serial(), t.Serial(); a != b {
		return a > b
	}
	return len(s.Additions) > len(t.Additions)
}

// readVersioned strictly reads verified bytes that carry "v". The version comes first: another one may have other fields.
func readVersioned[T any](payload []byte) (T, error) {
	var head struct {
		V int `json:"v"`
	}
	var v, none T
	if err := json.Unmarshal(payload, &head); err != nil {
		return none, fmt.Errorf("charter: %w: %w", mailbox.ErrMalformed, err)
	}
	if head.V != mailbox.Version {
		return none, fmt.Errorf("charter: %w: version %d, and this swarm reads %d: update the older one",
			mailbox.ErrVersion, head.V, mailbox.Version)
	}
	if err := mailbox.DecodeStrict(payload, &v); err != nil {
		return none, fmt.Errorf("charter: %w", err)
	}
	return v, nil
}
