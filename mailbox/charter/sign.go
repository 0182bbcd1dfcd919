package charter

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"
)

// What stands in front of the bytes that are signed, so that a signature for one purpose is none for another.
const (
	charterContext  = "swarm/charter/v1\n"
	additionContext = "swarm/addition/v1\n"
	orderContext    = "swarm/order/v1\n"
	entryContext    = "swarm/audit/v1\n"
	joinContext     = "swarm/join/v1\n"
	handoverContext = "swarm/handover/v1\n"
)

// sigLen is the length of an Ed25519 signature in base64url without padding.
const sigLen = 86

var sigEncoding = base64.RawURLEncoding.Strict()

// TeamID returns the id of the team whose first owner has this public key: the lower-case hex SHA-256 of the key's text. Two
// teams of one name have different ids. It stays when the team is handed over.
func TeamID(ownerKey string) string {
	sum := sha256.Sum256([]byte(ownerKey))
	return hex.EncodeToString(sum[:])
}

// sign returns the signature of kp over context and payload, as it is written.
func sign(kp nkeys.KeyPair, context, payload []byte) (string, error) {
	sig, err := kp.Sign(slices.Concat(context, payload))
	if err != nil {
		return "", err
	}
	return sigEncoding.EncodeToString(sig), nil
}

// verify reports whether sig is the signature of key over context and payload, in the one way to write it.
func verify(key string, context, payload []byte, sig string) bool {
	raw, ok := decodeSig(sig)
	if !ok {
		return false
	}
	kp, err := nkeys.FromPublicKey(key)
	if err != nil {
		return false
	}
	return kp.Verify(slices.Concat(context, payload), raw) == nil
}

// decodeSig takes exactly what encoding a signature gives. The decoder skips line ends; the length leaves no room for any.
func decodeSig(sig string) ([]byte, bool) {
	if len(sig) != sigLen {
		return nil, false
	}
	raw, err := sigEncoding.DecodeString(sig)
	return raw, err == nil && len(raw) == 64
}

// checkKey refuses what is not a public nkey of one of the types, written in the one way to write it.
func checkKey(key string, types ...nkeys.PrefixByte) error {
	for _, prefix := range types {
		raw, err := nkeys.Decode(prefix, []byte(key))
		if err != nil || !nkeys.IsValidPublicKey(key) {
			continue
		}
		if again, err := nkeys.Encode(prefix, raw); err == nil && string(again) == key {
			return nil
		}
	}
	return fmt.Errorf("%w %q: give the public nkey, 56 letters and digits", ErrBadKey, key)
}

func checkUserKey(key string) error { return checkKey(key, nkeys.PrefixByteUser) }

func checkOwnerKey(key string) error {
	return checkKey(key, nkeys.PrefixByteUser, nkeys.PrefixByteAccount, nkeys.PrefixByteOperator)
}

// SignEntry signs the bytes of one entry of the audit ledger; [VerifyEntry] checks them. The text is "<key>.<signature>", as
// that of an order.
func SignEntry(kp nkeys.KeyPair, payload []byte) (string, error) {
	key, err := kp.PublicKey()
	if err != nil {
		return "", fmt.Errorf("charter: sign an entry: %w", err)
	}
	sig, err := sign(kp, []byte(entryContext), payload)
	if err != nil {
		return "", fmt.Errorf("charter: sign an entry: %w", err)
	}
	return key + "." + sig, nil
}

// VerifyEntry returns the public key that signed an entry. Whose it is, the charter says.
func VerifyEntry(payload []byte, sig string) (key string, err error) {
	key, value, ok := strings.Cut(sig, ".")
	if !ok || checkUserKey(key) != nil {
		return "", fmt.Errorf("%w: it cannot be read", ErrBadSignature)
	}
	if !verify(key, []byte(entryContext), payload, value) {
		return "", fmt.Errorf("%w: not of %s over these bytes", ErrBadSignature, key)
	}
	return key, nil
}
