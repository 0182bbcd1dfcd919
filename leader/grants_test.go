package leader_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// reports is what a teammate says about its grants.
func reports(t testing.TB, name string, live bool, s planmode.Status) natsbox.Presence {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return natsbox.Presence{Name: name, Live: live, Status: text}
}

func grant(request byte, n, prompt, tree string, uses, most int, ends time.Duration, by string) permissions.Grant {
	id := fixedID(request)
	return permissions.Grant{
		GrantTerms: permissions.GrantTerms{Prompt: prompt, Intent: prompt, Tree: tree, MaxUses: most, ExpiresAt: noon.Add(ends)},
		ID:         id + "/" + n, RequestID: id, PlanID: "p1", Digest: strings.Repeat("9f1c", 16), GrantedBy: by, Uses: uses,
	}
}

// board is UX.md's picture, with what its teammates could write into it.
func board(t testing.TB) []natsbox.Presence {
	t.Helper()
	exact := grant(5, "1", "go build -o bin/x .", ".", 1, 0, 26*time.Hour, "mia")
	exact.Intent, exact.Argv = "", []string{"go", "build", "-o", "bin/x\x1b[2J", "."}
	evil := grant(9, "1", "run tests\x1b]0;owned\x07", "a\u202eb/\tc\n", 0, 10, time.Minute, "mia\x1b[31m")
	evil.Teammate = "api" // it says so
	return []natsbox.Presence{
		reports(t, "web", false, planmode.Status{
			Grants: []permissions.Grant{grant(3, "1", "lint", "web", 1, 5, 22*time.Minute, "tom"), evil},
			Ended:  []planmode.EndedGrant{{Grant: grant(4, "2", "run tests", ".", 0, 10, time.Hour, "mia"), EndedBy: "revoked", EndedAt: noon.Add(-48 * time.Minute)}},
		}),
		reports(t, "api", true, planmode.Status{
			Grants: []permissions.Grant{
				grant(1, "2", "vet", "invoice", 0, 10, 101*time.Minute, "mia"), grant(1, "1", "run tests", "invoice", 3, 10, 101*time.Minute, "mia"), exact,
				grant(6, "1", "format", ".", 2, 10, -time.Minute, "mia"), // over by the clock
				grant(7, "1", "build", ".", 5, 5, time.Hour, "mia"),      // used up
			},
			Ended: []planmode.EndedGrant{{Grant: grant(2, "1", "run tests", ".", 10, 10, time.Hour, "mia"), EndedBy: "completed\nand more", EndedAt: noon.Add(-20 * time.Minute)}},
		}),
		{Name: "db", Status: json.RawMessage(`{"grants":"none"}`)},
		{Name: "ci"},
	}
}

func TestGrantsText(t *testing.T) {
	for name, all := range map[string]bool{"grants": false, "grants-all": true} {
		rows := leader.Grants(board(t), all, noon)
		var table, tabs, doc bytes.Buffer
		if err := errors.Join(leader.WriteGrants(&table, rows, noon), leader.WriteGrantsTSV(&tabs, rows), leader.WriteJSON(&doc, leader.NewGrantsDoc(rows))); err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Duration{-48 * time.Minute, -20 * time.Minute, -time.Minute} { // times of day are those of the machine
			text := strings.ReplaceAll(table.String(), noon.Add(at).Local().Format("15:04"), noon.Add(at).Format("15:04"))
			table.Reset()
			table.WriteString(text)
		}
		golden(t, name+".txt", table.String())
		golden(t, name+".tsv", tabs.String())
		if all {
			var indented bytes.Buffer
			if err := json.Indent(&indented, doc.Bytes(), "", "  "); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", indented.String())
		}
		for l := range strings.Lines(table.String()) {
			if w := plans.Width(strings.TrimSuffix(l, "\n")); w > 80 {
				t.Errorf("a line has %d cells: %s", w, l)
			}
		}
		for _, text := range []string{table.String(), tabs.String()} {
			if strings.ContainsAny(text, "\x1b\x07\u202e") {
				t.Errorf("the board obeys a teammate:\n%q", text)
			}
		}
		for l := range strings.Lines(tabs.String()) {
			if n := strings.Count(l, "\t"); n != 10 {
				t.Errorf("a line has %d tabs: %q", n, l)
			}
		}
	}
	var b bytes.Buffer
	if err := errors.Join(leader.WriteGrants(&b, nil, noon), leader.WriteGrantsTSV(&b, nil)); err != nil || b.Len() > 0 {
		t.Errorf("no grants: %q, %v", b.String(), err)
	}
	if err := leader.WriteJSON(&b, leader.NewGrantsDoc(nil)); err != nil || b.String() != "{\"grants\":[]}\n" {
		t.Errorf("no grants as JSON: %q, %v", b.String(), err)
	}
}

// Whose a grant is, is who told of it; what has run out is not in force, whatever its teammate says.
func TestGrantsAreThoseOfTheirTeammate(t *testing.T) {
	rows := leader.Grants(board(t), true, noon)
	state := map[string]string{}
	for _, g := range rows {
		state[g.Teammate+" "+g.Prompt] = g.State + " " + g.EndedBy
		if g.Teammate != "api" && g.Teammate != "web" || g.Gone != (g.Teammate == "web") {
			t.Errorf("grant %s is %s's, gone %t", g.ID, g.Teammate, g.Gone)
		}
	}
	if state["web run tests\x1b]0;owned\x07"] != "active " || state["api format"] != "ended expired" || state["api build"] != "ended exhausted" {
		t.Errorf("states: %v", state)
	}
	active := leader.Grants(board(t), false, noon)
	if len(active) != 5 || slices.ContainsFunc(active, func(g leader.GrantRow) bool { return g.State != leader.GrantActive }) {
		t.Errorf("in force: %+v", active)
	}
}

func TestFindGrant(t *testing.T) {
	rows := leader.Grants(board(t), true, noon)
	handle := func(from string, request byte, n string) string {
		return mailbox.Handle(from, fixedID(request), 4) + "/" + n
	}
	for _, c := range []struct {
		name, want string // what is found: handles
		err, says  string
	}{
		{name: fixedID(1) + "/2", want: handle("api", 1, "2")},
		{name: handle("api", 1, "1"), want: handle("api", 1, "1")},
		{name: " " + strings.ToUpper(handle("api", 1, "1")), want: handle("api", 1, "1")},
		{name: "api", want: handle("api", 1, "1") + " " + handle("api", 1, "2") + " " + handle("api", 5, "1")},
		{name: "API", want: handle("api", 1, "1") + " " + handle("api", 1, "2") + " " + handle("api", 5, "1")},
		{name: handle("api", 2, "1"), err: leader.NameGrantEnded, says: `has ended (completed<0A>and more): there is nothing to revoke; swarm grants --all`},
		{name: fixedID(4) + "/2", err: leader.NameGrantEnded, says: "has ended (revoked)"},
		{name: handle("api", 1, "9"), err: leader.NameUnknownGrant, says: "did you mean " + handle("api", 1, "1")},
		{name: "apu", err: leader.NameUnknownGrant, says: "did you mean api"},
		{name: "nobody-in-sight", err: leader.NameUnknownGrant, says: `no grant in force is "nobody-in-sight": swarm grants lists all`},
		{name: "", err: leader.NameUnknownGrant, says: `no grant in force is ""`},
		{name: "x\x1b[2J", err: leader.NameUnknownGrant, says: `"x<1B>[2J"`},
	} {
		found, err := leader.FindGrant(rows, c.name)
		if c.err != "" {
			var e *leader.Error
			if !errors.As(err, &e) || e.Code != 15 || e.Name != c.err || !strings.Contains(err.Error(), c.says) {
				t.Errorf("FindGrant(%q) = %v, want 15 %s with %q", c.name, err, c.err, c.says)
			}
			continue
		}
		var got []string
		for _, g := range found {
			got = append(got, g.Handle)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("FindGrant(%q) = %v, %v; want %s", c.name, got, err, c.want)
		}
	}
	over := []natsbox.Presence{reports(t, "api", true, planmode.Status{Ended: []planmode.EndedGrant{{Grant: grant(2, "1", "run tests", ".", 0, 1, time.Hour, "mia"), EndedBy: "revoked", EndedAt: noon}}})}
	if _, err := leader.FindGrant(leader.Grants(over, true, noon), "api"); !leader.IsError(err, leader.NameGrantEnded) || !strings.Contains(err.Error(), `"api" has no grant in force; its last one ended (revoked)`) {
		t.Errorf("a teammate without grants: %v", err)
	}
}

// Whatever a teammate says, its board can be drawn, nothing in it moves the cursor, and a grant's handle finds that grant.
func TestAnyGrantCanBeShownAndFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "run tests", "\x1b[2J", "a\tb\nc", "\u202e"}))
		var grants []permissions.Grant
		for i := range rapid.IntRange(0, 6).Draw(rt, "n") {
			g := grant(byte(i), "1", text.Draw(rt, "prompt"), text.Draw(rt, "tree"), rapid.IntRange(-1, 20).Draw(rt, "uses"), rapid.IntRange(-1, 20).Draw(rt, "max"),
				time.Duration(rapid.Int64Range(-1<<50, 1<<60).Draw(rt, "ends")), text.Draw(rt, "by"))
			if rapid.Bool().Draw(rt, "odd id") {
				g.ID = fmt.Sprint(i, "/", text.Draw(rt, "id"))
			}
			g.Argv = rapid.SliceOfN(text, 0, 3).Draw(rt, "argv")
			grants = append(grants, g)
		}
		rows := leader.Grants([]natsbox.Presence{reports(t, "api", true, planmode.Status{Grants: grants})}, true, noon)
		if len(rows) != len(grants) {
			rt.Fatalf("%d rows of %d grants", len(rows), len(grants))
		}
		var table, tabs bytes.Buffer
		if err := errors.Join(leader.WriteGrants(&table, rows, noon), leader.WriteGrantsTSV(&tabs, rows)); err != nil {
			rt.Fatal(err)
		}
		hidden := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }
		if strings.ContainsFunc(table.String()+tabs.String(), hidden) || strings.Contains(table.String(), "\t") || strings.Count(tabs.String(), "\n") != len(rows) || strings.Count(tabs.String(), "\t") != 10*len(rows) {
			rt.Fatalf("the board is\n%q\n%q", table.String(), tabs.String())
		}
		for l := range strings.Lines(table.String()) {
			if w := plans.Width(strings.TrimSuffix(l, "\n")); w > 80 {
				rt.Fatalf("a line has %d cells: %q", w, l)
			}
		}
		for _, g := range rows {
			found, err := leader.FindGrant(rows, g.Handle)
			if g.State == leader.GrantActive && (err != nil || len(found) != 1 || found[0].ID != g.ID) {
				rt.Fatalf("FindGrant(%s) = %+v, %v", g.Handle, found, err)
			}
		}
	})
}
