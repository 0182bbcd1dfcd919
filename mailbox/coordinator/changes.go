package coordinator

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/planswarm/swarm/mailbox/charter"
)

// maxChanges bounds the note of one charter: an entry of the ledger is small.
const maxChanges = 64

// changes is what a charter does to the roster of the one before, for the ledger: who was added, removed, or has another key.
func changes(was, now charter.Charter, owner charter.Owner) string {
	out := []string{fmt.Sprintf("serial %d", now.Serial)}
	switch {
	case owner.Voided > was.Serial:
		out = append(out, "another owner, because the key of the one before was in other hands: requests and grants are void")
	case owner.Serial > was.Serial:
		out = append(out, "handed over by the owner before")
	}
	for _, m := range now.Members {
		old, known := was.Member(m.Name)
		switch {
		case !known:
			out = append(out, fmt.Sprintf("added %s as %s, key %s", m.Name, m.Role, m.Key))
		case m.Retired && !old.Retired:
			out = append(out, "removed "+m.Name)
		case m.Key != old.Key:
			out = append(out, fmt.Sprintf("%s has another key %s", m.Name, m.Key))
		case m.Role != old.Role || m.Kind != old.Kind || m.Assurance != old.Assurance || m.Retired != old.Retired:
			out = append(out, fmt.Sprintf("%s is %s, %s, key kept %s", m.Name, m.Role, m.Kind, m.Assurance))
		}
	}
	for _, m := range was.Members {
		if _, there := now.Member(m.Name); !there {
			out = append(out, "left out "+m.Name)
		}
	}
	if !sameRules(was, now) {
		out = append(out, "other rules or caps")
	}
	if n := len(out); n > maxChanges {
		out = append(out[:maxChanges], fmt.Sprintf("and %d changes more", n-maxChanges))
	}
	return strings.Join(out, "; ")
}

// sameRules reports whether two charters differ in their members alone.
func sameRules(a, b charter.Charter) bool {
	a.Members, a.Serial = b.Members, b.Serial
	return reflect.DeepEqual(a, b)
}
