package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox/charter"
)

// Problem is something in a ledger that an honest writer does not do. Seq is the entry that it was found at, 0 for none.
type Problem struct {
	Seq  uint64 `json:"seq,omitempty"`
	What string `json:"what"`
}

// String is the problem for people.
func (p Problem) String() string {
	if p.Seq == 0 {
		return p.What
	}
	return fmt.Sprintf("entry %d: %s", p.Seq, p.What)
}

// Verifier reads a chain from its first entry to its last, and lists what is wrong with it. It goes on after each problem.
type Verifier struct {
	writers  map[string]bool // public keys
	teamID   string
	head     Head
	hashes   map[uint64]string
	recorded map[string]uint64
	count    int
	problems []Problem
	lost     int // problems that are not listed
}

// minHash is how many digits of a hash are enough.
const minHash = 12

// maxProblems is how many problems are listed.
const maxProblems = 100

// NewVerifier reads the ledger of a team. Its writers are the policy members of the charter, retired ones too.
func NewVerifier(c charter.Charter) *Verifier {
	v := &Verifier{writers: map[string]bool{}, teamID: c.TeamID, hashes: map[uint64]string{}, recorded: map[string]uint64{}}
	for _, m := range c.Members {
		if m.Kind == charter.KindPolicy {
			v.writers[m.Key] = true
		}
	}
	return v
}

func (v *Verifier) problem(seq uint64, format string, args ...any) {
	if len(v.problems) >= maxProblems {
		v.lost++
		return
	}
	v.problems = append(v.problems, Problem{seq, fmt.Sprintf(format, args...)})
}

// Add takes the next line. The entry is returned where it can be read, whatever is wrong with it.
func (v *Verifier) Add(l Line) (Entry, bool) {
	v.count++
	next := v.head.Seq + 1
	e, key, err := Open(l)
	if err != nil {
		v.problem(next, "%v", err)
		if e, err = Read(l.Entry); err != nil {
			return Entry{}, false
		}
	} else if !v.writers[key] {
		v.problem(e.Seq, "it is signed by %s, which is not the key of the team's policy", key)
	}
	if e.TeamID != v.teamID {
		v.problem(e.Seq, "it is of another team (%.12s)", e.TeamID)
	}
	switch {
	case e.Seq == next && e.Prev != v.head.Hash:
		v.problem(e.Seq, "the entry before it was changed: it names another hash")
	case e.Seq == next+1:
		v.problem(0, "entry %d is missing", next)
	case e.Seq > next:
		v.problem(0, "entries %d to %d are missing", next, e.Seq-1)
	case e.Seq < next:
		v.problem(e.Seq, "it comes after entry %d", v.head.Seq)
	}
	v.sources(e)
	if e.Seq >= next {
		v.head = Head{e.Seq, l.Hash()}
		v.hashes[e.Seq] = v.head.Hash
	}
	return e, true
}

// sources checks that a stream's numbers only grow, and that none is skipped without a word.
func (v *Verifier) sources(e Entry) {
	if e.Event == EventLost {
		v.problem(e.Seq, "%s", e.Note)
		v.recorded = maps.Clone(e.Recorded)
		return
	}
	for _, stream := range slices.Sorted(maps.Keys(v.recorded)) {
		if e.Recorded[stream] < v.recorded[stream] {
			v.problem(e.Seq, "it has recorded %s up to %d, and the entry before up to %d", stream, e.Recorded[stream], v.recorded[stream])
		}
	}
	if s := e.Source; s != nil && e.Recorded[s.Stream] != s.Seq {
		v.problem(e.Seq, "it is about number %d of %s, and has recorded up to %d", s.Seq, s.Stream, e.Recorded[s.Stream])
	}
	if e.Recorded != nil {
		v.recorded = maps.Clone(e.Recorded)
	}
}

// Expect checks a head that somebody kept against the chain that was read. who names where the head is from. Its hash may be
// cut to its first digits, at least twelve.
func (v *Verifier) Expect(h Head, who string) {
	switch {
	case h.Seq == 0:
	case h.Seq > v.head.Seq:
		v.problem(0, "entries %d to %d are missing: entry %d is known from %s", v.head.Seq+1, h.Seq, h.Seq, who)
	case v.hashes[h.Seq] != "" && (len(h.Hash) < minHash || !strings.HasPrefix(v.hashes[h.Seq], h.Hash)):
		v.problem(h.Seq, "it was changed: it is known from %s with another hash (%.12s, here %.12s)", who, h.Hash, v.hashes[h.Seq])
	}
}

// Head is the end of what was read.
func (v *Verifier) Head() Head { return v.head }

// Count is how many lines were read.
func (v *Verifier) Count() int { return v.count }

// Problems are what is wrong, in the order in which it was found; at most 100, the last one says how many more there are.
func (v *Verifier) Problems() []Problem {
	out := slices.Clone(v.problems)
	if v.lost > 0 {
		out = append(out, Problem{What: fmt.Sprintf("and %d problems more", v.lost)})
	}
	return out
}
