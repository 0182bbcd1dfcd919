package leader_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/planmode"
)

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		text string
		want leader.Limit
	}{
		{"run tests=uses:3,for:30m,in:./web", leader.Limit{Prompt: "run tests", Uses: 3, For: 30 * time.Minute, In: "web"}},
		{" run tests = in: web/a/ , uses: 1 ", leader.Limit{Prompt: "run tests", Uses: 1, In: "web/a"}},
		{"运行测试=for:2h", leader.Limit{Prompt: "运行测试", For: 2 * time.Hour}},
		{"set x=1=uses:2", leader.Limit{Prompt: "set x=1", Uses: 2}},
		{"vet=in:.", leader.Limit{Prompt: "vet", In: "."}},
	} {
		if got, err := leader.ParseLimit(c.text); err != nil || got != c.want {
			t.Errorf("ParseLimit(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"run tests", `limit "run tests": it has no =: write --limit "run tests=uses:3,for:30m,in:./web"`},
		{"", `limit "": it has no =: write --limit "run tests=uses:3,for:30m,in:./web"`},
		{"=uses:3", `limit "=uses:3": it names no prompt before the =: write --limit "run tests=uses:3,for:30m,in:./web"`},
		{"vet= ", `limit "vet= ": it limits nothing after the =: write --limit "run tests=uses:3,for:30m,in:./web"`},
		{"vet=use:3", `limit "vet=use:3": unknown "use": did you mean "uses"? write uses:3, for:30m or in:./web`},
		{"vet=xyzzy:3", `limit "vet=xyzzy:3": unknown "xyzzy": write uses:3, for:30m or in:./web`},
		{"vet=uses", `limit "vet=uses": "uses" has no value: write it as uses:3, for:30m or in:./web`},
		{"vet=uses:", `limit "vet=uses:": "uses:" has no value: write it as uses:3, for:30m or in:./web`},
		{"vet=uses:3,", `limit "vet=uses:3,": "" has no value: write it as uses:3, for:30m or in:./web`},
		{"vet=uses:0", `limit "vet=uses:0": uses "0" is no number from 1: write it as uses:3`},
		{"vet=uses:-1", `limit "vet=uses:-1": uses "-1" is no number from 1: write it as uses:3`},
		{"vet=uses:3.5", `limit "vet=uses:3.5": uses "3.5" is no number from 1: write it as uses:3`},
		{"vet=uses:99999999999999999999", `limit "vet=uses:99999999999999999999": uses "99999999999999999999" is no number from 1: write it as uses:3`},
		{"vet=for:30", `limit "vet=for:30": for "30" is no time: write it as for:30m or for:2h`},
		{"vet=for:-1h", `limit "vet=for:-1h": for "-1h" is no time: write it as for:30m or for:2h`},
		{"vet=for:0s", `limit "vet=for:0s": for "0s" is no time: write it as for:30m or for:2h`},
		{"vet=in:..", `limit "vet=in:..": in ".." is no folder inside the working tree: write it with slashes, as in:./web`},
		{"vet=in:/etc", `limit "vet=in:/etc": in "/etc" is no folder inside the working tree: write it with slashes, as in:./web`},
		{"vet=in:a/../../b", `limit "vet=in:a/../../b": in "a/../../b" is no folder inside the working tree: write it with slashes, as in:./web`},
		{`vet=in:a\b`, `limit "vet=in:a\b": in "a\b" is no folder inside the working tree: write it with slashes, as in:./web`},
		{"vet=in:C:/x", `limit "vet=in:C:/x": in "C:/x" is no folder inside the working tree: write it with slashes, as in:./web`},
		{"vet=in:a\x01b", `limit "vet=in:a<01>b": in "a<01>b" is no folder inside the working tree: write it with slashes, as in:./web`},
		{"vet=uses:1,uses:2", `limit "vet=uses:1,uses:2": "uses" stands twice: give it once`},
		{"v\x1b[2J=use:1", `limit "v<1B>[2J=use:1": unknown "use": did you mean "uses"? write uses:3, for:30m or in:./web`},
	} {
		_, err := leader.ParseLimit(c.text)
		var e *leader.Error
		if !errors.As(err, &e) || e.Code != 2 || e.Name != leader.NameBadChoice || err.Error() != c.want {
			t.Errorf("ParseLimit(%q) =\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

// A limit that was read narrows its grant in the decision.
func TestALimitNarrows(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests"}})
	l, err := leader.ParseLimit("run tests=uses:3,for:30m,in:./web")
	if err != nil {
		t.Fatal(err)
	}
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Limits: []leader.Limit{l}}, s.Charter, noon)
	if err != nil || len(d.Grants) != 1 || d.Grants[0].MaxUses != 3 || d.Grants[0].Tree != "web" || !d.Grants[0].ExpiresAt.Equal(noon.Add(30*time.Minute)) {
		t.Errorf("grants = %+v, %v", d.Grants, err)
	}
	checkTerms(t, s, r, d)
}

// What is read is sensible, and is the same when it is written and read again.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"run tests=uses:3,for:30m,in:./web", "a=b=in:x", "=", "=uses:1", "a=for:1ns", "a=in:.", "a=in:a,b", "a=uses:1,uses:1", "\xff=uses:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := leader.ParseLimit(text)
		if err != nil {
			var e *leader.Error
			if !errors.As(err, &e) || e.Code != 2 || e.Next == "" || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Fatalf("ParseLimit(%q) = %v, want what to do next, visible", text, err)
			}
			return
		}
		if l.Prompt == "" || l.Uses < 0 || l.For < 0 || l.In != "" && !fs.ValidPath(l.In) || l.Uses == 0 && l.For == 0 && l.In == "" {
			t.Fatalf("ParseLimit(%q) = %+v", text, l)
		}
		var terms []string
		if l.Uses > 0 {
			terms = append(terms, fmt.Sprintf("uses:%d", l.Uses))
		}
		if l.For > 0 {
			terms = append(terms, "for:"+l.For.String())
		}
		if l.In != "" {
			terms = append(terms, "in:"+l.In)
		}
		again, err := leader.ParseLimit(l.Prompt + "=" + strings.Join(terms, ","))
		if err != nil || again != l {
			t.Fatalf("ParseLimit(%q) = %+v, and written again %+v, %v", text, l, again, err)
		}
	})
}
