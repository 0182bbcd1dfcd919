package natsbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/planswarm/swarm/mailbox"
)

// NewID returns the id of a new envelope: a UUIDv7.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewRequestID returns the id of a new request, which nobody can guess.
func NewRequestID() string {
	var r [16]byte
	_, _ = rand.Read(r[:]) // never fails; see crypto/rand
	return mailbox.RequestID(NewID(), r)
}

// randomID is a Nats-Msg-Id: 128 fresh random bits. Deduplication is per stream, so an id that another member could
// derive would let it swallow our mail.
func randomID() string {
	var r [16]byte
	_, _ = rand.Read(r[:])
	return hex.EncodeToString(r[:])
}

// IDOf returns the id of what several members would send about the same thing: the same for all of them, of that time.
// Readers handle what comes twice under one id once.
func IDOf(at time.Time, about ...string) string {
	sum := sha256.Sum256([]byte("swarm/id/v1\n" + strings.Join(about, "\n")))
	id := uuid.UUID(sum[:16])
	ms := uint64(max(at.UnixMilli(), 0)) //nolint:gosec // not negative
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // one byte of it
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// TimeOf is when an id of [NewID] was made, as it says itself; false for what is none.
func TimeOf(id string) (time.Time, bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 || u.String() != id {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC(), true
}
