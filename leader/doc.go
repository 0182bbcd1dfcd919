// Package leader keeps the requests that wait for a leader, and has the one place where a decision is made.
//
// A [Desk] is the team's desk: it is rebuilt from the streams at its start, receives the leaders' mail, and asks its
// [Decider]s in the team's order. A [Queue] is what a person reads: the waiting requests with their risk, age and change,
// looked up by handle. [Prepare] turns a person's or a rule's [Choice] into a decision, and [Publish] checks everything
// that the teammate will check, signs it, stores it write-once, and reads it back:
//
//	q, err := leader.Read(ctx, box, leader.QueueConfig{Charter: c}, "db-7k2m")
//	row, err := q.Find("db-7k2m")
//	d, err := leader.Prepare(*row, leader.Choice{Outcome: planmode.OutcomeApproved}, c, time.Now())
//	d, err = leader.Publish(ctx, box, signer, c, *row, d)
//	r, err := leader.WaitReceipt(ctx, box, row.From, row.ID())
//
// After an approval, [OrderMode], [OrderRevoke] and [OrderStop] give signed orders with a counter that only grows, checked
// beforehand in the same way; [Grants] is the board of what was given, and [Reply] answers a teammate's question, which is
// mail and approves nothing.
//
// Nothing that a teammate says is believed: prompts and facts are computed again from the plan's bytes, the digest is
// computed again, and the mode that comes back is what the coordinator knew of the teammate, not what it claims.
// Errors that a person sees are [Error] values with an exit code, a name for machines, and what to do next.
package leader
