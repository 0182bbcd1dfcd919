package permissions_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/schema"
)

// Flags as programs write them that are neither Go's nor GNU's: two dashes beside one, a name behind one dash.
func TestFlagsWithNamesBehindOneDash(t *testing.T) {
	for command, prompt := range map[string]string{
		"mvn --batch-mode --no-transfer-progress test": "run tests", "mvn --threads 4 -B verify": "run tests", "cmake -Wno-dev -S . -B build": "build", "clang-format -i -style=file src/a.cc": "format", "clang-format --style=LLVM -n a.c": "format",
		"shfmt --write --indent 2 scripts": "format", "shfmt -i=2 -d scripts": "format", "benchstat -col /a=b old.txt": "", "benchstat -col size -filter .unit old.txt new.txt": "run benchmarks", "npx vite --open=false": "start the dev server", "git branch -vv": "run tests",
		"mvn --batch-modex test": "", "mvn --batch-mode=x test": "", "cmake -Wno-dev=x -S . -B build": "", "cmake -Wno-devx -S . -B build": "", "clang-format -style=../x a.c": "", "clang-format -styles=file a.c": "", "git branch -vvd x": "", "npx vite --open=http://x": "", "npx vite --open": "",
	} {
		s := state(permissions.ModeDefault)
		for _, p := range []string{"run tests", "build", "format", "run benchmarks", "start the dev server"} {
			if prompt == "" || prompt == p {
				s.Grants = append(s.Grants, grant(p))
			}
		}
		want := yes
		if prompt == "" {
			want = maybe
		}
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// What a program says of a flag holds against the part that it is made with, however they group the spellings.
func TestOwnFlagsHoldAgainstParts(t *testing.T) {
	for range 20 { // once in a while another order of a map would show
		table, err := schema.Read([]byte(`[{"name": "a", "with": "cargo", "operands": "word*", "flags": {"-j --threads": "", "--bin --lib": "int"}}]`))
		if err != nil {
			t.Fatal(err)
		}
		var a asked
		for command, want := range map[string]byte{"a -j": 'v', "a -j=1": '.', "a --jobs 1": 'v', "a --bin 1": 'v', "a --bin x": '.', "a --lib 2": 'v', "a --bins": 'v'} {
			if a.start(strings.Fields(command)); a.verdict(table) != want {
				t.Fatalf("%s is not %c", command, want)
			}
		}
	}
	if _, err := schema.Read([]byte(`[{"name": "a", "flags": {"-j --jobs": "", "-j": "int"}}]`)); err == nil || !strings.Contains(err.Error(), "a has -j twice") {
		t.Errorf("a flag with two kinds: %v, want an error", err)
	}
}
