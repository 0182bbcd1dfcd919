package plans_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/plans"
)

func TestFollow(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		line, now     int
		kept          bool
	}{
		"the same":              {"a\nb\nc\n", "a\nb\nc\n", 2, 2, true},
		"a line before it":      {"a\nb\nc\n", "a\nx\nb\nc\n", 2, 3, true},
		"two fewer before it":   {"a\nb\nc\n", "c\n", 3, 1, true},
		"a line after it":       {"a\nb\nc\n", "a\nb\nc\nd\n", 2, 2, true},
		"below the last":        {"a\nb", "a\nb\nc\n", 2, 2, true},
		"changed":               {"a\nb\nc\n", "a\nB\nc\n", 2, 2, false},
		"gone":                  {"a\nb\nc\n", "a\nc\n", 2, 2, false},
		"the last is gone":      {"a\nb\nc\n", "a\nb\n", 3, 3, false},
		"only its blanks":       {"a\n b\nc\n", "a\nb\nc\n", 2, 2, false},
		"all is other":          {"a\nb\n", "x\ny\nz\n", 2, 1, false},
		"moved":                 {"a\nb\nc\n", "b\nc\na\n", 1, 1, false},
		"no such line":          {"a\n", "a\n", 2, 0, false},
		"line zero":             {"a\n", "a\n", 0, 0, false},
		"of nothing":            {"", "a\n", 1, 0, false},
		"a carriage return too": {"a\r\nb\r\n", "x\r\na\r\nb\r\n", 2, 3, true},
	} {
		if now, kept := plans.Follow([]byte(c.before), []byte(c.after), c.line); now != c.now || kept != c.kept {
			t.Errorf("%s: Follow(%q, %q, %d) = %d, %t, want %d, %t", name, c.before, c.after, c.line, now, kept, c.now, c.kept)
		}
	}
}

// A line that is followed reads the same in both revisions, lines keep their order, and what is kept of both is the same
// number of lines.
func TestFollowedLinesAreTheSame(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "", "d é", "a\r"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := []byte(text.Draw(t, "before")), []byte(text.Draw(t, "after"))
		last := 0
		for n := 1; n <= plans.CountLines(before); n++ {
			now, kept := plans.Follow(before, after, n)
			if !kept {
				if now < 1 || now > plans.CountLines(after)+1 {
					t.Fatalf("line %d is gone from line %d of %d", n, now, plans.CountLines(after))
				}
				continue
			}
			was, _ := plans.LineAt(before, n)
			is, ok := plans.LineAt(after, now)
			if !ok || was != is || now <= last {
				t.Fatalf("line %d %q is followed to line %d %q, after line %d", n, was, now, is, last)
			}
			last = now
		}
	})
}
