// Package mailbox has what members of a team send each other: names, subjects, envelopes and the bodies of plain mail.
// It computes values from values; the packages below it move them (natsbox) and judge who may decide what (charter).
//
// A member writes an envelope, encodes it and hands it to a mailbox; a reader decodes it and asks for the body it expects:
//
//	env, err := mailbox.New(id, mailbox.KindMessage, "shop", "api", mailbox.Lead, epoch, now, mailbox.Message{Text: "done"})
//	data, err := mailbox.Encode(env)
//	...
//	env, err := mailbox.Decode(data)
//	msg, err := mailbox.Body[mailbox.Message](env)
//
// # Two ways to read
//
// Ordinary mail is read tolerantly ([Decode], [Body]): unknown fields are ignored, so that a newer sender of the same
// version is understood. Orders, charters and everything else that is signed are read strictly ([DecodeStrict],
// [StrictBody]): a name that occurs twice, is spelled in another case, or is unknown refuses the whole, because two
// readers must never take different meanings from bytes that one leader signed. A signature is checked before either.
//
// # What a delivery promises
//
//   - Stored before sent is said: a send returns when the broker has the envelope on disk. An unknown recipient and a full
//     mailbox are errors of the sender, never mail that is dropped later.
//   - At least once, in the order of each mailbox. A reader acknowledges after it has handled, so mail comes again after
//     a crash; readers drop what they have seen by (sender from the subject, envelope id).
//   - Decisions are write-once by the server: the first one stored for a request is the only one there will ever be, and
//     success is said only after reading the slot back.
//   - Who sent mail is the subject that the broker let it be published on. Envelope.From repeats it for people. Mail is not
//     signed and approves nothing; what widens, narrows or stops a teammate is a signed order.
//   - Status is not mail: only the last word is kept, in memory.
//
// Receipts (delivered, seen, applied, refused) say how far a piece of mail has come.
package mailbox
