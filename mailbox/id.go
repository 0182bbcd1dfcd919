package mailbox

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// crockford is base32 in lower case without i, l, o and u, which are misread.
const crockfordAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

var crockford = base32.NewEncoding(crockfordAlphabet).WithPadding(base32.NoPadding)

// RequestID joins a UUIDv7 and 128 random bits to the id of a request: "<uuidv7>-<26 characters>". Nobody can guess it,
// so nobody can answer a request that they have not seen.
func RequestID(uuid string, random [16]byte) string {
	return uuid + "-" + crockford.EncodeToString(random[:])
}

// CheckRequestID reports whether s has the form that [RequestID] gives.
func CheckRequestID(s string) error {
	uuid, random, ok := cutRequestID(s)
	if !ok || !isUUIDv7(uuid) {
		return fmt.Errorf("%w %q: want <uuidv7>-<26 characters>: see `swarm inbox`", ErrBadRequestID, s)
	}
	b, err := crockford.DecodeString(random)
	if err != nil || crockford.EncodeToString(b) != random {
		return fmt.Errorf("%w %q: its last character cannot be: see `swarm inbox`", ErrBadRequestID, s)
	}
	return nil
}

// The lengths of the two parts of a request id.
const (
	uuidLength   = 36
	randomLength = 26
)

func cutRequestID(s string) (uuid, random string, ok bool) {
	if len(s) != uuidLength+1+randomLength || s[uuidLength] != '-' {
		return "", "", false
	}
	random = s[uuidLength+1:]
	return s[:uuidLength], random, strings.Trim(random, crockfordAlphabet) == ""
}

// isUUIDv7 is xxxxxxxx-xxxx-7xxx-[89ab]xxx-xxxxxxxxxxxx in lower-case hex.
func isUUIDv7(s string) bool {
	p := strings.Split(s, "-")
	if len(p) != 5 || len(p[0]) != 8 || len(p[1]) != 4 || len(p[2]) != 4 || len(p[3]) != 4 || len(p[4]) != 12 {
		return false
	}
	return strings.Trim(strings.Join(p, ""), "0123456789abcdef") == "" && p[2][0] == '7' && strings.Contains("89ab", p[3][:1])
}

// The shortest handle that is shown, and all there is of one.
const (
	minHandle = 4
	maxHandle = 52
)

// Handle is how people name a request: "<teammate>-<n characters of the SHA-256 of its id>", e.g. db-7k2m. The hash keeps
// the secret id off screens. n is at least 4, and grows where two handles would be equal; 52 is everything.
func Handle(teammate, requestID string, n int) string {
	sum := sha256.Sum256([]byte(requestID))
	n = min(max(n, minHandle), maxHandle)
	return teammate + "-" + crockford.EncodeToString(sum[:])[:n]
}
