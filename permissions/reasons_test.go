package permissions_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// What a newcomer is told of a command: by the words that were typed, what is true of it, and what to ask for.
func TestReasonsForNewcomers(t *testing.T) {
	const plan, bypass = permissions.ModePlan, permissions.ModeBypass
	for _, row := range []struct {
		mode    permissions.Mode
		grants  string
		command string
		verdict permissions.Verdict
		want    string
	}{
		// A program is called as it was typed.
		{"", "", "ruff check .", maybe, `no read-only table, grant or rule covers it: ruff is known only with --version: a plan may ask for "lint"`},
		{"", "", "mypy src", maybe, `no read-only table, grant or rule covers it: mypy is known only with --version: a plan may ask for "type-check"`},
		{"", "", "bash -c 'echo hi'", maybe, "no read-only table, grant or rule covers it: flag -c of bash"},
		{"", "", "python -m x", maybe, "no read-only table, grant or rule covers it: flag -m of python"},
		{"", "", "gawk -i inplace 1 x", maybe, "no read-only table, grant or rule covers it: flag -i of gawk"},
		{"", "", "docker-compose up", maybe, `no read-only table, grant or rule covers it: docker-compose up: a plan may ask for "compose up"`},

		// What only reads does so where it does.
		{"", "", "cat go.mod", yes, "it only reads inside the working tree"},
		{"", "", "kubectl get pods", yes, "it only queries, over the network"},
		{"", "", "gh pr view 12", yes, "it only queries, over the network"},
		{"", "", "gh api repos/x/y", yes, "it only queries, over the network"},
		{"", "", "npm view react version", yes, "it only queries, over the network"},
		{"", "", "npm ls", yes, "it only reads inside the working tree"},
		{"", "", "docker ps", yes, "it only queries the Docker daemon"},
		{"", "", "docker --version", yes, "it changes nothing"},
		{"", "", "gh --version", yes, "it changes nothing"},
		{"", "", "sleep 5", yes, "it changes nothing"},
		{"", "", "echo $HOME", yes, "it changes nothing"},
		{"", "", "ps aux", yes, "it only shows the state of this machine"},
		{"", "", "timeout 5 kubectl get pods | head", yes, "it only queries, over the network"},
		{"", "", "cat go.mod && echo done", yes, "it only reads inside the working tree"},
		{"", "", "docker ps && kubectl get pods", yes, "it only queries, over the network"},
		{"", "run tests", "echo begin && go test ./... | tail", yes, "the plan's grant to run tests"},

		// What a plan may ask for.
		{"", "", "go test ./...", maybe, `go test runs a program: no grant or rule covers it: a plan may ask for "run tests"`},
		{"", "", "timeout 60 go test ./...", maybe, `go test runs a program: no grant or rule covers it: a plan may ask for "run tests"`},
		{"", "", "npm run lint", maybe, `npm runs a program: no grant or rule covers it: a plan may ask for "lint"`},
		{"", "", "golangci-lint run", maybe, `golangci-lint runs a program: no grant or rule covers it: a plan may ask for "lint"`},
		{"", "", "git commit -m x", maybe, `git commit changes something: no grant or rule covers it: a plan may ask for "commit"`},
		{"", "", "git push", maybe, `git push uses the network: no grant or rule covers it: a plan may ask for "push"`},
		{"", "", "go build ./...", maybe, `go build runs a program: no grant or rule covers it: a plan may ask for "build"`},
		{"", "", "npm ci", maybe, `npm runs a program: no grant or rule covers it: a plan may ask for "install dependencies"`},
		{"", "run tests", "npm run lint", maybe, `the grant to run tests does not cover it (npm run lint): a plan may ask for "lint"`},
		{"", "run tests", "go test -exec x ./...", maybe, "the grant to run tests does not cover it: flag -exec of go test"},
		{"", "", "go test /etc/...", maybe, "go test runs a program: no grant or rule covers it"},
		{"", "", "frobnicate", maybe, "no read-only table, grant or rule covers it: frobnicate is not a known program"},
		{"", "", "for i in 1 2; do go test ./...; done", maybe, "in a loop or a substitution only what only reads may run: go test runs a program: no grant or rule covers it"},

		// A grant begins with the approval.
		{plan, "run tests", "go test ./...", never, "go runs a program, and plan mode only reads: put it into the plan; a grant begins with the approval"},
		{plan, "lint", "go test ./...", never, "go runs a program, and plan mode only reads: put it into the plan"},
		{plan, "lint", "ruff check .", maybe, "no read-only table, grant or rule covers it: ruff is known only with --version; a grant begins with the approval"},

		// The nearest grant is the one that knows the script.
		{"", "run tests,lint", "npm run lint -- --fix", maybe, "the grant to lint does not cover it: "},
		{"", "lint,run tests", "npm run lint -- --fix", maybe, "the grant to lint does not cover it: "},
		{"", "lint,run tests", "npm test -- --watch", maybe, "the grant to run tests does not cover it: npm test -- --watch needs a value"},

		// What is known of a program is said.
		{"", "", "make", maybe, `make runs a program: no grant or rule covers it: a plan may ask for "build"`},
		{"", "", "curl https://example.com", maybe, "curl uses the network: no grant or rule covers it"},
		{"", "", "npx cowsay", maybe, "npx runs a program: no grant or rule covers it"},
		{"", "", "pnpm x", maybe, "pnpm runs a program: no grant or rule covers it"},
		{"", "", "tee x", maybe, "tee changes something: no grant or rule covers it"},
		{"", "", "rm x", maybe, "rm changes something: no grant or rule covers it"},
		{"", "", "find . -type f -print0 | xargs -0 rm", maybe, "rm changes something: no grant or rule covers it"},
		{bypass, "", "rm -rf /", maybe, "/ holds protected files: a leader must say so"},
		{bypass, "", "rm -rf .", maybe, ". holds protected files: a leader must say so"},
		{bypass, "", "touch x .github/y", maybe, "it may write a protected file (.github/y): a leader must say so"},
	} {
		s := state(permissions.ModeDefault)
		if row.mode != "" {
			s.Mode = row.mode
		}
		for _, name := range strings.Split(row.grants, ",") {
			if name != "" {
				s.Grants = append(s.Grants, grant(name))
			}
		}
		d := decide(row.command, s)
		if d.Verdict != row.verdict || d.Reason != row.want && !(strings.HasSuffix(row.want, ": ") && strings.HasPrefix(d.Reason, row.want)) {
			t.Errorf("%s %q Decide(%s) =\n %s %s\nwant\n %s %s", row.mode, row.grants, row.command, d.Verdict, d.Reason, row.verdict, row.want)
		}
	}
}

// What a reason says to ask for is a prompt, and granting it lets the command pass.
func TestSuggestedPromptsCover(t *testing.T) {
	suggested := 0
	for _, r := range corpus(t) {
		s := r.state(t)
		if s.Mode == permissions.ModePlan || len(s.Rules) > 0 {
			continue
		}
		d := decide(r.Command, s)
		_, name, ok := strings.Cut(d.Reason, `a plan may ask for "`)
		if !ok {
			continue
		}
		suggested++
		name, _, _ = strings.Cut(name, `"`)
		if in, known := intent.Resolve(name); !known || in.Name != name {
			t.Errorf("%s: %q is no prompt for itself", r.ID, name)
		}
		s.Grants = append(s.Grants, grant(name))
		if after := decide(r.Command, s); after.Reason == d.Reason {
			t.Errorf("%s: %s: with a grant for %q still: %s", r.ID, r.Command, name, after.Reason)
		}
	}
	if suggested < 20 {
		t.Errorf("%d suggestions, want at least 20", suggested)
	}
}
