package permissions_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
)

// readTricks reads the rows of tricks_reads.txt as Go's quoted strings are read, but for the quotes: class and command.
func readTricks(t *testing.T) [][2]string {
	t.Helper()
	data, err := os.ReadFile("testdata/tricks_reads.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out [][2]string
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		class, text, _ := strings.Cut(line, " ")
		command, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, [2]string{class, command})
	}
	return out
}

// Plan mode allows nothing that writes, runs another program, reaches a network of somebody's choice, or reads outside the
// tree, credentials or swarm's state.
func TestTricksOfReaders(t *testing.T) {
	rows, classes := readTricks(t), map[string]int{}
	if len(rows) < 800 {
		t.Errorf("%d tricks, want at least 800", len(rows))
	}
	for _, r := range rows {
		classes[r[0]]++
		for _, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeDontAsk} {
			if d := decide(r[1], state(mode)); d.Verdict == permissions.Allow {
				t.Errorf("%s: %s: Decide(%q) = allow (%s)", mode, r[0], r[1], d.Reason)
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("%-7s %d", c, classes[c])
	}
}

// Files of the tree that make a program which only answers ask somebody else, or start what they name.
func TestReadersObeyNothingOfTheTree(t *testing.T) {
	for command, files := range map[string]string{
		"npm view x": ".npmrc", "npm info x version": ".npmrc", "npm outdated": ".npmrc", "rustup show": "rust-toolchain.toml rust-toolchain",
		"rustup component list --installed": "rust-toolchain", "uv pip list": ".venv pyproject.toml uv.toml .python-version", "docker-compose ps": ".env", "cargo tree": "rust-toolchain .cargo/config", "terraform state list": ".terraform/terraform.tfstate", "tofu workspace list": ".terraform/terraform.tfstate",
	} {
		engine := func(file string) *permissions.Engine {
			return permissions.New(permissions.Config{Resolver: disk{git: permissions.GitInfo{Repository: true}, digests: map[string]string{"/project/" + file: "a"}}})
		}
		call := permissions.Call{Tool: "Bash", Command: command, Cwd: "/project/sub"}
		if d := engine("none").Decide(call, state(permissions.ModePlan)); d.Verdict != yes {
			t.Errorf("Decide(%s) = %s (%s), want allow", command, d.Verdict, d.Reason)
		}
		for file := range strings.FieldsSeq(files) {
			if d := engine(file).Decide(call, state(permissions.ModePlan)); d.Verdict != maybe {
				t.Errorf("beside %s: Decide(%s) = %s (%s), want ask", file, command, d.Verdict, d.Reason)
			}
		}
	}
}

// How many bytes a ? stands for depends on the locale: bash without one takes each byte of a name for a character.
func TestGlobsOfAnyLocale(t *testing.T) {
	tree := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(tree, "a\u00e9")); err != nil {
		t.Fatal(err)
	}
	s := state(permissions.ModePlan)
	s.Tree = tree
	decide := func(command string) permissions.Verdict {
		return permissions.New(permissions.Config{Resolver: execute.Resolver{}}).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: tree}, s).Verdict
	}
	for _, command := range []string{"cat a?", "cat a??", "cat a*", "head -n 1 ???", `for f in a??; do cat "$f"; done`} {
		if decide(command) != maybe {
			t.Errorf("%s reads a link out of the tree", command)
		}
	}
	if decide("cat b??") != yes {
		t.Error("cat b??, which matches nothing, is not allowed")
	}
}
