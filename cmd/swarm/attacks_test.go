package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// SECURITY.md lists what is tried against a team. Each attack has a test of that name that exists, and the test's package has
// it; that they are refused, and by whom, CI compares with what a run has told.
func TestTheListOfAttacks(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	packages := map[string]sources{}
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 || !strings.Contains(cells[3], "Attack") {
			continue
		}
		name, where := strings.TrimSpace(cells[0]), strings.Fields(cells[3])
		if names[name] {
			t.Errorf("%q is listed twice", name)
		}
		names[name] = true
		if len(where) != 2 {
			t.Fatalf("%q has no test: %q", name, cells[3])
		}
		if _, ok := packages[where[0]]; !ok {
			packages[where[0]] = readSources(t, filepath.Join("..", "..", filepath.FromSlash(where[0])))
		}
		src := packages[where[0]]
		if !slices.Contains(src.tests, where[1]) {
			t.Errorf("%q: %s has no test %s", name, where[0], where[1])
		}
		if !src.has(name) {
			t.Errorf("%q is not in the tests of %s", name, where[0])
		}
	}
	if len(names) < 60 {
		t.Errorf("%d attacks are listed, want at least 60", len(names))
	}
}

// sources are the tests of a package, and every text in them.
type sources struct{ tests, texts []string }

// has reports whether a text is in the tests, whole or as two pieces that are put together.
func (s sources) has(text string) bool {
	return slices.ContainsFunc(s.texts, func(begin string) bool {
		rest, ok := strings.CutPrefix(text, begin)
		return ok && begin != "" && (rest == "" || slices.Contains(s.texts, rest))
	})
}

func readSources(t *testing.T, dir string) sources {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests (%v)", dir, err)
	}
	var src sources
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				src.tests = append(src.tests, n.Name.Name)
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					src.texts = append(src.texts, text)
				}
			}
			return true
		})
	}
	return src
}
