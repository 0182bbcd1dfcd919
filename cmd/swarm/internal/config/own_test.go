package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// A deny that a document means to name is never lost in silence: neither behind a pattern that matches nothing, nor in a file
// whose name looks like a pattern.
func TestPoliciesThatANameMeans(t *testing.T) {
	for name, want := range map[string]string{
		"pol/*.yaml":     `"pol/*.yaml" names no file`,
		"pol/[x].yaml":   "",
		"pol/[y].yaml":   `"pol/[y].yaml" names no file`,
		"pol/absent.yml": "pol/absent.yml cannot be read",
	} {
		dir := t.TempDir()
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Mkdir(filepath.Join(dir, "pol"), 0o700))
		file := filepath.Join(dir, "swarm.yaml")
		must(os.WriteFile(file, []byte("version: 1\nteam: shop\nteammates:\n  a:\n    run: [x]\npolicies: [\""+name+"\"]\n"), 0o600))
		if want == "" {
			must(os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("version: 1\nrules:\n  - deny: Bash(rm:*)\n"), 0o600))
		}
		doc, problems := config.Load(file)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		own, problems := config.ReadOwn(t.TempDir(), doc)
		switch {
		case want == "" && (len(problems) > 0 || len(own.Rules()) != 1):
			t.Errorf("%s: %v, %v; want its deny rule", name, own.Rules(), problems)
		case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, want)):
			t.Errorf("%s: problems %v, want %q", name, problems, want)
		}
	}
}

// A link to a folder that is not there is no empty folder: what its rules deny must not pass meanwhile.
func TestFoldersThatAreLinksToNothing(t *testing.T) {
	for _, name := range []string{config.PoliciesDir, config.TablesDir} {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, problems := config.ReadOwn(dir); len(problems) != 1 || !strings.Contains(problems[0].Message, "cannot be read") {
			t.Errorf("%s: problems %v, want that it cannot be read", name, problems)
		}
	}
}
