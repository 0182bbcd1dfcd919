package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/planswarm/swarm"

// A rule says where a package stands: it imports our packages from lines below its own, those of its own line that
// `beside` names, and only the third-party modules that `from` names. A new package adds its line here.
type rule struct {
	line   float64
	beside []string
	from   []string
}

var (
	natsModules = []string{"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/google/uuid"}
	nkeysModule = []string{"github.com/nats-io/nkeys"}
	system      = []string{"golang.org/x/sys"}
)

// layers is ARCHITECTURE.md's table of packages. Lines 0.0 to 0.3 are pure: no I/O, no clock, no randomness.
var layers = map[string]rule{
	"permissions/shellcmd": {line: 0.0, from: []string{"mvdan.cc/sh/v3"}},
	"permissions/schema":   {line: 0.0, beside: []string{"permissions/shellcmd"}},
	"permissions/intent":   {line: 0.0, beside: []string{"permissions/schema", "permissions/shellcmd"}, from: []string{"golang.org/x/text"}},
	"permissions":          {line: 0.0, beside: []string{"permissions/intent", "permissions/schema", "permissions/shellcmd"}, from: []string{"golang.org/x/text"}},
	"plans":                {line: 0.0, from: []string{"github.com/aymanbagabas/go-udiff"}},
	"mailbox":              {line: 0.0},
	"mailbox/schema":       {line: 0.0},
	"planmode/schema":      {line: 0.0},
	"plans/facts":          {line: 0.1},
	"mailbox/charter":      {line: 0.2, from: nkeysModule},
	"mailbox/audit":        {line: 0.25, from: nkeysModule},
	"planmode":             {line: 0.3},

	"plans/plandir":          {line: 1, from: system},
	"plans/repostate":        {line: 1, from: system},
	"permissions/execute":    {line: 1, from: system},
	"permissions/policyfile": {line: 1, from: []string{"github.com/pelletier/go-toml/v2", "go.yaml.in/yaml/v3"}},
	"mailbox/wholefile":      {line: 1},
	"mailbox/certs":          {line: 1, beside: []string{"mailbox/wholefile"}},
	"mailbox/natsauth":       {line: 1, from: []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nkeys"}},

	"mailbox/natsbox":   {line: 2, from: natsModules},
	"mailbox/embednats": {line: 2, from: []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go", "github.com/nats-io/nkeys"}},

	"teammate":            {line: 3, from: append(natsModules, system...)},
	"leader":              {line: 3, from: natsModules},
	"mailbox/coordinator": {line: 3, from: natsModules},
	"mailbox/mailboxtest": {line: 3, beside: []string{"mailbox/coordinator"}, from: append(natsModules, "github.com/nats-io/nats-server/v2", "go.uber.org/goleak")},

	"teammate/gate":    {line: 4, from: system},
	"teammate/journal": {line: 4, from: system},
	"leader/policy":    {line: 4},

	"teammate/teammatetest": {line: 4, from: []string{"github.com/modelcontextprotocol/go-sdk/mcp"}},

	"teammate/adapter/script":     {line: 5, from: system},
	"teammate/adapter/claudecode": {line: 5, from: []string{"github.com/google/uuid"}},
	"teammate/adapter/mcpserver":  {line: 5, from: []string{"github.com/modelcontextprotocol/go-sdk/mcp"}},

	"cmd/swarm/internal/attacks":   {line: 8.5}, // tests of everything below
	"cmd/swarm/internal/supervise": {line: 6.0, from: append(natsModules, system...)},
	"cmd/swarm/internal/rogue":     {line: 5.5, from: natsModules},
	"cmd/swarm/internal/report":    {line: 6.0},
	"cmd/swarm/internal/events":    {line: 6.0, from: []string{"go.opentelemetry.io/otel"}},
	"cmd/swarm/internal/config":    {line: 6.1, from: []string{"github.com/spf13/viper", "github.com/spf13/pflag", "go.yaml.in/yaml/v3"}},
	"cmd/swarm/internal/app":       {line: 7, from: append([]string{"golang.org/x/crypto"}, append(natsModules, system...)...)},
	"cmd/swarm/internal/cli":       {line: 8, from: append([]string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, system...)},
	"cmd/swarm":                    {line: 9},
}

func TestPackagesImportOnlyFromBelow(t *testing.T) {
	for pkg, imports := range packages(t) {
		r, ok := layers[pkg]
		if !ok {
			t.Errorf("package %s has no line in arch_test.go: add it where ARCHITECTURE.md has it", pkg)
			continue
		}
		for _, imp := range imports {
			checkImport(t, pkg, r, imp)
		}
	}
}

func checkImport(t *testing.T, pkg string, r rule, imp string) {
	t.Helper()
	ours, isOurs := strings.CutPrefix(imp, module+"/")
	switch {
	case !strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
		if r.line < 1 && slices.Contains([]string{"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "io/ioutil", "syscall"}, imp) {
			t.Errorf("%s is pure and imports %s", pkg, imp)
		}
	case isOurs:
		to := layers[ours]
		if to.line > r.line || to.line == r.line && !slices.Contains(r.beside, ours) {
			t.Errorf("%s (line %v) imports %s (line %v): imports go down", pkg, r.line, ours, to.line)
		}
		if strings.HasPrefix(pkg, "leader") && strings.HasPrefix(ours, "teammate") || strings.HasPrefix(pkg, "teammate") && strings.HasPrefix(ours, "leader") {
			t.Errorf("%s imports %s: leader and teammate meet only in messages", pkg, ours)
		}
	case !slices.ContainsFunc(r.from, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }):
		t.Errorf("%s imports %s, which is not among its third-party modules %v", pkg, imp, r.from)
	}
}

// A decision becomes an event in one place, where its signatures were judged just before (invariant 3).
func TestDecidedIsBuiltInOnePlace(t *testing.T) {
	var places []string
	eachFile(t, func(path string, f *ast.File, fset *token.FileSet) {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			sel, ok := lit.Type.(*ast.SelectorExpr)
			if x, isIdent := selectorBase(sel); ok && isIdent && x == "planmode" && sel.Sel.Name == "Decided" {
				places = append(places, fset.Position(lit.Pos()).String())
			}
			return true
		})
	})
	if len(places) != 1 || !strings.HasPrefix(places[0], filepath.Join("..", "..", "teammate")) {
		t.Errorf("planmode.Decided{ is built at %v, want exactly one place, in teammate", places)
	}
}

func selectorBase(sel *ast.SelectorExpr) (string, bool) {
	if sel == nil {
		return "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

// chroma's init costs 20 ms in every process (measured); thin clients start on every tool call.
func TestChromaIsNotLinked(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps: %v\n%s", err, stderr.String())
	}
	if !strings.Contains(string(out), module+"/permissions") {
		t.Fatalf("go list -deps lists none of our packages:\n%s", out)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.Contains(dep, "alecthomas/chroma") || strings.Contains(dep, "charmbracelet/glamour") {
			t.Errorf("%s is linked into swarm", dep)
		}
	}
}

// packages maps each package of the module (path below it) to the imports of its non-test files.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	m := map[string][]string{}
	eachFile(t, func(path string, f *ast.File, _ *token.FileSet) {
		pkg, err := filepath.Rel(filepath.Join("..", ".."), filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		pkg = filepath.ToSlash(pkg)
		for _, i := range f.Imports {
			if imp := strings.Trim(i.Path.Value, `"`); !slices.Contains(m[pkg], imp) {
				m[pkg] = append(m[pkg], imp)
			}
		}
		if m[pkg] == nil {
			m[pkg] = []string{}
		}
	})
	if len(m) < 10 {
		t.Fatalf("found only %d packages", len(m))
	}
	return m
}

func eachFile(t *testing.T, f func(path string, file *ast.File, fset *token.FileSet)) {
	t.Helper()
	fset := token.NewFileSet()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(path, file, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
