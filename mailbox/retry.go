package mailbox

import (
	"fmt"
	"strconv"
	"strings"
)

// A dead letter that is put to its recipient again lies below that recipient's own mailbox, under the subject that it was
// stored on first: swarm.<team>.mb.<member>.retry.<number>.<to>.<from>.<kind>. Only the coordinator can publish there,
// since every right of a member names a subject of exactly six words: who sent it stays what the broker saw the first time.

const (
	retryWord   = "retry"
	retryTokens = 9
)

// RetrySubject is where a piece of mail or an order, once stored at a number of its stream, is put to one member again.
func RetrySubject(member string, seq uint64, of Subject) string {
	return fmt.Sprintf("swarm.%s.%s.%s.%s.%d.%s.%s.%s", of.Team, of.Branch, member, retryWord, seq, of.To, of.From, of.Kind)
}

// ParseRetry takes a subject of [RetrySubject] apart: to whom it is put again, and where and under which subject it was
// stored first. Ok is false for any other subject.
func ParseRetry(s string) (member string, seq uint64, of Subject, ok bool) {
	t := strings.Split(s, ".")
	if len(t) != retryTokens || t[4] != retryWord || !isName(t[3]) {
		return "", 0, Subject{}, false
	}
	seq, err := strconv.ParseUint(t[5], 10, 64)
	if err != nil || seq == 0 || strconv.FormatUint(seq, 10) != t[5] {
		return "", 0, Subject{}, false
	}
	of, err = ParseSubject(strings.Join(append(t[:3:3], t[6:]...), "."))
	if err != nil {
		return "", 0, Subject{}, false
	}
	return t[3], seq, of, true
}
