package permissions_test

import (
	"slices"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// What a line may change is listed broadly: what a charter keeps for some is not reached by another spelling of it.
func TestNamed(t *testing.T) {
	t.Parallel()
	const tree, real = "/home/u/shop", "/srv/shop"
	for command, want := range map[string]string{ // a name that must be there; "?": it cannot be told; "": nothing is
		"touch ops/prod.yaml":                 "ops/prod.yaml",
		"touch ./ops//x/../prod.yaml":         "ops/prod.yaml",
		"cp a.txt ops":                        "ops",
		"cp --target-directory=ops a.txt":     "ops",
		"cp -tops a.txt":                      "ops",
		"cd ops && touch prod":                "ops/prod",
		"echo x > ops/prod.yaml":              "ops/prod.yaml",
		"cat a >> ops/prod.yaml":              "ops/prod.yaml",
		"go test ./... > ops/log":             "ops/log",
		"touch " + tree + "/ops/x":            "ops/x",
		"touch " + real + "/ops/x":            "ops/x",
		"rm -rf .":                            ".",
		"rm -rf " + tree:                      ".",
		"rm -rf ..":                           ".",
		"rm -rf /home":                        ".",
		"rm -rf *":                            ".",
		"rm op*/x":                            ".",
		"rm ops/*.yaml":                       "ops",
		"bash -c 'echo x > ops/y'":            "ops/y",
		"python3 -c 'open(\"ops/y\", \"w\")'": "ops/y",
		"sed -i s/a/b/ ops/y":                 "ops/y",
		"git checkout HEAD -- ops/y":          "ops/y",
		"git -C ops checkout y":               "ops/y",
		"x=ops; touch $x/y":                   "?",
		"touch $(cat list)":                   "?",
		"touch $(":                            "?",
		"cat list | xargs rm":                 "?",
		"ls ops":                              "",
		"cat ops/y | grep z":                  "",
		"go test ./ops/...":                   "",
		"touch /tmp/x":                        "",
		"touch \"ops/a b\"":                   "ops/a b",
	} {
		names, unlisted := permissions.Named("Bash", command, ".", tree, real)
		switch {
		case want == "?" && !unlisted, want != "?" && want != "" && !slices.Contains(names, want):
			t.Errorf("%s may change %q, unlisted %t, want %q", command, names, unlisted, want)
		case want == "" && slices.ContainsFunc(names, func(n string) bool { return n == "." || n == "ops" || n == "ops/y" }):
			t.Errorf("%s may change %q, want nothing of it", command, names)
		case want != "?" && unlisted:
			t.Errorf("%s: it cannot be told what it changes, want %q", command, want)
		}
	}
	for cwd, want := range map[string]string{"ops": "ops/x", tree + "/ops": "ops/x", "/tmp": "", "": "x"} {
		if names, _ := permissions.Named("Bash", "touch x", cwd, tree); want != "" && !slices.Contains(names, want) || want == "" && len(names) > 0 {
			t.Errorf("in %q touch x may change %q, want %q", cwd, names, want)
		}
	}
	if names, unlisted := permissions.Named("Edit", "ops/x", ".", tree); names != nil || unlisted {
		t.Errorf("an edit names %q, %t here, want nothing", names, unlisted)
	}
}
