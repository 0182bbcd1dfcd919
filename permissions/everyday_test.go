package permissions_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// Commands that people and agents type every day, written down before the tables knew them: what reads, and what projects run
// under the grants that people give. The share of the rows labelled allow that is allowed only grows; of the others none is.
//
// The rows from read-1299 and every-1899 on were written before the tables were looked at, from what agents and projects' CI
// files type: at first 322 of 338 reads and 500 of 531 commands under grants were allowed, and of some 2000 near misses five
// were, all of them terraform fmt -check=false under a grant that only looks.
// Rows are text: no row runs.
func TestEverydayCommands(t *testing.T) {
	for _, set := range []struct {
		file          string
		share         int // in permille
		allow, others int // rows, at least
	}{
		{"testdata/everyday_reads.jsonl", 950, 1000, 1100},
		{"testdata/everyday_grants.jsonl", 975, 1600, 2000},
	} {
		t.Run(set.file, func(t *testing.T) {
			want, got, others := score(t, set.file)
			if want < set.allow || others < set.others {
				t.Fatalf("%d rows to allow and %d others: rows are missing", want, others)
			}
			t.Logf("%d of %d allowed (%.1f %%), %d others asked or denied", got, want, 100*float64(got)/float64(want), others)
			if 1000*got < set.share*want {
				t.Errorf("%d of %d allowed, want at least %d of 1000", got, want, set.share)
			}
		})
	}
}

// score judges the rows of a file. A row that is allowed and must not be is an error.
func score(t *testing.T, file string) (want, got, others int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	engine := permissions.New(lexical)
	seen := map[string]bool{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("row %d: %v", len(seen)+1, err)
		}
		if r.ID == "" || seen[r.ID] {
			t.Errorf("%q: its id is there twice", r.ID)
		}
		seen[r.ID] = true
		if len(r.Rules) > 0 && strings.HasPrefix(r.Rules[0], "[[rule]]") {
			continue // policyfile reads these; swarm check scores them
		}
		d := engine.Decide(permissions.Call{Tool: "Bash", Command: r.Command, Cwd: "/project"}, r.state(t))
		switch {
		case r.Expect == "allow":
			want++
			if d.Verdict == permissions.Allow {
				got++
			} else if testing.Verbose() {
				t.Logf("%s: %q %q asks: %s", r.ID, r.Grants, r.Command, d.Reason)
			}
		case d.Verdict == permissions.Allow:
			t.Errorf("%s: under %q Decide(%q) = allow, want %s", r.ID, r.Grants, r.Command, r.Expect)
		case r.Expect == "deny" && d.Verdict != permissions.Deny:
			t.Errorf("%s: Decide(%q) = %s (%s), want deny", r.ID, r.Command, d.Verdict, d.Reason)
		default:
			others++
		}
	}
	return want, got, others
}

// A file whose name looks like a flag must not become one because a pattern matches it.
func TestPatternsMatchNoFlags(t *testing.T) {
	engine := permissions.New(permissions.Config{Resolver: disk{
		globs: map[string][]string{"/project/*": {"/project/-R", "/project/a"}, "/project/*.go": {"/project/a.go"}, "/project/*/x": {"/project/-f/x"}, "/project/./*": {"/project/-R"}},
		git:   permissions.GitInfo{Repository: true},
	}})
	for command, want := range map[string]permissions.Verdict{
		"grep -n x *": maybe, "wc -l *": maybe, "cat */x": maybe, "grep x *.go": yes, "wc -l *.go": yes, "du -sh *": maybe, "sort *.go": maybe, "file *": maybe, "file *.go": yes,
	} {
		if d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, state(permissions.ModePlan)); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// A reason names what is not known, as it was written.
func TestReasonsNameWhatIsUnknown(t *testing.T) {
	for command, want := range map[string]string{
		"git log --show-signature -1": "no read-only table, grant or rule covers it: flag --show-signature of git log",
		"gh pr comment 12":            "no read-only table, grant or rule covers it: gh pr comment",
		"sed 's/a/b/w x' y":           "no read-only table, grant or rule covers it: 's/a/b/w x' of sed is not a script that only prints",
		"cat $f":                      "it uses an expansion $f: write plain commands, joined by && ; | or ||",
		"ls $(cat x)":                 "it uses a command substitution $(cat x): write plain commands, joined by && ; | or ||",
		"while true; do ls; done":     "it uses a compound command while: write plain commands, joined by && ; | or ||",
		"cat <<E\nx\nE":               "a here-document or here-string in which something may be expanded: quote its end, as in <<'EOF', and have one in a line",
	} {
		if d := decide(command, state(permissions.ModePlan)); d.Reason != want {
			t.Errorf("Decide(%q) = %s, want %s", command, d.Reason, want)
		}
	}
}
