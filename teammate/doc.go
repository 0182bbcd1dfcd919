// Package teammate drives one plan session against an agent: it is the one place that calls [planmode.Session.Apply].
//
//	lock → Apply → journal {seq, event, next session, effects}, fsync → swap the view → unlock → effects in order → journal {done}
//
// A [Runner] joins its team, takes what its agent wishes (enter, submit, leave, ...) and what its leaders signed
// (decisions, orders), and makes events of both. Whoever asks what is allowed reads the [View], which never shows more than
// what the journal holds: a step that narrows is in the view before any other effect begins, a step that widens only after
// the agent's client took the mode.
//
//	r, err := teammate.New(teammate.Config{Name: "api", Team: "shop", Mode: "default", Box: conn, Journal: j, ...})
//	go r.Run(ctx) // until ctx ends, a leader shuts it down, or another holds its name
//	<-r.Ready()
//
// A call that is asked waits in [Runner.Ask]: one question for the same call, five at most, withdrawn when nobody waits. An
// answer counts for exactly the call that was asked, with the runner files that it would obey: what has changed of a
// Makefile since the plan was submitted is shown to the leader. What no answer would lift is not asked. A question of the
// agent's, [Runner.AskQuestion], changes nothing but what it reads. What was refused is in the journal ([Runner.Refused]).
//
// Guarantees. A decision is applied at most once, and only with signatures that this process checked itself against the
// team's charter (invariant 14). After kill -9 the next runner on the same journal takes the session up as it was, and
// carries out again what was not known to be done. A message never changes the session (invariant 4). Cancelling Run's
// context is the orderly end, unless its cause is [ErrDetach]: then the journal is left to be resumed, grants and all.
package teammate
