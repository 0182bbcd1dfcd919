// Package rogue is a teammate that attacks, for the demonstration that attacks fail. It has what a rogue member has: a
// valid key of its own, its own connection to the broker, and a client that reports to the leaders whatever it likes. And
// it has the view of a broker that lies: what the runner sends passes through its hands, and it hands the runner orders
// that nobody stored.
//
// [Attacker.Box] stands between a runner and its mailbox. Until the attack "claim-wider-mode" it keeps the runner's
// requests back: the leaders see a harmless plan under the first request's id, and their approval of that is kept too,
// to be handed over for the plan that they did not see. What was tried, who refused it and the evidence is told as events.
//
// Nothing here can do more than any member could: the attacks have to fail at the gate, the kernel, the teammate, the
// broker and the desk, as [All] says.
package rogue
