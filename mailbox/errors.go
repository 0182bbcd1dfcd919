package mailbox

import "errors"

// The errors of decoding and encoding. [ErrBadName] is beside the names.
var (
	// ErrVersion means that something was written by another version of the protocol. The text names both.
	ErrVersion = errors.New("mailbox: other version")
	// ErrTooLarge means that an envelope is larger than [MaxEnvelope].
	ErrTooLarge = errors.New("mailbox: too large")
	// ErrMalformed means that bytes from the wire are not what they should be: no JSON, another type, or, where it is read
	// strictly, a field that is unknown, written in another case or written twice. The text names the field.
	ErrMalformed = errors.New("mailbox: malformed")
	// ErrBadRequestID means that a text is not a request id.
	ErrBadRequestID = errors.New("mailbox: bad request id")
)
