// Package planmode is the life of one teammate's plans: the session, what happens to it, and what has to be done about
// it. It is pure: time, ids, plan bytes and verified signatures come in with the events.
//
//	next, effects, err := session.Apply(planmode.Entered{From: session.Mode, By: planmode.ByAgent, PlanID: id, PlanFile: file})
//	if err != nil {
//		return err // nothing has changed, there is nothing to do
//	}
//	journal.Append(event, next) // before any effect
//	for _, effect := range effects {
//		carryOut(effect) // in order; each may be carried out twice
//	}
//
// What holds after every step:
//
//   - The mode is plan exactly while the session is planning or waiting for its leader.
//   - Only a decision that a leader signed ends plan mode, or the side that entered it by itself where the team does not
//     require a plan. Everything else, a refused or unreadable decision too, leaves the session planning.
//   - The mode before planning is saved once, on the single way in, and nothing that is restored exceeds the decision or
//     the charter's cap.
//   - Grants exist only while the plan that they were given for is carried out, and are bound to its digest.
//   - A request id is applied at most once.
//
// A Session is a value. [Session.Apply] changes neither the session that it is called on nor anything that it points to,
// so any number of goroutines may read one. The charter inside is shared between sessions and must not be changed.
package planmode
