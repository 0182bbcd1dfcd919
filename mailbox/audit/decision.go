package audit

import (
	"slices"
	"strings"
)

// Void is the note of an entry about a slot that holds what no leader has signed.
const Void = "void: no leader has signed it"

// outcomes are what was decided, in words; others stand for themselves.
var outcomes = map[string]string{
	"rejectedAndExit": "rejected, out of plan mode,", "allow": "allowed", "deny": "denied",
}

// DecisionNote is the note of an entry about a decision: its outcome, who says that they decided, and who signed it where
// those are several. The outcome is the wire's word.
func DecisionNote(outcome, by string, signers []string) string {
	if word, ok := outcomes[outcome]; ok {
		outcome = word
	}
	note := outcome + " by " + by
	if len(signers) > 1 {
		signers = slices.Sorted(slices.Values(signers))
		note += ", signed by " + strings.Join(signers, " and ")
	}
	return note
}

// Contradicts reports whether an entry's note says another outcome, or another leader, than the decision that it is about.
// An entry without a note says neither.
func Contradicts(note, outcome, by string) bool {
	is := DecisionNote(outcome, by, nil)
	return note != "" && note != is && !strings.HasPrefix(note, is+", signed by ")
}
