package coordinator

import (
	"maps"
	"slices"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

// keepKey has the next charter say how anna's key is kept.
func (l *leaders) keepKey(how charter.Assurance) {
	l.charter.Serial++
	l.charter.Members = slices.Clone(l.charter.Members)
	i := slices.IndexFunc(l.charter.Members, func(m charter.Member) bool { return m.Name == "anna" })
	l.charter.Members[i].Assurance = how
}

// resealed are seven orders of anna's that api has applied, and the index of a restart after her key was sealed, or unsealed.
func resealed(t *testing.T, from, to charter.Assurance, under uint64) (w *mails, before *index) {
	t.Helper()
	team := twoLeaders(t)
	team.keepKey(from)
	w = &mails{t: t, charter: team.charter, decisions: map[slot]decided{}}
	w.running = w.index(permissions.ModeDefault, 0, 0)
	signer := team
	signer.charter.Serial += under
	var orders []message
	for n := uint64(1); n <= 7; n++ {
		m := signer.order(t, "anna", "api", n, permissions.ModeDefault, n)
		orders = append(orders, m)
		w.running.order(m)
		e, err := mailbox.Decode(m.data)
		if err != nil {
			t.Fatal(err)
		}
		w.put(mailbox.KindReceipt, "api", mailbox.Lead, natsbox.NewID(), "", mailbox.Receipt{Of: e.ID, State: mailbox.Applied})
	}
	before = w.running
	team.keepKey(to)
	w.charter = team.charter
	after := w.index(permissions.ModeDefault, 0, 0)
	for _, m := range orders {
		after.order(m)
	}
	w.running = w.restart(nil, after)
	return w, before
}

// old are the numbers of the orders that a sweep would delete.
func (w *mails) old() []uint64 {
	u := &oldOrders{stock{x: w.running, now: stored.Add(2 * keepMail), keep: keepMail, readers: map[string]reader{"api": {7, true}}, recorded: 7}}
	return u.useless()
}

// A leader's key that is sealed, or unsealed, takes no counter with it: after a restart they are as they were, and the order
// that they rest on stays.
func TestCountersOutliveASealing(t *testing.T) {
	t.Parallel()
	for _, kept := range [][2]charter.Assurance{{charter.Plain, charter.Sealed}, {charter.Sealed, charter.Plain}} {
		w, before := resealed(t, kept[0], kept[1], 0)
		if got := w.running.counters[line{"api", "anna"}]; got != 7 {
			t.Errorf("%s, then %s: after a restart the counter is %d, want 7", kept[0], kept[1], got)
		}
		if got, want := w.running.appliedOrders("api"), before.appliedOrders("api"); len(want) != 1 || !maps.Equal(got, want) {
			t.Errorf("%s, then %s: after a restart api has applied %v, want %v", kept[0], kept[1], got, want)
		}
		if got := w.old(); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s, then %s: a sweep deletes %v, want all but the last", kept[0], kept[1], got)
		}
	}
}

// What a leader has signed and cannot be read stays, as it may bear a counter.
func TestUnreadableOrdersOfLeadersStay(t *testing.T) {
	t.Parallel()
	w, _ := resealed(t, charter.Plain, charter.Sealed, 1) // as if under the charter that says sealed
	if got := w.running.counters[line{"api", "anna"}]; got != 0 {
		t.Fatalf("the counter is %d, want orders that cannot be read", got)
	}
	if got := w.old(); len(got) > 0 {
		t.Errorf("a sweep deletes %v, want none", got)
	}
}
