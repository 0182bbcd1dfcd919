package mailbox

import (
	"cmp"
	"slices"
	"strings"
)

// maxNearest is how many names are suggested; longer names than maxCompared are not compared.
const (
	maxNearest  = 3
	maxCompared = 128
)

// Nearest returns the names that somebody who wrote name may have meant, the likeliest first, at most three: those that
// begin with it, and those a few changed, missing, added or swapped characters away.
func Nearest(name string, among []string) []string {
	type scored struct {
		name string
		dist int
	}
	var near []scored
	for _, other := range among {
		if d, ok := likeness(name, other); ok {
			near = append(near, scored{other, d})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name))
	})
	near = slices.CompactFunc(near, func(a, b scored) bool { return a.name == b.name })
	var names []string
	for _, s := range near[:min(len(near), maxNearest)] {
		names = append(names, s.name)
	}
	return names
}

// likeness returns how far other is from name, and whether it is near enough to be meant.
func likeness(name, other string) (int, bool) {
	if name == "" || other == "" || len(name) > maxCompared || len(other) > maxCompared {
		return 0, false
	}
	a, b := []rune(strings.ToLower(name)), []rune(strings.ToLower(other))
	d := distance(a, b)
	longer := max(len(a), len(b))
	if d < longer && d <= max(2, longer/3) {
		return d, true
	}
	return longer, len(a) >= 2 && strings.HasPrefix(string(b), string(a))
}

// distance is the number of characters to change, add, drop or swap with their neighbour to make a into b.
func distance(a, b []rune) int {
	before, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			change := prev[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			cur[j] = min(change, prev[j]+1, cur[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}
