// Package charter says who may decide what: the team's charter, signed by its owner, and the judgement of a signed order
// against it. Every teammate makes that judgement by itself (invariant 14); a desk, a console or a broker that lies can
// delay, and cannot approve.
//
// The owner writes and signs; every member opens with the owner's public key, which came in its join bundle:
//
//	c := charter.New("shop", ownerKey, []charter.Member{anna, api}, charter.Caps{}, "")
//	signed, err := charter.Sign(owner, c)
//	...
//	c, err := charter.Open(signed, ownerKey)
//	env, decision, err := charter.OpenOrder[planmode.Decision](c, order) // by a leader, and exactly what was signed
//	who := charter.Judge(c, order, asked, decision.Approved, now)        // and may they
//
// # Which charter is the newest
//
// Serial grows with each signing; members keep the highest they have seen and refuse a lower one ([CheckSerial]).
// Between signings the enrolment key, which the coordinator holds, may add members of role teammate and nothing else, so
// that the owner's key can stay sealed while a teammate joins. Additions belong to one serial and end with it: the owner's
// next charter names who stays. Of two copies with one serial, the one with more additions is newer ([Signed.Newer]).
// Leaving additions out hides a teammate, and gives nobody a right.
//
// # What a signature is over
//
// Bytes, not fields: "swarm/charter/v1\n", "swarm/addition/v1\n" or "swarm/order/v1\n" and the subject, then the payload. A
// signature is verified first, and only then is the payload read, strictly.
package charter
