package permissions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// overlaps are the intents that cover an example of another, too: what vets, checks or cleans on its way.
var overlaps = map[string][]string{
	"run tests": {"measure coverage", "run integration tests"}, "run integration tests": {"run tests", "measure coverage"}, "vet": {"lint", "type-check"}, "lint": {"vet", "type-check"}, "type-check": {"lint", "build"}, "build": {"type-check"}, "clean": {"run tests", "run integration tests", "measure coverage", "build"},
	"run benchmarks": {"run tests", "run integration tests"}, "measure coverage": {"run tests", "run integration tests"}, "read the cluster": {"view the repository"}, "terraform plan": {"lint"},
}

// Examples are what the leader is shown: each is covered by a grant for its own intent, and by no other's but those that
// overlap it, unless it only reads.
func TestExamplesAreCovered(t *testing.T) {
	for _, in := range intent.All() {
		for _, example := range in.Examples {
			reads := decide(example, state(permissions.ModeDefault)).Verdict == yes
			for _, other := range intent.All() {
				s := state(permissions.ModeDefault)
				s.Grants = []permissions.Grant{grant(other.Name)}
				own := other.Name == in.Name
				if slices.Contains(overlaps[in.Name], other.Name) {
					continue
				}
				if d := decide(example, s); (d.Verdict == yes) != (own || reads) {
					t.Errorf("a grant to %s: example %q of %s = %s (%s), want allow %t", other.Name, example, in.Name, d.Verdict, d.Reason, own)
				}
			}
		}
	}
}

func TestIntentsStayInTheTree(t *testing.T) {
	for command, want := range map[string]permissions.Verdict{
		"go build ./... 2>&1 | tail -5": yes, "go build ../x": maybe, "go build /etc": maybe, "go build ./.github/tool": maybe, "go build ./cmd/CLAUDE.md": maybe, "go build AGENTS.md.go": maybe, "cd .git/hooks && go build ../../cmd/pre-commit": maybe,
		"go build ./... > out": maybe, "CC=./x go build": maybe, "GOFLAGS=-toolexec=x go build": maybe, "cd /tmp && go build": maybe, "go build && ./app": maybe, "timeout 60 go build ./cmd/a": yes, "GOOS=linux go build": yes,
		"gofmt -w .": yes, "gofmt -w ../x.go": maybe, "gofmt -w /etc/x.go": maybe, "gofmt -w ~/x.go": maybe, "gofmt -l -w a.go && git add a.go": yes, "gofmt -l -w a.go && git add -f a.go": maybe, "gofmt -w .git/x.go": maybe, "gofmt -w .github/x.go": maybe, "gofmt -d .env": maybe,
		"gofmt -l . | xargs gofmt -w": maybe, "gofmt -w $(git ls-files)": maybe, "gofmt a.go > b.go": maybe, "go vet ./...": yes, "go vet ../x": maybe, "go vet ./... || golangci-lint run --fix": maybe,
		"golangci-lint run ./... 2>&1 | tee log": maybe, "golangci-lint run ../...": maybe, "cd api && staticcheck ./...": yes, "staticcheck ./... | sh": maybe,
	} {
		s := state(permissions.ModeDefault)
		for _, in := range intent.All() {
			s.Grants = append(s.Grants, grant(in.Name))
		}
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
	// By its directory alone a build would leave a program among the hooks.
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("build")}
	if d := permissions.New(lexical).Decide(permissions.Call{Tool: "Bash", Command: "go build ../../cmd/pre-commit", Cwd: "/project/.git/hooks"}, s); d.Verdict != maybe {
		t.Errorf("a build among the hooks = %s (%s)", d.Verdict, d.Reason)
	}
}

// Go asks no version control system under the intents that would start it, whatever else is in the line.
func TestIntentsSetTheirVariables(t *testing.T) {
	s := state(permissions.ModeDefault)
	for _, in := range intent.All() {
		s.Grants = append(s.Grants, grant(in.Name))
	}
	s.Rules = []permissions.Rule{bashRule(permissions.Allow, "make:*")}
	for command, want := range map[string]bool{
		"go build ./...": true, "go test ./... && go build": true, "make all && go build": true, "golangci-lint run": true, "go vet": true, "go test ./...": false, "make other": false, "make all": true, "ls": false,
	} {
		d := decide(command, s)
		if d.Contract == nil || slices.Contains(d.Contract.Env, "GOFLAGS=-buildvcs=false") != want {
			t.Errorf("%s: %s, contract %+v; want GOFLAGS %t", command, d.Verdict, d.Contract, want)
		}
	}
}

// Why a command is not covered is told of the grant that is closest to it.
func TestReasonsOfWhatIsNotCovered(t *testing.T) {
	for _, row := range []struct{ grants, command, want string }{
		{"run tests", "go test -exec x ./...", "the grant to run tests does not cover it: flag -exec of go test"},
		{"run tests", "go build ./...", `the grant to run tests does not cover it (go build): a plan may ask for "build"`},
		{"run tests,build", "go test -exec x ./...", "the grant to run tests does not cover it: flag -exec of go test"},
		{"build,run tests", "go test -exec x ./...", "the grant to run tests does not cover it: flag -exec of go test"},
		{"run tests,build,vet", "go build -o x", "the grant to build does not cover it: x of go build is not a file that it may write"},
		{"run tests", "make deploy", "the grant to run tests does not cover it: deploy of make is not one of test, tests, check, unit, unit-test, unit-tests, test-unit, test-all and more"},
		{"run tests", "make", `the grant to run tests does not cover it (make without one of test, tests, check, unit, unit-test, unit-tests, test-unit, test-all and more): a plan may ask for "build"`},
		{"run tests", "npm run deploy", "the grant to run tests does not cover it: npm run deploy"},
		{"run tests", "frobnicate", "no read-only table, grant or rule covers it: frobnicate is not a known program"},
		{"build", "npm install", `the grant to build does not cover it (npm install): a plan may ask for "install dependencies"`},
		{"build", "git branch x", `no read-only table, grant or rule covers it: operand x of git branch without --list or --contains or --no-contains or --merged or --no-merged or --points-at: a plan may ask for "branch"`},
		{"format", "gofmt -r x .", "the grant to format does not cover it: flag -r of gofmt"},
	} {
		s := state(permissions.ModeDefault)
		for name := range strings.SplitSeq(row.grants, ",") {
			s.Grants = append(s.Grants, grant(name))
		}
		if d := decide(row.command, s); d.Verdict != maybe || d.Reason != row.want {
			t.Errorf("%s: Decide(%q) = %s (%s), want %s", row.grants, row.command, d.Verdict, d.Reason, row.want)
		}
	}
}
