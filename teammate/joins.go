package teammate

import (
	"fmt"
	"maps"
	"time"

	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// joins is how often this teammate has asked to join since the epoch that its journal last wrote down. It tells a journal
// that a crash left behind from an older copy of it: a copy would bring grants back that have ended (invariant 6).
type joins struct {
	keep     keep
	Epoch    uint64 `json:"epoch"`    // in the journal
	Attempts uint64 `json:"attempts"` // since then
	// Known are the ends of the team's audit ledger that were seen last, in a welcome or in a decision: each later than the
	// one before it.
	Known []audit.Head `json:"known,omitempty"`
	// Since is when the journal was lost last, with the counters in it that tell which orders were applied.
	Since time.Time `json:"since,omitzero"`
}

const joinsFile = "joins.json"

func (j *joins) load(k keep) error {
	j.keep = k
	return k.get(joinsFile, j)
}

// asking counts an attempt, on disk, before it is made: the team may know of it although the answer never came.
func (j *joins) asking() error {
	j.Attempts++
	return j.keep.put(joinsFile, j)
}

// joined follows the journal: the epoch is in it.
func (j *joins) joined(epoch uint64) error {
	j.Epoch, j.Attempts = epoch, 0
	return j.keep.put(joinsFile, j)
}

// lostAt writes down, before a new journal begins, from when on orders are taken: also by the processes after this one.
func (j *joins) lostAt(now time.Time) error {
	j.Since = now
	return j.keep.put(joinsFile, j)
}

// ledger is the highest end of the audit ledger that was seen, the zero Head while there is none.
func (j *joins) ledger() audit.Head {
	if len(j.Known) == 0 {
		return audit.Head{}
	}
	return j.Known[len(j.Known)-1]
}

// contradicted says how the ledger contradicts what was seen of it, "" when it does not.
func contradicted(seen audit.Head, end natsbox.LedgerEnd) string {
	why := cut(end.Head, seen)
	if why == "" && seen.Seq > 0 && end.Seen.Seq == seen.Seq {
		why = cut(end.Seen, seen)
	}
	switch {
	case why != "":
		return "the team's audit ledger " + why + ", so that what was decided cannot be proven"
	case end.LostAt > seen.Seq && seen.Seq > 0:
		return fmt.Sprintf("the broker's store has lost what was stored, as entry %d of the team's audit ledger says, so that what was decided cannot be proven", end.LostAt)
	}
	return ""
}

// saw keeps the end of the ledger, when it is a later one.
func (j *joins) saw(h audit.Head) error {
	if h.Seq <= j.ledger().Seq {
		return nil
	}
	return j.restart(h)
}

// restart takes the end of the ledger that a welcome names. Where it contradicts what was seen, the leaders have been told,
// and the new one counts.
func (j *joins) restart(h audit.Head) error {
	seen := j.ledger()
	if h == seen {
		return nil
	}
	if h.Seq <= seen.Seq {
		j.Known = nil // of another chain
	}
	j.Known = append(j.Known, h)
	j.Known = j.Known[max(0, len(j.Known)-maxKnown):]
	return j.keep.put(joinsFile, j)
}

// maxKnown is how many ends of the ledger are kept.
const maxKnown = 64

// denies says how an end that a leader signed contradicts what was seen, "" when it does not. A lower one may be older than
// what was seen: a decision waits for a teammate that is away.
func (j *joins) denies(h audit.Head) string {
	for _, k := range j.Known {
		if k.Seq == h.Seq {
			return cut(h, k)
		}
	}
	return ""
}

// cut says how the end of a ledger contradicts one that was seen before, "" when it does not. A ledger only grows.
func cut(now, seen audit.Head) string {
	switch {
	case now.Seq < seen.Seq:
		return fmt.Sprintf("ends at entry %d, and entry %d was seen", now.Seq, seen.Seq)
	case now.Seq == seen.Seq && now.Hash != seen.Hash:
		return fmt.Sprintf("has another entry %d than was seen", seen.Seq)
	}
	return ""
}

// older says why a journal's session cannot be the last one, or "". One attempt may take two epochs: a connection whose
// rights have changed joins again.
func (j *joins) older(s planmode.Session, w natsbox.Welcome) string {
	switch {
	case j.keep.root == nil:
		return ""
	case s.Epoch < j.Epoch:
		return fmt.Sprintf("it ends in epoch %d, and epoch %d was written down", s.Epoch, j.Epoch)
	case contradicted(j.ledger(), w.Ledger) != "":
		return contradicted(j.ledger(), w.Ledger)
	case behind(s.Orders, w.Orders):
		return "it ends before an order that this teammate has said it applied"
	case w.Epoch > s.Epoch+2*j.Attempts:
		return fmt.Sprintf("it ends in epoch %d, and the team has known this teammate in epoch %d", s.Epoch, w.Epoch-1)
	}
	return ""
}

// behind reports whether the team knows of an applied order that a journal does not. A receipt goes out after its step is in
// the journal.
func behind(journal, team map[string]uint64) bool {
	for key, counter := range team {
		if journal[key] < counter {
			return true
		}
	}
	return false
}

// merged are the counters of both. Of the team's, those of leaders of the charter are believed.
func merged(journal, team map[string]uint64, c charter.Charter) map[string]uint64 {
	out := maps.Clone(journal)
	for key, counter := range team {
		if m, ok := c.ByKey(key); !ok || m.Role != charter.RoleLeader || counter <= out[key] {
			continue
		}
		if out == nil {
			out = map[string]uint64{}
		}
		out[key] = counter
	}
	return out
}
