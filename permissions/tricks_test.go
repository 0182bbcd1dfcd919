package permissions_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// tricks reads a file of commands, one a line, with \n and \t for line breaks and tabs.
func tricks(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line))
		}
	}
	return out
}

func decide(command string, s permissions.State) permissions.Decision {
	return permissions.New(lexical).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s)
}

// A grant to run tests lets tests run, and none of some 320 things that look like it.
func TestTricksUnderRunTests(t *testing.T) {
	list := tricks(t, "testdata/run_tests_tricks.txt")
	if len(list) < 300 {
		t.Fatalf("%d tricks, want at least 300", len(list))
	}
	rows := map[string]bool{}
	for _, r := range corpus(t) {
		rows[r.Command] = true
	}
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("run tests")}
	if d := decide("go test ./...", s); d.Verdict != permissions.Allow {
		t.Fatalf("go test ./... = %s (%s), want allow", d.Verdict, d.Reason)
	}
	for _, command := range list {
		if rows[command] {
			t.Errorf("%q stands in the corpus: the tricks are to be others", command)
		}
		if d := decide(command, s); d.Verdict == permissions.Allow {
			t.Errorf("Decide(%q) = allow (%s)", command, d.Reason)
		}
	}
	t.Logf("%d tricks", len(list))

	// Other grants beside it let no more of them pass, but for what is exactly theirs.
	theirs := []string{
		"go vet ./... && go test ./...", "go test ./pkg || git push origin main", "make && go test ./...", "go generate ./... && go test ./...", "if go test ./...; then git push; fi", "npm run test:e2e", "yarn test:e2e",
	}
	s.Grants = nil
	for _, in := range intent.All() {
		s.Grants = append(s.Grants, grant(in.Name))
	}
	for _, command := range list {
		if d := decide(command, s); d.Verdict == permissions.Allow && !slices.Contains(theirs, command) {
			t.Errorf("under every grant Decide(%q) = allow (%s)", command, d.Reason)
		}
	}
}
