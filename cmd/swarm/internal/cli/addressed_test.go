package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planswarm/swarm/planmode"
)

func TestParseAddressed(t *testing.T) {
	for text, want := range map[string]planmode.Addressed{
		"c1":                    {Comment: "c1"},
		"c1=6":                  {Comment: "c1", Line: 6},
		" c1 = 6 : half even ":  {Comment: "c1", Line: 6, Text: "half even"},
		"c2: in the third: yes": {Comment: "c2", Text: "in the third: yes"},
	} {
		if got, err := parseAddressed([]string{text}); err != nil || got[0] != want {
			t.Errorf("parseAddressed(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "=6", "c1=", "c1=x", "c1=0", "c1=-1", ": how"} {
		if got, err := parseAddressed([]string{text}); err == nil || !strings.Contains(err.Error(), "--addresses") {
			t.Errorf("parseAddressed(%q) = %+v, %v, want an error that says how to write it", text, got, err)
		}
	}
}

// Whatever an agent types: an error, or a comment with a line from 1, if any.
func FuzzParseAddressed(f *testing.F) {
	for _, s := range []string{"c1", "c1=6", "c1=6: how", "=", ":", "c1=99999999999999999999", "c\x00=1:\x1b", "运行=2: 好"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseAddressed([]string{s})
		switch {
		case err != nil && len(got) == 0:
		case err != nil, len(got) != 1, got[0].Comment == "", got[0].Line < 0, strings.TrimSpace(got[0].Text) != got[0].Text:
			t.Errorf("parseAddressed(%q) = %+v, %v", s, got, err)
		case utf8.ValidString(s) && !strings.Contains(s, got[0].Comment):
			t.Errorf("parseAddressed(%q) names %q", s, got[0].Comment)
		}
	})
}
