package permissions_test

import (
	"os"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// Under a grant nothing runs that does what is another's: publish, delete, load or write from elsewhere. Each line of the
// file has an intent, a class of trick and a command.
func TestTricksUnderEveryGrant(t *testing.T) {
	data, err := os.ReadFile("testdata/tricks_grants.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows, per := 0, map[string]int{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		name, rest, ok := strings.Cut(line, "\t")
		class, command, ok2 := strings.Cut(rest, "\t")
		in, known := intent.Describe(name)
		if !ok || !ok2 || class == "" || !known {
			t.Fatalf("%q: want an intent, a class and a command", line)
		}
		command = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(command)
		s := state(permissions.ModeDefault)
		g := grant(name)
		g.Prompt, g.Intent = "", in.Name
		s.Grants = []permissions.Grant{g}
		if d := decide(command, s); d.Verdict == permissions.Allow {
			t.Errorf("%s: %s: Decide(%q) = allow (%s)", name, class, command, d.Reason)
		}
		rows++
		per[name]++
	}
	if rows < 350 {
		t.Errorf("%d rows, want at least 350", rows)
	}
	for _, in := range intent.All() {
		if per[in.Name] < 20 {
			t.Errorf("%s has %d rows, want at least 20", in.Name, per[in.Name])
		}
		// The grant itself lets what it is for pass: a test in which nothing is ever allowed would prove nothing.
		s := state(permissions.ModeDefault)
		g := grant(in.Name)
		g.Prompt, g.Intent = "", in.Name
		s.Grants = []permissions.Grant{g}
		for _, command := range in.Examples {
			if d := decide(command, s); d.Verdict != permissions.Allow {
				t.Errorf("%s: Decide(%q) = %s (%s), want allow", in.Name, command, d.Verdict, d.Reason)
			}
		}
	}
}

// What starts a program by a name that npm does not find may fetch one of that name: no intent with such programs may
// leave that to npm.
func TestNothingIsFetchedByName(t *testing.T) {
	for _, in := range intent.All() {
		for _, p := range in.Programs {
			for family := range strings.FieldsSeq(p.Via) {
				if family == "node" && in.Set["npm_config_yes"] != "false" {
					t.Errorf("%s starts %s through npx and does not set npm_config_yes to false", in.Name, p.Name)
				}
			}
		}
	}
}

// A file that a granted program obeys asks when it came after the approval, wherever the program looks for it.
func TestFilesThatProgramsObey(t *testing.T) {
	for _, row := range [][3]string{
		{"run tests", "cargo test", ".cargo/config.toml"},
		{"run tests", "mvn test", ".mvn/extensions.xml"},
		{"run tests", "./mvnw test", ".mvn/wrapper/maven-wrapper.properties"},
		{"run tests", "./gradlew test", "gradle/wrapper/gradle-wrapper.properties"},
		{"run tests", "forge test", "foundry.toml"},
		{"run tests", "prove -r t", ".proverc"},
		{"run tests", "npx karma start --single-run", "karma.conf.js"},
		{"start the dev server", "bin/dev", "bin/dev"},
		{"start the dev server", "foreman start", "Procfile"},
		{"start the dev server", "air", ".air.toml"},
		{"migrate the database", "npx knex migrate:latest", "knexfile.js"},
		{"generate code", "sqlc generate", "sqlc.yaml"},
		{"lint", "vendor/bin/php-cs-fixer check", ".php-cs-fixer.dist.php"},
		{"terraform plan", "terragrunt plan", "terragrunt.hcl"},
		{"terraform plan", "npx cdk diff", "cdk.json"},
		{"build", "./configure", "configure"},
		{"build", "npx webpack --config webpack.prod.js", "webpack.prod.js"},
		{"lint", "revive -config revive.toml ./...", "revive.toml"},
		{"run tests", "busted", ".busted"},
		{"install dependencies", "conda env create -f environment.yml", "environment.yml"},
	} {
		s := state(permissions.ModeDefault)
		g := grant(row[0])
		g.Prompt, g.Intent = "", row[0]
		s.Grants = []permissions.Grant{g}
		if d := on(nil, row[1], "/project", s); d.Verdict != permissions.Allow {
			t.Errorf("%s: %s = %s (%s) without %s, want allow", row[0], row[1], d.Verdict, d.Reason, row[2])
		}
		d := on(map[string]string{row[2]: "a"}, row[1], "/project", s)
		if d.Verdict != permissions.Ask || len(d.Changed) != 1 || d.Changed[0].Path != row[2] {
			t.Errorf("%s: %s = %s (%s) with a new %s, want ask for it", row[0], row[1], d.Verdict, d.Reason, row[2])
		}
	}
}
