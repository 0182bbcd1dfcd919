package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// Each example of swarm help rules is read without a word, and its own examples hold.
func TestTheExamplesOfHelpAreRules(t *testing.T) {
	blocks := map[string]string{}
	for block := range strings.SplitSeq(rulesHelp, "\n\n") {
		text := strings.ReplaceAll("\n"+block, "\n  ", "\n")[1:]
		for begin, name := range map[string]string{"version: 1": "p.yaml", "{\n": "settings.json", "[[rule]]": "p.toml"} {
			if strings.HasPrefix(text, begin) {
				blocks[name] = text
			}
		}
	}
	if len(blocks) != 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	for name, text := range blocks {
		f := policyfile.Read(name, []byte(text), policyfile.Config{Scope: policyfile.ScopeUser})
		if len(f.Problems) > 0 || f.Written == 0 || f.InForce() == 0 {
			t.Errorf("%s: %d rules: %v", name, f.InForce(), f.Problems)
		}
		doc := testPolicy(f)
		if name == "p.yaml" && len(doc.Tests) == 0 {
			t.Error("no tests")
		}
		for _, e := range doc.Tests {
			if !e.OK {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

// The schema takes what the help shows, and no key that is mistyped.
func TestTheSchemaOfRulesTakesTheExampleOfHelp(t *testing.T) {
	at := func(place, what, next string) error { return errors.New(place + ": " + what) }
	begin := strings.Index(rulesHelp, "  version: 1")
	text, _, _ := strings.Cut(rulesHelp[begin:], "\n\n")
	for text, valid := range map[string]bool{text: true, strings.Replace(text, "message", "mesage", 1): false, strings.Replace(text, "want: deny", "want: never", 1): false} {
		file := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := config.Values(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(schemaRules, v, at); (err == nil) != valid {
			t.Errorf("valid %t: %v\n%s", valid, err, text)
		}
	}
}
