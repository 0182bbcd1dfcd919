package audit_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

type fataler interface {
	Helper()
	Fatal(...any)
}

// chain is an honest ledger of n entries, and the charter that it belongs to.
func chain(t fataler, n int) (charter.Charter, nkeys.KeyPair, []audit.Line, []audit.Head) {
	t.Helper()
	kp, pub := mailboxtest.UserKey(t)
	c := charter.Charter{TeamID: "id of the team", Team: "shop", Members: []charter.Member{{Name: "policy", Role: charter.RoleLeader, Kind: charter.KindPolicy, Key: pub}}}
	var lines []audit.Line
	var heads []audit.Head
	var head audit.Head
	for i := range uint64(n) {
		e := audit.Entry{
			TeamID: c.TeamID, Event: audit.EventMail, At: time.Unix(int64(i), 0), Recorded: map[string]uint64{"MB_shop": i + 1},
			Source: &audit.Source{Stream: "MB_shop", Seq: i + 1, Subject: "swarm.shop.mb.lead.api.message", Digest: audit.Digest([]byte{byte(i)})},
		}
		l, h, err := audit.Sign(kp, head, e)
		if err != nil {
			t.Fatal(err)
		}
		head, lines, heads = h, append(lines, l), append(heads, h)
	}
	return c, kp, lines, heads
}

func problems(c charter.Charter, lines []audit.Line, heads ...audit.Head) []audit.Problem {
	v := audit.NewVerifier(c)
	for _, l := range lines {
		v.Add(l)
	}
	for _, h := range heads {
		v.Expect(h, "api")
	}
	return v.Problems()
}

func TestAnHonestChainHasNoProblems(t *testing.T) {
	c, _, lines, heads := chain(t, 5)
	if p := problems(c, lines, heads...); len(p) > 0 {
		t.Errorf("problems = %v", p)
	}
	if p := problems(c, nil, audit.Head{}); len(p) > 0 {
		t.Errorf("problems of no ledger = %v", p)
	}
}

func TestAttackOnTheChain(t *testing.T) {
	c, kp, lines, heads := chain(t, 8)
	other, _ := mailboxtest.UserKey(t)
	again := func(key nkeys.KeyPair, i int, change func(*audit.Entry)) []audit.Line {
		e, err := audit.Read(lines[i].Entry)
		if err != nil {
			t.Fatal(err)
		}
		change(&e)
		after := audit.Head{Seq: e.Seq - 1, Hash: e.Prev}
		l, _, err := audit.Sign(key, after, e)
		if err != nil {
			t.Fatal(err)
		}
		out := slices.Clone(lines)
		out[i] = l
		return out
	}
	for name, row := range map[string]struct {
		lines []audit.Line
		heads []audit.Head
		want  string
	}{
		"the last three are cut off":      {lines[:5], heads[7:], "entries 6 to 8 are missing: entry 8 is known from api"},
		"one in the middle is missing":    {slices.Delete(slices.Clone(lines), 3, 4), nil, "entry 4 is missing"},
		"two in the middle are missing":   {slices.Delete(slices.Clone(lines), 3, 5), nil, "entries 4 to 5 are missing"},
		"the first is missing":            {lines[1:], nil, "entry 1 is missing"},
		"one is signed by somebody else":  {again(other, 3, func(*audit.Entry) {}), nil, "which is not the key of the team's policy"},
		"the writer rewrites one":         {again(kp, 3, func(e *audit.Entry) { e.Source.Digest = "other" }), nil, "entry 5: the entry before it was changed"},
		"the writer rewrites the last":    {again(kp, 7, func(e *audit.Entry) { e.Source.Digest = "other" }), heads[7:], "entry 8: it was changed: it is known from api with another hash"},
		"one is of another team":          {again(kp, 7, func(e *audit.Entry) { e.TeamID = "another team's" }), nil, "it is of another team"},
		"one comes twice":                 {slices.Insert(slices.Clone(lines), 3, lines[2]), nil, "entry 3: it comes after entry 3"},
		"two have changed places":         {append(slices.Clone(lines[:6]), lines[7], lines[6]), nil, "entry 7 is missing"},
		"a stream's numbers went back":    {again(kp, 7, func(e *audit.Entry) { e.Recorded["MB_shop"], e.Source.Seq = 2, 2 }), nil, "it has recorded MB_shop up to 2, and the entry before up to 7"},
		"it is about what it has not":     {again(kp, 7, func(e *audit.Entry) { e.Source.Seq = 9 }), nil, "it is about number 9 of MB_shop, and has recorded up to 8"},
		"a loss is told":                  {again(kp, 7, func(e *audit.Entry) { e.Event, e.Note = audit.EventLost, "MB_shop lost all" }), nil, "entry 8: MB_shop lost all"},
		"a line is no entry":              {append(slices.Clone(lines), audit.Line{Entry: []byte("{"), Sig: lines[0].Sig}), nil, "entry 9: "},
		"a signature is another entry's":  {append(slices.Clone(lines[:7]), audit.Line{Entry: lines[7].Entry, Sig: lines[6].Sig}), nil, "entry 8: "},
		"a member's head is of a new one": {lines, []audit.Head{{Seq: 3, Hash: "made up"}}, "entry 3: it was changed"},
	} {
		got := problems(c, row.lines, row.heads...)
		if !slices.ContainsFunc(got, func(p audit.Problem) bool { return strings.Contains(p.String(), row.want) }) {
			t.Errorf("%s: problems = %v, want %q", name, got, row.want)
			continue
		}
		mailboxtest.Refused(t, "the ledger: "+name, "broker's operator", mailboxtest.ByVerify, got[0].String())
	}
}

// Whatever byte of a ledger is changed, verifying finds it.
func TestAttackAnyByte(t *testing.T) {
	c, _, lines, heads := chain(t, 4)
	rapid.Check(t, func(t *rapid.T) {
		changed := make([]audit.Line, len(lines))
		for i, l := range lines {
			changed[i] = audit.Line{Entry: bytes.Clone(l.Entry), Sig: l.Sig}
		}
		l := &changed[rapid.IntRange(0, len(lines)-1).Draw(t, "line")]
		if rapid.Bool().Draw(t, "signature") {
			b := []byte(l.Sig)
			b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
			l.Sig = string(b)
		} else {
			l.Entry[rapid.IntRange(0, len(l.Entry)-1).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		}
		if len(problems(c, changed, heads[len(heads)-1])) == 0 {
			t.Fatal("nothing is found")
		}
	})
	mailboxtest.Refused(t, "the ledger: any byte is changed", "broker's operator", mailboxtest.ByVerify, "whatever byte of whatever entry or signature")
}

func TestProblemsAreBounded(t *testing.T) {
	c, _, lines, _ := chain(t, 1)
	var many []audit.Line
	for range 500 {
		many = append(many, lines[0])
	}
	if p := problems(c, many); len(p) != 101 || !strings.Contains(p[100].What, "399 problems more") {
		t.Errorf("%d problems, the last %v", len(p), p[len(p)-1])
	}
}

func FuzzRead(f *testing.F) {
	_, _, lines, _ := chain(f, 2)
	f.Add(lines[1].Entry, lines[1].Sig)
	f.Fuzz(func(t *testing.T, entry []byte, sig string) {
		e, err := audit.Read(entry)
		if err == nil {
			if _, err := json.Marshal(e); err != nil {
				t.Fatal(err)
			}
		}
		audit.Open(audit.Line{Entry: entry, Sig: sig})
		audit.NewVerifier(charter.Charter{}).Add(audit.Line{Entry: entry, Sig: sig})
	})
}
