// Package audit is the team's ledger: one signed entry for each thing that was stored on the broker or changed in the team,
// each with the hash of the entry before it. It holds digests, no texts.
//
// The coordinator is its one writer, with the key of the team's policy. The head of the chain (its last number and hash)
// stands in every decision that a leader signs, and each teammate keeps the heads that it has seen: who rewrites the chain,
// or cuts its end off, contradicts signatures that lie elsewhere.
//
//	v := audit.NewVerifier(charter)
//	for _, line := range lines {
//		v.Add(line)
//	}
//	v.Expect(head, "the decision on api-7k2m")
//	for _, p := range v.Problems() { ... }
//
// What it cannot do: it shows changes to whoever kept a later head; it does not stop its owner from deleting all of it.
package audit
