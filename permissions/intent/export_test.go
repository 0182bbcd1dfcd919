package intent

import "github.com/planswarm/swarm/permissions/schema"

// Read is how a table is read that nobody has tested, Strict the same without making tables of programs, and
// Deferred how an intent of the embedded tables is read.
var (
	Read     = read
	Strict   = decode
	Deferred = deferred
)

// Prepare lists the programs of an intent's table.
func Prepare(in *Intent) []*schema.Program { return in.prepare() }

// Plain is what an intent says, without its programs.
func Plain(in Intent) Intent {
	in.Phrases = in.phrases()
	in.Programs, in.asked = nil, nil
	return in
}
