package natsbox

import (
	"fmt"
	"regexp"

	"github.com/nats-io/nkeys"
)

// nonceForm is what a NATS server has its clients sign: a few random bytes in base64 of URLs. Nothing else that a member's
// key signs, here or elsewhere, consists of these characters alone.
var nonceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// signNonce is how a key answers who asks for proof of it. The key signs decisions too: what is no nonce it does not sign, or
// whoever stands in a broker's place would choose the bytes, and have an approval.
func signNonce(key nkeys.KeyPair) func([]byte) ([]byte, error) {
	return func(nonce []byte) ([]byte, error) {
		if !nonceForm.Match(nonce) {
			return nil, fmt.Errorf("%w: a server that wants %.40q signed, which is no nonce: check the address", ErrForeignServer, nonce)
		}
		return key.Sign(nonce)
	}
}
