package planmode

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// digestPrefix separates these digests from all other uses of SHA-256.
const digestPrefix = "swarm/plan/v1\n"

// DigestInput is what an approval request is about: everything that a leader sees and decides on.
type DigestInput struct {
	TeamID        string
	Teammate      string
	PlanID        string
	Revision      int
	Content       []byte // exactly as submitted; empty for a leave request
	Prompts       []permissions.Prompt
	Options       []plans.Option
	RequestedMode permissions.Mode
}

// Digest is the lower-case hex SHA-256 over "swarm/plan/v1\n" and then each field as 4 bytes of big-endian length and its
// bytes: team id, teammate, plan id, revision in decimal, content, number of prompts in decimal, tool, prompt and intent
// of each, number of options in decimal, label, description and "1" or "0" (recommended) of each, requested mode. Nothing
// is normalised. schema/digest.json has vectors.
func Digest(in DigestInput) string {
	h := sha256.New()
	h.Write([]byte(digestPrefix))
	var length [4]byte
	add := func(field []byte) {
		binary.BigEndian.PutUint32(length[:], uint32(len(field)))
		h.Write(length[:])
		h.Write(field)
	}
	text := func(fields ...string) {
		for _, f := range fields {
			add([]byte(f))
		}
	}
	text(in.TeamID, in.Teammate, in.PlanID, strconv.Itoa(in.Revision))
	add(in.Content)
	text(strconv.Itoa(len(in.Prompts)))
	for _, p := range in.Prompts {
		text(p.Tool, p.Prompt, p.Intent)
	}
	text(strconv.Itoa(len(in.Options)))
	for _, o := range in.Options {
		text(o.Label, o.Description, flag(o.Recommended))
	}
	text(string(in.RequestedMode))
	return hex.EncodeToString(h.Sum(nil))
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
