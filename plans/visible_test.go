package plans_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/planswarm/swarm/plans"
	"golang.org/x/text/width"
	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain text, 汉字 und Grüße", "plain text, 汉字 und Grüße"},
		{"\x1b[31mred", "<1B>[31mred"},
		{"a\tb\nc\r", "a<09>b<0A>c<0D>"},
		{"nul\x00 del\x7f", "nul<00> del<7F>"},
		{"c1 \u009b", "c1 <U+009B>"},
		{"bad \x9b\xff", "bad <9B><FF>"},
		{"half \xe2\x80", "half <E2><80>"},
		{"surrogate \xed\xa0\x80", "surrogate <ED><A0><80>"},
		{"bidi \u202eevil\u202c\u2066\u2069", "bidi <U+202E>evil<U+202C><U+2066><U+2069>"},
		{"zero\u200bwidth\u200d\ufeff\u00ad", "zero<U+200B>width<U+200D><U+FEFF><U+00AD>"},
		{"tag \U000e0041\U000e007f", "tag <U+E0041><U+E007F>"},
		{"selector \ufe0f\U000e0100", "selector <U+FE0F><U+E0100>"},
		{"lines \u2028\u2029", "lines <U+2028><U+2029>"},
		{"private \ue000\U00100000", "private <U+E000><U+100000>"},
		{"unassigned \u0378\U000e0fff", "unassigned <U+0378><U+E0FFF>"},
		{"fillers \u3164\u115f\uffa0\u2800\u034f", "fillers <U+3164><U+115F><U+FFA0><U+2800><U+034F>"},
		{"blanks \u2003\u200a\u1680", "blanks <U+2003><U+200A><U+1680>"},
		{"drawn blanks\u00a0\u202f\u3000.", "drawn blanks\u00a0\u202f\u3000."},
		{"Vi\u1ec7t e\u0302\u0301", "Vi\u1ec7t e\u0302\u0301"},
		{"\u0301lone, \u0336 too", "<U+0301>lone, <U+0336> too"},
		{"z" + strings.Repeat("\u0300", 6), "z\u0300\u0300\u0300\u0300<U+0300><U+0300>"},
		{"\u200b\u0301", "<U+200B><U+0301>"},
		{"typed <U+202E> and <1B>", "typed <3C>U+202E> and <3C>1B>"},
		{"<U+12345678> <1b> <U+202e> <p> <a href=x> <U+12> a<b", "<U+12345678> <1b> <U+202e> <p> <a href=x> <U+12> a<b"},
	} {
		if got := plans.Visible(tt.in); got != tt.want {
			t.Errorf("Visible(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestVisibleTextKeepsLines(t *testing.T) {
	const in = "# Plan\n\t- [ ] one\r\n\x1b[2J\u2028<1B>\n"
	const want = "# Plan\n\t- [ ] one<0D>\n<1B>[2J<U+2028><3C>1B>\n"
	if got := plans.VisibleText(in); got != want {
		t.Errorf("VisibleText(%q) = %q, want %q", in, got, want)
	}
}

// What is shown is drawn by no character that could hide, and nothing of the text is lost: it can be read back.
func TestVisibleHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostile().Draw(t, "s")
		checkShown(t, "Visible", s, plans.Visible(s), "")
		checkShown(t, "VisibleText", s, plans.VisibleText(s), "\n\t")
		if line := plans.VisibleLine(s); line != plans.Visible(s) {
			t.Fatalf("VisibleLine(%q) = %q, want what Visible gives", s, line)
		}
	})
}

func TestVisibleLeavesShownTextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ReplaceAll(plans.VisibleText(hostile().Draw(t, "s")), "<", "(")
		if got := plans.VisibleText(s); got != s {
			t.Fatalf("VisibleText(%q) = %q, want it unchanged", s, got)
		}
	})
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "<U+202E>", "<<1B>", "\x1b]8;;http://x\x07", "e\u0301\u0301\u0301\u0301\u0301", "\u202e\n\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkShown(t, "Visible", s, plans.Visible(s), "")
		checkShown(t, "VisibleText", s, plans.VisibleText(s), "\n\t")
		if n := plans.HiddenCount(s); n > utf8.RuneCountInString(s) {
			t.Fatalf("HiddenCount(%q) = %d, more than it has characters", s, n)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkShown(t fataler, name, in, out, pass string) {
	t.Helper()
	for _, r := range out {
		if strings.ContainsRune(pass, r) {
			continue
		}
		if !unicode.IsGraphic(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			t.Fatalf("%s(%q) = %q has %U", name, in, out, r)
		}
	}
	if got := unmark(out); got != in {
		t.Fatalf("%s(%q) = %q reads back as %q", name, in, out, got)
	}
}

var markers = regexp.MustCompile(`<([0-9A-F]{2})>|<U\+([0-9A-F]{4,6})>`)

// unmark reads back what Visible wrote.
func unmark(s string) string {
	return markers.ReplaceAllStringFunc(s, func(m string) string {
		digits, isRune := strings.CutPrefix(strings.Trim(m, "<>"), "U+")
		n, _ := strconv.ParseUint(digits, 16, 32)
		if isRune {
			return string(rune(n))
		}
		return string([]byte{byte(n)})
	})
}

// hostile draws strings of the characters that terminals and readers have fallen for, among ordinary ones.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.StringMatching("[a-z <>U+0-9A-F]{0,6}"),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.Int32Range(0, unicode.MaxRune), func(r int32) string { return string(r) }),
		rapid.SampledFrom([]string{
			"\x1b[8m", "\n", "\t", "\r\n", "\u202e", "\u200b", "\u200d", "\ufe0f", "\U000e0041", "\u2028", "\u0301", "\u0336",
			"\u3164", "<1B>", "<U+202E>", "<3C>", "\x9b", "⚠\ufe0f", "👩\u200d💻", "汉", "\u00a0", "`", "<!--", "- [ ] ", "# ",
		}),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 12), func(p []string) string { return strings.Join(p, "") })
}

func TestHidden(t *testing.T) {
	const content = "\ufeffone\r\ntwo \u202e\u200b\n⚠\ufe0f 👩\U0001f3fd\u200d💻 1\ufe0f\u20e3 می\u200cخواهم\n\x1b[0m <1B>\n"
	var got []string
	for _, h := range plans.Hidden([]byte(content)) {
		got = append(got, strconv.Itoa(h.Line)+" "+h.Name)
	}
	want := "2 U+202E, 2 U+200B, 4 1B"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("Hidden = %q, want %q", s, want)
	}
	if n := plans.HiddenCount(content); n != 3 {
		t.Errorf("HiddenCount = %d, want 3", n)
	}
	for _, s := range []string{"a\ufe0f", "a\u200db", "x\u200c", "a\rb", "a\ufeff", "a\u20e3\u0301\u0301\u0301\u0301"} {
		if plans.HiddenCount(s) != 1 {
			t.Errorf("HiddenCount(%q) = %d, want 1", s, plans.HiddenCount(s))
		}
	}
}

func TestHiddenIsBounded(t *testing.T) {
	content := strings.Repeat("\u200b", 5000)
	if n := len(plans.Hidden([]byte(content))); n != plans.MaxHidden {
		t.Errorf("%d listed, want %d", n, plans.MaxHidden)
	}
	if n := plans.HiddenCount(content); n != 5000 {
		t.Errorf("HiddenCount = %d, want 5000", n)
	}
}

func TestWidthAgreesWithUnicode(t *testing.T) {
	for r := rune(' '); r <= 0x3ffff; r++ {
		if s := string(r); plans.Visible(s) != s || unicode.In(r, unicode.Mn, unicode.Me) {
			continue
		}
		want := 1
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			want = 2
		}
		if got := plans.Width(string(r)); got != want {
			t.Errorf("Width(%U) = %d, want %d", r, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in    string
		cells int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab~"},
		{"abcd", 1, "~"},
		{"abcd", 0, ""},
		{"abcd", -1, ""},
		{"", 0, ""},
		{"汉字计划", 8, "汉字计划"},
		{"汉字计划", 7, "汉字计~"},
		{"汉字计划", 6, "汉字~"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301~"},
	} {
		if got := plans.Cut(tt.in, tt.cells); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.cells, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := plans.Visible(hostile().Draw(t, "s")), rapid.IntRange(0, 20).Draw(t, "n")
		if got := plans.Cut(s, n); plans.Width(got) > n || plans.Width(s) <= n && got != s {
			t.Fatalf("Cut(%q, %d) = %q", s, n, got)
		}
	})
}
