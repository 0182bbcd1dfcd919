//go:build linux

package teammate_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpusRow is one case of planmode/testdata/planmode.jsonl: how one of the three systems behaves, in our words.
type corpusRow struct {
	ID     string `json:"id"`
	System string `json:"system"`
	Area   string `json:"area"`
	Name   string `json:"name"`
	Given  string `json:"given"`
	When   string `json:"when"`
	Then   string `json:"then"`
	Source string `json:"source"`
	Ours   string `json:"ours"`
}

func (r corpusRow) String() string {
	return fmt.Sprintf("%s %s %s: %s", r.ID, r.System, r.Area, r.Name)
}

// A claim says what is made of a row.
type claim struct {
	list string
	why  string // the invariant, the adapter's test, or the reason
	run  func(*testing.T)
}

// The lists that every row is in one of.
const (
	listAsserted  = "asserted"
	listOtherwise = "asserted the other way"
	listAdapter   = "an adapter's"
	listNone      = "not applicable"
)

// maxNone is how many rows may be of no concern.
const maxNone = 60

type claims map[string]claim

// is asserts the row as it stands.
func is(run func(*testing.T)) claim { return claim{listAsserted, "", run} }

// not asserts what holds instead, by an invariant.
func not(invariant int, run func(*testing.T)) claim {
	return claim{listOtherwise, fmt.Sprintf("invariant %d", invariant), run}
}

// adapter leaves the row to an adapter, and what everybody can hold of it is still asserted where run is given.
func adapter(test string) claim { return claim{listAdapter, test, nil} }

// none says why a row is of no concern.
func none(reason string) claim { return claim{listNone, reason, nil} }

func readCorpus(t testing.TB) []corpusRow {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "planmode", "testdata", "planmode.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []corpusRow
	for in := bufio.NewScanner(f); in.Scan(); {
		var r corpusRow
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// Every row of the corpus is asserted, asserted the other way with the invariant, an adapter's, or not applicable for one
// reason; none is left out.
func TestPlanModeCorpus(t *testing.T) {
	all := claims{}
	for _, part := range []claims{
		pathClaims(), folderClaims(), entryClaims(), exitClaims(), dialogClaims(), planPolicyClaims(), engineClaims(), tierClaims(), shellClaims(),
		alwaysClaims(), modeClaims(), kimiPlanClaims(), kimiOptionClaims(), reminderClaims(), guardClaims(), kimiSwitchClaims(), wireClaims(), successorClaims(),
	} {
		for id, c := range part {
			if _, twice := all[id]; twice {
				t.Errorf("%s is claimed twice", id)
			}
			all[id] = c
		}
	}
	lists := map[string][]string{}
	rows := readCorpus(t)
	for _, r := range rows {
		c, ok := all[r.ID]
		if !ok {
			t.Errorf("%s: nothing is said about it (given %s, when %s, then %s)", r, r.Given, r.When, r.Then)
			continue
		}
		delete(all, r.ID)
		if strings.HasPrefix(r.Ours, "opposite") && c.list != listOtherwise {
			t.Errorf("%s is %s, and its row says %q", r, c.list, r.Ours)
		}
		line := r.String()
		if c.why != "" {
			line += " (" + c.why + ")"
		}
		lists[c.list] = append(lists[c.list], line)
		if c.run != nil {
			t.Run(r.ID+" "+r.Name, c.run)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		t.Errorf("%s is no row of the corpus", id)
	}
	if n := len(lists[listNone]); n > maxNone {
		t.Errorf("%d rows are not applicable, at most %d may be", n, maxNone)
	}
	total := 0
	for _, list := range []string{listAsserted, listOtherwise, listAdapter, listNone} {
		total += len(lists[list])
		t.Logf("%s: %d\n\t%s", list, len(lists[list]), strings.Join(lists[list], "\n\t"))
	}
	if total != len(rows) {
		t.Errorf("%d of %d rows are in a list", total, len(rows))
	}
}
