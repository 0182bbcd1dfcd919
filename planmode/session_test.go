package planmode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/planmode"
)

// A row is one row of the transition table, and its name says which: <number>-<state>-<event>[-<case>].
type row struct {
	name    string
	from    planmode.Session
	ev      planmode.Event
	want    string   // state mode saved
	effects []string // in order, as brief says them
	err     error
	check   func(t *testing.T, before, after planmode.Session, effects []planmode.Effect)
}

// ids are the rows of the transition table.
var ids = strings.Fields(`1 2 3 3a 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
	35 36 37 38 39 39a 40 41 42 43 44 45 46 47 48 49a 49 49b 50 51 52 53 53b 53c 54 55 56 57 58 59 59a 60 61 62 62a 63 64 65
	66 67 68 69 70 71 72`)

func allRows(t *testing.T) []row {
	return slices.Concat(enterRows(t), submitRows(t), decideRows(t), refusedRows(t), withdrawRows(t), leaveRows(t),
		orderRows(t), observeRows(t), grantRows(t), teamRows(t), endRows(t), askRows(t), refusedCallRows(t), taskRows(t))
}

func TestSession(t *testing.T) {
	for _, r := range allRows(t) {
		t.Run(r.name, func(t *testing.T) { r.run(t) })
	}
}

func (r row) run(t *testing.T) {
	next, effects, err := step(t, r.from, r.ev)
	wantErr(t, err, r.err)
	if r.err != nil {
		return
	}
	if got := standing(next); got != r.want {
		t.Errorf("session is %q, want %q", got, r.want)
	}
	var got []string
	for _, e := range effects {
		got = append(got, brief(e))
	}
	if !slices.Equal(got, r.effects) {
		t.Errorf("effects are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(r.effects, "\n\t"))
	}
	if r.check != nil {
		r.check(t, r.from, next, effects)
	}
}

func standing(s planmode.Session) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", s.State, s.Mode, s.Saved))
}

// same is the check of a row marked "=": nothing has changed.
func same(t *testing.T, before, after planmode.Session, _ []planmode.Effect) {
	t.Helper()
	if was, is := asJSON(t, before), asJSON(t, after); was != is {
		t.Errorf("session has changed to\n%s\nwas\n%s", is, was)
	}
}

func TestEveryRowHasATest(t *testing.T) {
	tested := map[string]bool{}
	for _, r := range allRows(t) {
		id, _, _ := strings.Cut(r.name, "-")
		if !slices.Contains(ids, id) {
			t.Errorf("test %s is of no row of the table", r.name)
		}
		tested[id] = true
	}
	for _, id := range ids {
		if !tested[id] {
			t.Errorf("row %s of the table has no test", id)
		}
	}
}

func TestNamesOfRowsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range allRows(t) {
		if seen[r.name] {
			t.Errorf("two tests are called %s", r.name)
		}
		seen[r.name] = true
	}
}
