package charter

import "errors"

// The errors of this package. An unknown version is [github.com/planswarm/swarm/mailbox.ErrVersion].
var (
	// ErrBadSignature means that a charter or an addition was not signed by the key that may sign it.
	ErrBadSignature = errors.New("charter: bad signature")
	// ErrBadCharter means that a charter is signed, and cannot be used all the same. The text says why.
	ErrBadCharter = errors.New("charter: cannot be used")
	// ErrOldCharter means that a newer charter than this one was seen before.
	ErrOldCharter = errors.New("charter: older than one seen before")
	// ErrBadKey means that a text is not the public key that is wanted.
	ErrBadKey = errors.New("charter: bad key")
	// ErrNotLeader means that an order has no valid signature of a leader of this team.
	ErrNotLeader = errors.New("charter: not signed by a leader of this team")
	// ErrBadOrder means that a leader signed an order, and it cannot be used: its slot is spent, and the request is asked
	// again. The text says why.
	ErrBadOrder = errors.New("charter: order cannot be used")
)
