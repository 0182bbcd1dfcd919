// Package attacks tries everything that a member, a guest, a stranger or the broker's operator could try against a whole
// team: one account for each member, the real coordinator, the real runner of a teammate, and the owner's charter. It has
// tests only. `go test ./... -run Attack -v` prints each attack with who refused it; SECURITY.md has the list.
//
// Beside each attack its test does what is permitted instead, mostly the very same bytes by who may send them, so that none
// is refused for another reason than the right one.
package attacks
