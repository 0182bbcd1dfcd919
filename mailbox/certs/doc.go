// Package certs has the certificates with which a broker proves to members on other machines who it is: those of an
// authority of its own, which lives in the team's state folder, or files that somebody gives.
//
// An authority of its own signs for one broker, and nobody else believes it: members have its certificate from their
// invitation, and check the broker's with that alone. What the broker shows is made at each start, lives [Life], is made
// again when a third of that is left, and lies on no disk.
//
// A certificate says which machine somebody talks to. Who a member is, and what a leader has decided, other signatures say:
// whoever has a broker's certificate can read, delay and drop, and approves nothing.
package certs
