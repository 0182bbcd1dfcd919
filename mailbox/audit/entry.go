package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// Event says what an entry is about.
type Event string

// The events. The first three are of what lies in a stream.
const (
	EventMail     Event = "mail"     // a piece of mail was stored
	EventDecision Event = "decision" // the slot of a request was filled
	EventOrder    Event = "order"    // an order that answers nothing was stored
	EventJoined   Event = "joined"   // a member took its place under a new epoch
	EventCharter  Event = "charter"  // a charter came into force
	EventDead     Event = "dead"     // a recipient could not handle a piece of mail, or a leader has seen to that
	EventMuted    Event = "muted"    // a member's right to send mail was taken, or given back
	EventInvite   Event = "invite"   // an invitation was made, used, refused or taken back
	EventSession  Event = "session"  // a teammate says that its session has changed
	EventLost     Event = "lost"     // a stream holds less than the ledger has recorded of it
)

// Entry is one line of the ledger.
type Entry struct {
	V      int       `json:"v"`
	TeamID string    `json:"teamId"`
	Seq    uint64    `json:"seq"`            // from 1, without gaps
	Prev   string    `json:"prev,omitempty"` // the hash of the entry before; empty in the first
	At     time.Time `json:"at"`             // when the broker stored what it is about, or when it was written
	Event  Event     `json:"event"`
	Source *Source   `json:"source,omitempty"` // what lies in a stream
	Name   string    `json:"name,omitempty"`   // the member that it is about
	Note   string    `json:"note,omitempty"`   // what was decided and by whom, a letter's id, epoch, serial, what became of an invitation, or what was lost
	// Recorded says for each stream up to which of its numbers the ledger has entries, this one included.
	Recorded map[string]uint64 `json:"recorded"`
	// Lost is the number of the last entry of event lost, 0 while there is none.
	Lost uint64 `json:"lost,omitempty"`
}

// Source is what an entry is about, where it lies, and the digest of its bytes.
type Source struct {
	Stream  string `json:"stream"`
	Seq     uint64 `json:"seq"`
	Subject string `json:"subject"`
	Digest  string `json:"digest"` // lower-case hex SHA-256 of the stored bytes
}

// Line is an entry as it is stored and exported: the exact bytes that were signed.
type Line struct {
	Entry []byte `json:"entry"`
	Sig   string `json:"sig"`
}

// Head is the end of a chain: how many entries it has, and the hash of the last one. The zero Head is that of no entries.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// ErrBadEntry means bytes that are no entry of a ledger.
var ErrBadEntry = errors.New("audit: no entry")

// MaxLine bounds what was signed of a line, in bytes.
const MaxLine = 64 << 10

// Hash is the lower-case hex SHA-256 of the entry's bytes.
func (l Line) Hash() string { return Digest(l.Entry) }

// Digest is the lower-case hex SHA-256 of any bytes.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Sign puts an entry at the end of a chain: it fills in number and hash, and returns the new head.
func Sign(key nkeys.KeyPair, after Head, e Entry) (Line, Head, error) {
	e.V, e.Seq, e.Prev, e.At = mailbox.Version, after.Seq+1, after.Hash, e.At.UTC()
	data, err := mailbox.Marshal(e)
	if err != nil {
		return Line{}, after, fmt.Errorf("audit: write an entry: %w", err)
	}
	sig, err := charter.SignEntry(key, data)
	if err != nil {
		return Line{}, after, err
	}
	l := Line{Entry: data, Sig: sig}
	return l, Head{e.Seq, l.Hash()}, nil
}

// Open verifies a line's signature and reads it. It returns the key that signed; whether that key may write the ledger is
// for the caller to say.
func Open(l Line) (Entry, string, error) {
	key, err := charter.VerifyEntry(l.Entry, l.Sig)
	if err != nil {
		return Entry{}, "", err
	}
	e, err := Read(l.Entry)
	return e, key, err
}

// Read reads an entry's bytes, strictly, and verifies nothing.
func Read(data []byte) (Entry, error) {
	var e Entry
	if len(data) > MaxLine {
		return e, fmt.Errorf("%w: %d bytes, at most %d", ErrBadEntry, len(data), MaxLine)
	}
	if err := mailbox.DecodeStrict(data, &e); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrBadEntry, err)
	}
	switch {
	case e.V != mailbox.Version:
		return Entry{}, fmt.Errorf("%w: version %d, and this swarm reads %d: update the older one", ErrBadEntry, e.V, mailbox.Version)
	case e.Seq == 0:
		return Entry{}, fmt.Errorf("%w: it has no number", ErrBadEntry)
	}
	return e, nil
}
