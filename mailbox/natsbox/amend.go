package natsbox

import "github.com/planswarm/swarm/mailbox/charter"

// VerbAmend puts a charter in force that the owner has signed: AmendRequest -> nothing. Leaders only bring it; what counts
// is the owner's signature.
const VerbAmend = "amend"

// CodeMoved means that another charter came into force meanwhile: read it, and sign again.
const CodeMoved Code = "moved"

// AmendRequest is a charter of the owner, and which one it was made from. Without that, a teammate who was enrolled while
// the owner signed would be lost.
type AmendRequest struct {
	FromSig       string         `json:"fromSig"`
	FromAdditions int            `json:"fromAdditions"`
	Charter       charter.Signed `json:"charter"`
}
