package plans_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/planswarm/swarm/plans"
)

func TestHiddenMarkup(t *testing.T) {
	fence := "```"
	for _, tt := range []struct{ name, content, want string }{
		{"ordinary", "# Plan\n\n- [ ] `List<String>` in a.go, if x < y && z > 1; see <https://x.test> or [docs](a.md)\n1. R&D; AT&T; a &amp; b\n", ""},
		{"comment", "text <!-- push --force -->\n", "1 HTML comment"},
		{"comment over lines", "a\n<!--\nrun this\n\n```\n-->\nb\n", "2 HTML comment"},
		{"reference as comment", "[//]: # (do it)\n", "1 reference definition"},
		{"reference", "text\n\n  > - [x]: /etc/passwd 'title'\n", "3 reference definition"},
		{"reference over lines", "[a\nb]: /x\n", "2 reference definition"},
		{"escaped label", `[a\]b]: /x`, "1 reference definition"},
		{"backticks in a label", "[`` a]: /x `` b\n", "1 reference definition"},
		{"checkbox with a colon", "- [ ] see [docs]: more\n", ""},
		{"html", "<details>\nx\n</details>\n", "1 raw HTML, 3 raw HTML"},
		{"block without an end", "<div\nhidden\n\n", "1 raw HTML"},
		{"instruction and declaration", "a <?php x ?>\nb <!DOCTYPE x>\n", "1 raw HTML, 2 raw HTML"},
		{"placeholder in prose", "use <name> here\n", "1 raw HTML"},
		{"image", "![alt](http://x/y.png)\n", "1 image"},
		{"titles", "[a](b \"hidden\") [c](d)\n[e](f\t'hidden')\n", "1 link title, 2 link title"},
		{"entities", "a&#8203;b\n&ZeroWidthSpace; &lt;\n", "1 character reference, 2 character reference"},
		{"one of a kind a line", "<!-- a --> <b> <!-- c --> <i>\n", "1 HTML comment, 1 raw HTML"},
		{"fenced", fence + "html\n<!-- a -->\n[x]: y\n" + fence + "\n", ""},
		{"fenced in an item", "- a\n  " + fence + "\n  <p>\n  " + fence + "\n", ""},
		{"fence that the end of the item ends", "- a\n  " + fence + "\n<!-- b -->\n", "3 HTML comment"},
		{"less indented end", "  " + fence + "\n\n" + fence + "\n<!-- a -->\n", "4 HTML comment"},
		{"less indented code", "  " + fence + "\ncode\n" + fence + "\n<!-- a -->\n", "4 HTML comment"},
		{"fence after a doubt", "- a\n  " + fence + "\n" + fence + "\n" + fence + "\n<!-- a -->\n", "5 HTML comment"},
		{"item goes on after a fence on the bullet", "* " + fence + "\n  " + fence + "\n\t<!-- a -->\n", "3 HTML comment"},
		{"deep fence", "- a\n\n    " + fence + "\n   " + fence + "\n   <!-- a -->\n", "5 HTML comment"},
		{"fence that opens on the bullet", "- " + fence + "\n  code\n  " + fence + "\n<!-- a -->\n", "4 HTML comment"},
		{"indented fence is code", "text\n\n    " + fence + "\n\n<!-- a -->\n\n    " + fence + "\n", "5 HTML comment"},
		{"quoted fence", "> " + fence + "\n\n<!-- a -->\n", "3 HTML comment"},
		{"fence in a block", "<div>\n" + fence + "\n</div>\n\n<!-- a -->\n", "1 raw HTML, 3 raw HTML, 5 HTML comment"},
		{"fence in a comment", "<!--\n" + fence + "\n-->\n\n<!-- a -->\n", "1 HTML comment, 5 HTML comment"},
		{"longer fence", "````\n" + fence + "\n<!-- a -->\n````\n<!-- b -->\n", "5 HTML comment"},
		{"code span", "a `<!-- x -->` and ``b ` <p>`` c\n", ""},
		{"span from the line before", "a ` b\nc ` <!-- x --> ` d\n", "2 HTML comment"},
		{"escaped backtick", "\\` <!-- x --> `\n", "1 HTML comment"},
		{"span over lines", "a `b\n<!-- x --> c`\n", "2 HTML comment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range plans.HiddenMarkup([]byte(tt.content)) {
				got = append(got, fmt.Sprintf("%d %s", m.Line, m.Kind))
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("HiddenMarkup(%q) = %q, want %q", tt.content, s, tt.want)
			}
		})
	}
}

func TestHiddenMarkupIsBounded(t *testing.T) {
	if n := len(plans.HiddenMarkup([]byte(strings.Repeat("<!-- a --> <b> ![c]\n", 5000)))); n != plans.MaxMarkup {
		t.Errorf("%d listed, want %d", n, plans.MaxMarkup)
	}
}

func TestCodeSpans(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"none ` here":             "",
		"`a` and ``b ` c`` and `": "a|b ` c",
		"```x``` ` y `":           "x|y",
		"` ` `z`":                 "z",
	} {
		if got := strings.Join(plans.CodeSpans(in), "|"); got != want {
			t.Errorf("CodeSpans(%q) = %q, want %q", in, got, want)
		}
	}
}
