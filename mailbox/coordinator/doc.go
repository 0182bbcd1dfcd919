// Package coordinator serves a team on its broker: it makes the streams, gives each member its place under an epoch and
// its consumers, enrols teammates, and answers what members ask.
//
//	co, err := coordinator.New(coordinator.Config{Server: srv, Team: "shop", OwnerKey: owner, Charter: signed})
//	if err != nil {
//		return err
//	}
//	go func() { errs <- co.Run(ctx) }()
//	<-co.Ready()
//
// What it knows of requests is an index in memory, rebuilt from the streams at each start: asks minus decisions minus
// withdrawals minus supersedes; questions minus the first answers that leaders have stored; and each leader's highest
// counter of orders to each teammate. Nothing is acknowledged by it, and nothing that it says is believed by a
// teammate: it shows, members verify. When it is away, connected members go on.
//
// Mail that everybody has handled is deleted, after two weeks or where a subject fills. What the index rests on is never
// deleted before what it settles, so that a start finds the same requests waiting wherever a sweep broke off.
//
// Epochs, instances and the known modes of members are durable: they lie in a stream of their own, REG_<team>, which
// no member can read or write. So do dead letters: mail and orders that a recipient gave up or did not acknowledge in
// eight deliveries. The broker's word of them is kept in a stream, DEAD_<team>, until they are in the register; the mail
// stays where it is, and a leader has it put to that recipient again, or marks it as seen to.
package coordinator
