package permissions_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// row is one labelled line of the corpus. Rows are text: nothing here runs one.
type row struct {
	ID      string           `json:"id"`
	Command string           `json:"command"`
	Grants  []string         `json:"grants"`
	Rules   []string         `json:"rules"`
	Mode    permissions.Mode `json:"mode"`
	Expect  string           `json:"expect"`
	Kind    string           `json:"kind"`
}

// lexical consults nothing: as the scores are to be the same on every machine.
var lexical = permissions.Config{Resolver: permissions.Lexical()}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// state is a teammate in /project, whose home is /home/user.
func state(mode permissions.Mode) permissions.State {
	return permissions.State{
		Mode: mode, Tree: "/project", Home: "/home/user", Now: now,
		PlanFile:  "/home/user/.local/state/swarm/t/teammates/a/work/hero.md",
		Forbidden: []string{"/home/user/.local/state/swarm", "/home/user/.config/swarm"},
	}
}

// grant is what a leader gave for a prompt: a live grant for the whole tree, when the words are known.
func grant(prompt string) permissions.Grant {
	p := permissions.ResolvePrompt("Bash", prompt)
	return permissions.Grant{
		GrantTerms: permissions.GrantTerms{Prompt: prompt, Intent: p.Intent, Tree: ".", ExpiresAt: now.Add(time.Hour)},
		ID:         "r/" + prompt, Root: "/project",
	}
}

// rule reads Bash(x:*) and deny:Bash(x:*). Others (Gemini's TOML) are for the loader of such files.
func rule(t testing.TB, s string) (permissions.Rule, bool) {
	t.Helper()
	r := permissions.Rule{Verdict: permissions.Allow, Tool: "Bash"}
	if rest, ok := strings.CutPrefix(s, "deny:"); ok {
		r.Verdict, s = permissions.Deny, rest
	}
	spec, ok := strings.CutPrefix(s, "Bash(")
	if !ok {
		return r, false
	}
	spec, r.Prefix = strings.CutSuffix(strings.TrimSuffix(spec, ")"), ":*")
	r.Argv = strings.Fields(spec)
	return r, true
}

func (r row) state(t testing.TB) permissions.State {
	s := state(r.Mode)
	for _, g := range r.Grants {
		s.Grants = append(s.Grants, grant(g))
	}
	for _, text := range r.Rules {
		if rule, ok := rule(t, text); ok {
			s.Rules = append(s.Rules, rule)
		}
	}
	return s
}

func corpus(t testing.TB) []row {
	t.Helper()
	f, err := os.Open("testdata/bash_permissions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("row %d: %v", len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	return rows
}

// No row that is not labelled allow may be allowed, and a deny rule always denies. The share of allowed rows is printed:
// it grows with the tables.
func TestCorpusHasNoFalseAllow(t *testing.T) {
	engine := permissions.New(lexical)
	type score struct{ want, got int }
	scores := map[string]score{}
	rows := corpus(t)
	if len(rows) != 562 {
		t.Fatalf("%d rows, want 562", len(rows))
	}
	for _, r := range rows {
		d := engine.Decide(permissions.Call{Tool: "Bash", Command: r.Command, Cwd: "/project"}, r.state(t))
		if d.Reason == "" {
			t.Errorf("%s: no reason", r.ID)
		}
		switch {
		case r.Expect == "allow":
			s := scores[r.Kind]
			s.want++
			if d.Verdict == permissions.Allow {
				s.got++
			}
			scores[r.Kind] = s
		case d.Verdict == permissions.Allow:
			t.Errorf("%s: Decide(%q) = allow, want %s", r.ID, r.Command, r.Expect)
		case r.Expect == "deny" && d.Verdict != permissions.Deny:
			t.Errorf("%s: Decide(%q) = %s (%s), want deny", r.ID, r.Command, d.Verdict, d.Reason)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(scores)) {
		s := scores[kind]
		t.Logf("%-10s %3d of %3d allowed (%.0f %%)", kind, s.got, s.want, 100*float64(s.got)/float64(s.want))
	}
}
