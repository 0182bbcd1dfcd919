package plans_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/plans"
	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content string
		want    error
		text    string
	}{
		{"ordinary", "# Plan\n", nil, ""},
		{"largest", strings.Repeat("a", plans.MaxBytes), nil, ""},
		{"hostile but text", "\x1b[2J plan", nil, ""},
		{"nothing", "", plans.ErrEmpty, "the plan is empty: write the plan, then submit again"},
		{"blanks", " \n\t\u3000\u00a0\r\n", plans.ErrEmpty, "the plan is empty: write the plan, then submit again"},
		{"byte order mark", "\ufeff \n", plans.ErrEmpty, "the plan is empty: write the plan, then submit again"},
		{"nothing to see", "\u200b\u2060\u3164\n", plans.ErrEmpty, "the plan is empty: write the plan, then submit again"},
		{"invalid", "ab\xffc", plans.ErrNotUTF8, "the plan is not UTF-8 text (byte FF at offset 2 of 4): save it as UTF-8, then submit again"},
		{"UTF-16", "#\x00 \x00", plans.ErrNotUTF8, "the plan is not UTF-8 text (byte 00 at offset 1 of 4): save it as UTF-8, then submit again"},
		{"invalid before NUL", "\xfe\x00", plans.ErrNotUTF8, "the plan is not UTF-8 text (byte FE at offset 0 of 2): save it as UTF-8, then submit again"},
		{"too large", strings.Repeat("a", plans.MaxBytes+1), plans.ErrTooLarge, "the plan is too large (2097153 bytes or more, at most 2097152): shorten it, then submit again"},
	} {
		err := plans.Check([]byte(tt.content))
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("Check(%s) = %v, want %v", tt.name, err, tt.want)
		}
		if err != nil && err.Error() != tt.text {
			t.Errorf("Check(%s) says %q, want %q", tt.name, err, tt.text)
		}
	}
}

func TestNew(t *testing.T) {
	p := plans.New("a.md", "/plans/a.md", []byte("# A plan\n"))
	if p.Digest != plans.Digest(p.Content) || p.Bytes != 9 {
		t.Errorf("New = %+v, want the digest of its content, and 9 bytes", p)
	}
	if got := plans.Digest(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("Digest(nil) = %s, want SHA-256 of nothing", got)
	}
	if r := p.Ref(); r.Title != "A plan" || r.Digest != p.Digest || r.Name != "a.md" || r.Path != p.Path || r.Bytes != 9 {
		t.Errorf("Ref = %+v", r)
	}
}

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ content, want string }{
		{"", ""},
		{"\n \n", ""},
		{"# Fix rounding\n\ntext", "Fix rounding"},
		{"\ufeff#\tFix   rounding ##\r\n", "Fix rounding"},
		{"Fix rounding.\n\n## Steps\n", "Fix rounding."},
		{"## Goal\n# Real title\n", "Real title"},
		{"## Goal\ntext\n", "Goal"},
		{"#hashtag\n", "#hashtag"},
		{"####### seven\n", "####### seven"},
		{"#\n##\n# C#\n", "C#"},
		{"```\n# comment in code\n```\nAfter\n", "After"},
		{"```sh\nmake\n```\n", "```sh"},
		{"- [ ] only steps\n", "- [ ] only steps"},
		{"# " + strings.Repeat("汉", 81), strings.Repeat("汉", 79) + "~"},
		{"# " + strings.Repeat("汉", 80), strings.Repeat("汉", 80)},
	} {
		if got := plans.Title([]byte(tt.content)); got != tt.want {
			t.Errorf("Title(%q) = %q, want %q", tt.content, got, tt.want)
		}
	}
}

func TestTasks(t *testing.T) {
	const content = `# Plan
- [ ] first ` + "`a.go`" + `
  * [x] nested
1. [X] numbered
   10) [ ]   spread   out
+ [ ]
- [] no
- [ ]no
- [-] no
-[ ] no
[ ] no
` + "```" + `
- [ ] in code
` + "```" + `
~~~
` + "```" + `
- [ ] still in code
~~~
	- [ ] deep
- [x] last`
	want := []string{
		"t1 2 false first `a.go`", "t2 3 true nested", "t3 4 true numbered", "t4 5 false spread out", "t5 6 false ",
		"t6 19 false deep", "t7 20 true last",
	}
	for _, ends := range []string{"\n", "\r\n"} {
		var got []string
		for _, task := range plans.Tasks([]byte(strings.ReplaceAll(content, "\n", ends))) {
			got = append(got, fmt.Sprintf("%s %d %v %s", task.ID, task.Line, task.Done, task.Text))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Tasks with %q:\n%s\nwant\n%s", ends, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestTasksAreBounded(t *testing.T) {
	content := strings.Repeat("- [ ] "+strings.Repeat("汉", 200)+"\n", 1000)
	tasks := plans.Tasks([]byte(content))
	if len(tasks) != plans.MaxTasks {
		t.Fatalf("%d tasks, want %d", len(tasks), plans.MaxTasks)
	}
	if n := utf8.RuneCountInString(tasks[0].Text); n != 80 {
		t.Errorf("a task's text has %d characters, want 80", n)
	}
}

func FuzzPlan(f *testing.F) {
	for _, s := range []string{"", "# t\n- [ ] a\n", "```\n- [x] b", "- ```\n  x\n~~~~\n", "1. [ ] `a` <!-- b -->\n[//]: # (c)\n", "[a\nb]: c", "`` ` \\` ``"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		lines := bytes.Count(content, []byte("\n")) + 1
		if title := plans.Title(content); utf8.RuneCountInString(title) > plans.MaxTitle || strings.ContainsAny(title, "\n\r\t") {
			t.Fatalf("Title = %q", title)
		}
		for i, task := range plans.Tasks(content) {
			if task.ID != fmt.Sprintf("t%d", i+1) || task.Line < 1 || task.Line > lines || strings.Contains(task.Text, "\n") {
				t.Fatalf("task %+v of %d lines", task, lines)
			}
		}
		for _, m := range plans.HiddenMarkup(content) {
			if m.Line < 1 || m.Line > lines {
				t.Fatalf("markup %+v of %d lines", m, lines)
			}
		}
		n := 0
		for line := range plans.Lines(content) {
			if n++; line.Number != n {
				t.Fatalf("line %d has number %d", n, line.Number)
			}
			plans.CodeSpans(line.Text)
		}
	})
}

func TestCheckOptions(t *testing.T) {
	o := func(labels ...string) (list []plans.Option) {
		for _, l := range labels {
			list = append(list, plans.Option{Label: l})
		}
		return list
	}
	rec := func(list []plans.Option, which ...int) []plans.Option {
		for _, i := range which {
			list[i].Recommended = true
		}
		return list
	}
	for _, tt := range []struct {
		name string
		in   []plans.Option
		ok   bool
	}{
		{"none", nil, true},
		{"one", o("a"), true},
		{"one reserved", o("Approve"), false},
		{"two", o("a", "b"), true},
		{"three, one recommended", rec(o("a", "b", "c"), 2), true},
		{"four", o("a", "b", "c", "d"), false},
		{"two recommended", rec(o("a", "b"), 0, 1), false},
		{"twice", o("Fast", "fast"), false},
		{"blank", o("a", " \t"), false},
		{"blanks around", o("a", "b "), false},
		{"reserved", o("a", "Reject and Exit"), false},
		{"reserved approve", o("APPROVE", "b"), false},
		{"contains a reserved word", o("approve later", "b"), true},
		{"hidden", o("a", "b\u200b"), false},
		{"two lines", o("a", "b\nc"), false},
		{"80 characters", o("a", strings.Repeat("汉", 80)), true},
		{"81 characters", o("a", strings.Repeat("汉", 81)), false},
		{"long description", []plans.Option{{Label: "a"}, {Label: "b", Description: strings.Repeat("x", 501)}}, false},
	} {
		err := plans.CheckOptions(tt.in)
		if (err == nil) != tt.ok || err != nil && (!errors.Is(err, plans.ErrOptions) || (plans.HiddenCount(err.Error()) > 0 || strings.Contains(err.Error(), "\n"))) {
			t.Errorf("CheckOptions(%s) = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

func TestDiff(t *testing.T) {
	before := "# Plan\n\n- round\n- add\n"
	after := "# Plan\n\n- round half even\n- add\n- compare\n"
	added, removed, unified := plans.Diff([]byte(before), []byte(after))
	want := "--- before\n+++ after\n@@ -1,4 +1,5 @@\n # Plan\n \n-- round\n+- round half even\n - add\n+- compare\n"
	if added != 2 || removed != 1 || unified != want {
		t.Errorf("Diff = +%d -%d\n%s\nwant +2 -1\n%s", added, removed, unified, want)
	}
	if a, r, u := plans.Diff([]byte(before), []byte(before)); a != 0 || r != 0 || u != "" {
		t.Errorf("Diff of the same = +%d -%d %q", a, r, u)
	}
	if a, r, u := plans.Diff([]byte("a\n"), []byte("a")); a != 1 || r != 1 || !strings.Contains(u, "No newline") {
		t.Errorf("Diff of a lost line end = +%d -%d %q, want it shown", a, r, u)
	}
	if a, r, u := plans.Diff([]byte("a b\n"), []byte("a  b\n")); a != 1 || r != 1 || !strings.Contains(u, "+a  b") {
		t.Errorf("Diff of blanks = +%d -%d %q, want it shown", a, r, u)
	}
}

func TestDiffIsSmallestForOrdinaryPlans(t *testing.T) {
	var before, after strings.Builder
	for i := range 300 {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&after, "line %d%s\n", i, strings.Repeat("!", i%3/2))
	}
	if a, r, _ := plans.Diff([]byte(before.String()), []byte(after.String())); a != 100 || r != 100 {
		t.Errorf("Diff = +%d -%d, want +100 -100", a, r)
	}
}

// Whatever the two texts: the difference, applied to the first, is the second.
func TestDiffHidesNothing(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "c\r", " ", "\tx"})
	side := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(word, 0, 30).Draw(t, "lines")
		s := strings.Repeat("filler\n", rapid.SampledFrom([]int{0, 600}).Draw(t, "filler")) + strings.Join(lines, "\n")
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := side.Draw(t, "a"), side.Draw(t, "b")
		added, removed, unified := plans.Diff([]byte(a), []byte(b))
		if got := patch(t, a, unified); got != b {
			t.Fatalf("patched %q, want %q\n%s", got, b, unified)
		}
		plus, minus := 0, 0
		for _, line := range strings.SplitAfter(unified, "\n") {
			switch {
			case strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- "):
			case strings.HasPrefix(line, "+"):
				plus++
			case strings.HasPrefix(line, "-"):
				minus++
			}
		}
		if plus != added || minus != removed {
			t.Fatalf("+%d -%d, but the text has +%d -%d:\n%s", added, removed, plus, minus, unified)
		}
	})
}

// patch applies a unified difference.
func patch(t *rapid.T, a, unified string) string {
	if unified == "" {
		return a
	}
	old := strings.SplitAfter(a, "\n")
	var out strings.Builder
	at := 0
	lines := strings.SplitAfter(unified, "\n")[2:]
	for i, line := range lines {
		if line == "" || line[0] == '\\' {
			continue
		}
		text := line[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch line[0] {
		case '@':
			var from, n, to, m int
			if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "@@ -%d %d +%d %d", &from, &n, &to, &m); err != nil {
				n = -1
				if _, err := fmt.Sscanf(line, "@@ -%d", &from); err != nil {
					t.Fatalf("hunk %q: %v", line, err)
				}
			}
			if n == 0 || n < 0 && from == 0 {
				from++
			}
			for ; at < from-1; at++ {
				out.WriteString(old[at])
			}
		case ' ':
			out.WriteString(text)
			at++
		case '+':
			out.WriteString(text)
		case '-':
			at++
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}

func TestDiffOfHostileInputEnds(t *testing.T) {
	for _, tt := range []struct{ before, after string }{
		{strings.Repeat("a\nb\n", plans.MaxBytes/128), strings.Repeat("b\na\na\n", plans.MaxBytes/192)},
		{"x\n", strings.Repeat("y\n", plans.MaxBytes/32)},
		{strings.Repeat("y\n", plans.MaxBytes/32), "x\n"},
		{strings.Repeat("a", plans.MaxBytes), strings.Repeat("b", plans.MaxBytes)},
	} {
		start := time.Now()
		if added, removed, _ := plans.Diff([]byte(tt.before), []byte(tt.after)); added == 0 || removed == 0 || time.Since(start) > 5*time.Minute {
			t.Errorf("Diff = +%d -%d after %v", added, removed, time.Since(start))
		}
	}
}
