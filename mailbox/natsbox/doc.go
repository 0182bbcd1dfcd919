// Package natsbox is a member's mailbox on JetStream: it sends envelopes, puts and reads signed orders, receives both,
// and asks the team's coordinator.
//
//	conn, err := natsbox.Connect(ctx, natsbox.Config{URL: url, Team: "shop", Me: "api", Key: key})
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	welcome, err := conn.Join(ctx, natsbox.JoinRequest{Name: "api", Instance: instance, Mode: permissions.ModeDefault})
//	...
//	stored, err := conn.Send(ctx, envelope)
//	err = conn.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error { ... })
//
// # What it promises
//
//   - Send returns when the broker has the mail on disk. Everything else is an error: an unknown recipient with the
//     nearest names, a full mailbox, mail that is too large, a broker that cannot be reached.
//   - Received mail is acknowledged after its handler returned nil, so it comes again after a crash: at least once, and
//     within one process once. Who sent it is the subject that the broker let it be published on; an envelope that says
//     otherwise is dropped and counted.
//   - A decision is put once and read back: the loser of a race gets [AlreadyDecided], with the winner's bytes.
//   - The connection is kept for ever. After a break, addresses are read again, and receiving goes on by itself.
//
// It moves orders and judges none: verify what [Conn.ReceiveOrders] hands over with charter.OpenOrder.
package natsbox
