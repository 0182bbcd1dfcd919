package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// pair is who writes to whom.
type pair struct{ from, to string }

// uses says what the mail that is stored is still good for.
type uses struct {
	stock

	over   map[string]int   // by subject: how many too many it holds
	copies map[slot][]*item // requests, as often as they were stored
	left   map[string]int   // how many messages of an id stay
	byID   map[string][]*item
	ties   map[tie][]*request // settled by later mail, the oldest first
	waits  map[string]bool    // teammates with a request that would be shown in the place of one that is gone
	gone   map[uint64]bool
	out    []uint64
	spent  map[string]uint64 // by teammate: the last decision whose receipt goes
}

// tie is a kind of requests of a teammate where a later one closes an earlier one.
type tie struct {
	teammate string
	question bool
}

// useless returns what may be deleted, in the order in which it must: nothing settles anything that is not gone already, so
// that wherever it breaks off, no request opens again.
func (u *uses) useless() []uint64 {
	all := slices.SortedFunc(maps.Values(u.x.items), func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	u.survey(all)
	for _, it := range all {
		if it.ignored && !it.waits && u.left[it.of] == 0 && u.due(it) && u.free(it) {
			u.drop(it)
		}
	}
	for _, it := range all {
		if r := u.requestOf(it); r != nil && r.seq == it.seq {
			u.request(r, false)
		}
	}
	for _, it := range all {
		if !u.gone[it.seq] && !it.ignored && u.requestOf(it) == nil && it.subject.Kind != mailbox.KindReceipt && u.due(it) {
			u.letter(it)
		}
	}
	for _, it := range all {
		if !u.gone[it.seq] && !it.ignored && it.subject.Kind == mailbox.KindReceipt && u.due(it) {
			u.receipt(it)
		}
	}
	return u.out
}

// survey counts and sorts what there is.
func (u *uses) survey(all []*item) {
	u.over, u.copies, u.left, u.byID = map[string]int{}, map[slot][]*item{}, map[string]int{}, map[string][]*item{}
	u.ties, u.gone, u.spent, u.waits = map[tie][]*request{}, map[uint64]bool{}, map[string]uint64{}, map[string]bool{}
	for _, it := range all {
		u.over[it.name]++
		u.waits[it.subject.From] = u.waits[it.subject.From] || it.waits
		if it.id == "" || it.subject.Kind == mailbox.KindReceipt {
			continue
		}
		u.left[it.id]++
		u.byID[it.id] = append(u.byID[it.id], it)
		r := u.requestOf(it)
		if r == nil {
			continue
		}
		u.copies[r.slot] = append(u.copies[r.slot], it)
		if t, tied := tieOf(r); tied && r.seq == it.seq && !u.byOwnRight(r) {
			u.ties[t] = append(u.ties[t], r)
		}
	}
	for name := range u.over {
		u.over[name] -= u.full
	}
}

func tieOf(r *request) (tie, bool) {
	return tie{r.teammate, r.isQuestion}, r.isPlan || r.isQuestion
}

// byOwnRight reports whether a request is open or settled whatever other requests there are.
func (u *uses) byOwnRight(r *request) bool {
	_, decided := u.x.decisions[r.slot]
	return decided || r.answer != nil || u.x.open[r.slot] != nil || r.isPlan && r.withdrawn != ""
}

// requestOf is the request that an item asks, or asks again.
func (u *uses) requestOf(it *item) *request {
	switch it.subject.Kind {
	case mailbox.KindPlanApprovalRequest, mailbox.KindPermissionRequest, mailbox.KindQuestion:
		if it.subject.To == mailbox.Lead && !it.ignored {
			return u.x.requests[slot{it.subject.From, it.id}]
		}
	}
	return nil
}

func (u *uses) age(it *item) time.Duration { return u.now.Sub(it.stored) }

// due reports whether it is time to delete an item: it is old, or one of those that are too many.
func (u *uses) due(it *item) bool { return u.age(it) > u.keep || u.over[it.name] > 0 }

// free reports whether everybody has handled an item, and nothing but its own meaning can keep it. What is stored in the
// future is not old: a clock was wrong.
func (u *uses) free(it *item) bool {
	return u.age(it) >= settleAge && it.seq != u.newest && it.seq <= u.recorded && !u.dead[it.seq] && u.handled(it)
}

func (u *uses) drop(it *item) {
	u.gone[it.seq] = true
	u.out = append(u.out, it.seq)
	u.over[it.name]--
	u.left[it.id]--
}

// handled reports whether those that an item is for have acknowledged it.
func (u *uses) handled(it *item) bool {
	seen, waits := it.subject.Kind != mailbox.KindMessage || it.ignored, false
	for _, m := range u.x.charter().Members {
		if m.Retired || !receives(m, it.subject.To) || it.subject.To == mailbox.All && it.seq <= u.x.since(m.Name) {
			continue
		}
		if u.crowded[pair{it.subject.From, m.Name}] {
			return false
		}
		r := u.readers[m.Name]
		read := r.floor >= it.seq
		if m.Role == charter.RoleTeammate {
			waits = waits || !read
			seen = true
			continue
		}
		if m.Role != charter.RoleLeader {
			continue
		}
		// A leader that has no consumer reads through us, and says so.
		waits = waits || r.here && !read
		seen = seen || it.subject.To == mailbox.All || u.x.hasSeen(m.Name, it.id) || read && m.Kind != charter.KindPolicy
	}
	known := it.subject.To == mailbox.Lead || it.subject.To == mailbox.All
	if !known {
		_, known = u.x.charter().Member(it.subject.To)
		who, _ := u.x.charter().Member(it.subject.To)
		seen = seen || who.Retired
	}
	return known && seen && !waits
}

// request deletes a settled request, its last copy first, and reports whether it is gone. With now it need not be old.
func (u *uses) request(r *request, now bool) bool {
	all := u.copies[r.slot]
	if len(all) == 0 || u.gone[all[0].seq] || !u.finished(r) || u.isRevised(r) || u.tied(r) {
		return false
	}
	for _, it := range all {
		if !now && !u.due(it) || !u.free(it) {
			return false
		}
	}
	for _, it := range slices.Backward(all) {
		u.drop(it)
	}
	return true
}

// finished reports whether nothing is to come of a request: its teammate has said what it did with the decision.
func (u *uses) finished(r *request) bool {
	switch _, decided := u.x.decisions[r.slot]; {
	case u.x.open[r.slot] != nil:
		return false
	case decided && r.withdrawn == "":
		return slices.ContainsFunc(u.x.receipts[r.id], func(i natsbox.ReceiptInfo) bool {
			return i.From == r.teammate && (i.Receipt.State == mailbox.Applied || i.Receipt.State == mailbox.Refused)
		})
	}
	return true
}

// isRevised reports whether leaders compare an open plan with this one.
func (u *uses) isRevised(r *request) bool {
	if !r.isPlan {
		return false
	}
	for s, o := range u.x.open {
		if s.teammate == r.teammate && o.isPlan && o.planID == r.planID {
			return true
		}
	}
	return false
}

// tied reports whether another request would be shown or not shown at the next start when this one is gone: an earlier one
// that only later ones keep closed, or a permission request for which there was no room.
func (u *uses) tied(r *request) bool {
	t, ok := tieOf(r)
	if !ok {
		return u.waits[r.teammate]
	}
	list := u.ties[t]
	for len(list) > 0 && u.gone[list[0].seq] {
		list = list[1:]
	}
	u.ties[t] = list
	return len(list) > 0 && list[0].seq < r.seq
}

// letter deletes mail that is neither a request nor a receipt, and reports whether it is gone.
func (u *uses) letter(it *item) bool {
	if u.settles(it) || !u.free(it) {
		return false
	}
	u.drop(it)
	return true
}

// settles reports whether mail is about a request that is there.
func (u *uses) settles(it *item) bool {
	switch it.subject.Kind {
	case mailbox.KindPlanWithdrawn:
		return u.stays(slot{it.subject.From, it.of})
	case mailbox.KindAnswer:
		return u.stays(slot{it.subject.To, it.of})
	}
	for _, s := range u.x.byID[it.of] { // an endorsement, or to whom it was handed
		if u.x.open[s] != nil {
			return true
		}
	}
	return false
}

// stays reports whether a copy of a request is not gone.
func (u *uses) stays(s slot) bool {
	return slices.ContainsFunc(u.copies[s], func(it *item) bool { return !u.gone[it.seq] })
}

// receipt deletes a receipt when what it is about is gone. Where receipts are too many, that goes with it.
func (u *uses) receipt(it *item) {
	if !u.free(it) {
		return
	}
	s := slot{it.subject.From, it.of}
	if _, order := u.x.orders[s]; order {
		return // the highest counter that was applied is told from them
	}
	if u.left[it.of] > 0 && u.over[it.name] > 0 {
		for _, about := range u.byID[it.of] {
			if r := u.requestOf(about); r != nil {
				u.request(r, true)
			} else if !u.gone[about.seq] && !about.ignored {
				u.letter(about)
			}
		}
	}
	if u.left[it.of] > 0 {
		return
	}
	if d, ok := u.x.decisions[s]; ok && d.Mode != "" && it.state == mailbox.Applied {
		u.spent[it.subject.From] = max(u.spent[it.subject.From], d.seq)
	}
	u.drop(it)
}
