package mailboxtest

import (
	"fmt"
	"strings"
	"testing"
)

// Who refuses an attack, in the words of SECURITY.md's list.
const (
	ByDoor        = "authentication"     // of the broker: who is in no charter is not let in
	ByPermissions = "broker permissions" // what a connection may publish and hear
	ByAccounts    = "broker accounts"    // one for each member: replies lead nowhere else
	ByStream      = "stream config"      // write-once slots, limits, headers that are off
	ByCoordinator = "coordinator"
	ByReader      = "reader" // of a mailbox: the envelope against its subject
	ByTeammate    = "teammate"
	ByMember      = "member"     // whoever connects, before its key signs
	ByLeader      = "leader"     // the leader's own check, before anything is signed
	ByCharter     = "charter"    // its owner's signature, and who owned the team after whom
	ByGate        = "gate"       // of a teammate's runner
	BySeal        = "sealed key" // its passphrase
	ByTerminal    = "terminal"   // a passphrase is asked there, and nowhere else
	ByVerify      = "audit verify"
	ByJoiner      = "joiner" // who uses an invitation, before it believes the broker
)

// Refused tells, in one line of `go test -v`, that an attack was refused: its name in SECURITY.md's list, who tried it, who
// refused it, and the evidence. A test that has failed says nothing. The list is checked against these lines in CI.
func Refused(t testing.TB, name, by, who, why string) {
	t.Helper()
	if t.Failed() {
		return
	}
	fmt.Fprintf(t.Output(), "attack: %s: by %s: refused by %s: %s\n", name, by, who, strings.ToValidUTF8(strings.ReplaceAll(why, "\n", " "), "?"))
}
