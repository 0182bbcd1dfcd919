package plans

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// smallDiff is up to which product of changed regions' lines the smallest difference is computed. Beyond, the search
// gives up after about a hundred changes and shows the rest as replaced: never less than what changed, so that nothing
// hides, and in time that grows with the size alone.
const smallDiff = 1 << 20

// Diff compares two revisions line by line: how many lines were added and removed, and the unified text with three
// lines of context, "" when they are equal. Every changed line is in it, also when only blanks changed; a moved line is
// removed and added. The text is the author's: make it [VisibleText].
func Diff(before, after []byte) (added, removed int, unified string) {
	a, b := string(before), string(after)
	if a == b {
		return 0, 0, ""
	}
	edits := lineEdits(a, b)
	for _, e := range edits {
		removed += countLines(a[e.Start:e.End])
		added += countLines(e.New)
	}
	unified, err := udiff.ToUnified("before", "after", a, edits, udiff.DefaultContextLines)
	if err != nil { // the edits are in order and inside a: cannot be
		return added, removed, ""
	}
	return added, removed, unified
}

// lineEdits is what makes b of a, in whole lines.
func lineEdits(a, b string) []udiff.Edit {
	old, now := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	start := 0
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		start += len(old[0])
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	if len(old)*len(now) > smallDiff {
		return udiff.Lines(a, b)
	}
	return smallest(old, now, start)
}

// smallest is the shortest edit of old lines, which begin at start, to new ones.
func smallest(old, now []string, start int) []udiff.Edit {
	common := commonLines(old, now)
	var edits []udiff.Edit
	i, j := 0, 0
	same := func() bool { return i < len(old) && j < len(now) && old[i] == now[j] }
	for i < len(old) || j < len(now) {
		if same() {
			start += len(old[i])
			i, j = i+1, j+1
			continue
		}
		end, from := start, j
		for (i < len(old) || j < len(now)) && !same() {
			if j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1] {
				end += len(old[i])
				i++
			} else {
				j++
			}
		}
		edits = append(edits, udiff.Edit{Start: start, End: end, New: strings.Join(now[from:j], "")})
		start = end
	}
	return edits
}

// commonLines is, for each pair of rests of the two sides, how many lines they have in common at most.
func commonLines(old, now []string) [][]int32 {
	table := make([][]int32, len(old)+1)
	cells := make([]int32, (len(old)+1)*(len(now)+1))
	for i := range table {
		table[i], cells = cells[:len(now)+1], cells[len(now)+1:]
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// countLines counts the lines of s; a last one without a line feed counts.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
