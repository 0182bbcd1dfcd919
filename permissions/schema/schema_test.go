package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// argv reads one simple command.
func argv(t testing.TB, src string) []shellcmd.Word {
	t.Helper()
	line, err := shellcmd.Parse(src, "/p")
	if err != nil || len(line.Commands) != 1 {
		t.Fatalf("Parse(%q) = %+v, %v", src, line, err)
	}
	return line.Commands[0].Argv
}

// paths matches a command, and lists the paths it names with how they are used.
func match(t testing.TB, src string) (string, error) {
	t.Helper()
	use, err := schema.ReadOnly().Match(argv(t, src))
	var out []string
	for _, p := range use.Paths {
		out = append(out, p.Text+map[schema.Reach]string{schema.Content: "", schema.Meta: ":meta", schema.Package: ":package", schema.Rev: ":rev", schema.File: ":file"}[p.Reach])
	}
	return strings.Join(out, " "), err
}

func TestReadOnlyTableFindsEveryPath(t *testing.T) {
	for src, want := range map[string]string{
		"ls":                              "",
		"ls -laR --color=auto src *.go":   "src:meta *.go:meta",
		"ls -- -x":                        "-x:meta",
		"cat a b":                         "a b",
		"cat - a":                         "a",
		"cat -- -n":                       "-n",
		"head -20 a":                      "a",
		"head -n 5 -qv a":                 "a",
		"head -n -5 a":                    "a",
		"tail -n+5 a":                     "a",
		"tail --lines=5 a":                "a",
		"wc -lc a ./*.go":                 "a ./*.go",
		"grep pat a b":                    "a b",
		"grep -rnA3 pat a":                "a",
		"grep -e pat a":                   "a",
		"grep a -e pat":                   "pat a",
		"grep -f pats a":                  "pats a",
		"grep --file=pats a":              "pats a",
		"grep -fpats a":                   "pats a",
		"grep --include=*.go pat a":       "*.go a",
		"grep -5 pat a":                   "a",
		"sort -k2,2n -t, -u a":            "a",
		"echo -n a '*' b":                 "",
		"echo --- $?":                     "",
		"echo *.go ~":                     "*.go:meta ~:meta",
		"git status -sb":                  "",
		"git --no-pager diff HEAD -- a":   "HEAD:rev a:rev",
		"git diff --stat main...HEAD":     "main...HEAD:rev",
		"git log -5 --oneline -- a":       "a:rev",
		"git log --format='%h %s' -n 3":   "",
		"git log --since='2 weeks' --all": "",
		"go version":                      "",
		"go list ./... ":                  "./:package",
		"go list -deps ./a/... ../b":      "./a/:package ../b:package",
		"true --whatever":                 "",
		"pwd -P":                          "",
	} {
		got, err := match(t, src)
		if err != nil || got != want {
			t.Errorf("Match(%s) = %q, %v; want %q", src, got, err, want)
		}
	}
}

func TestWhatIsNotListedIsUnknown(t *testing.T) {
	for _, src := range []string{
		"./ls", "/bin/ls", "rm x", "$x", "ls $x", "ls --colour", "ls --all=x", "ls --color=evil", "ls --colo=auto", "ls -y", "ls -w x", "cat --squeeze", "cat $(x)", "cat a?b$x",
		"head -n x a", "head --lines a", "head -f a", "tail -f a", "tail -F a", "tail --pid=1 a", "wc --files0-from=a", "grep", "grep -R pat a", "grep -A x pat a",
		"grep --include", "grep -e", "grep pat*", "grep --inc*=x pat", "sort -o b a", "sort -ob a", "sort a --output=b", "sort -T d a", "sort --compress-program=x a", "sort --files0-from=a",
		"pwd x", "git", "git -C a status", "git -c a=b status", "git --git-dir=x status", "git --exec-path=x status", "git stat", "git push", "git diff --output=a", "git diff --ext-diff",
		"git diff --textconv", "git diff --no-index a b", "git log --output a", "git log --show-signature", "git log --format='%G?'", "git log --format='% G?'", "git log --pretty=evil",
		"git log --ext-diff", "git log -O a", "git log --author --all", "git log --format", "git status --untracked-files=evil", "git -- status", "git $x", "git status $x",
		"go", "go version a", "go list -f", "go list -export", "go list -compiled", "go list -mod=mod", "go list -toolexec=x", "go list ./a,../b", "go list ./a@v1", "go vet", "go -C a version",
		"timeout ls", "timeout 5", "timeout x ls", "timeout -k ls", "timeout -- 5 ls", "env", "env -i ls", "env -S ls", "env -u A ls", "nice", "nice -n ls", "swarm plan", "swarm help $x",
		"echo $x", "echo $(x)", "echo {a..b}", "true $x",
	} {
		use, err := schema.ReadOnly().Match(argv(t, src))
		if err == nil && use.Inner != nil {
			_, err = schema.ReadOnly().Match(use.Inner)
		}
		if !errors.Is(err, schema.ErrUnknown) {
			t.Errorf("Match(%s) = %v, want ErrUnknown", src, err)
		}
	}
}

func TestWrappersHandOnTheirCommand(t *testing.T) {
	for src, want := range map[string]string{
		"timeout 5 ls -a":             "ls -a",
		"timeout -s KILL -k 1s 2m ls": "ls",
		"timeout 5 -v ls":             "-v ls",
		"nice -n 5 ls -n 3":           "ls -n 3",
		"nice ls":                     "ls",
		"env A=1 B= ls C=3":           "ls C=3",
		"env ls":                      "ls",
		"env A=1 -i ls":               "-i ls",
		"timeout 5 env A=1 ls":        "env A=1 ls",
	} {
		use, err := schema.ReadOnly().Match(argv(t, src))
		if got := strings.Join(shellcmd.Shown(use.Inner), " "); err != nil || got != want {
			t.Errorf("Match(%s) hands on %q, %v; want %q", src, got, err, want)
		}
	}
	use, _ := schema.ReadOnly().Match(argv(t, "env A=1 B=x=y ls"))
	if len(use.InnerEnv) != 2 || use.InnerEnv[1].Name != "B" || use.InnerEnv[1].Value.Text != "x=y" {
		t.Errorf("prefixes %+v", use.InnerEnv)
	}
}

func TestEffect(t *testing.T) {
	for src, want := range map[string]string{
		"rm x": "changes something", "/bin/rm x": "changes something", "git push": "uses the network", "git -v commit": "changes something", "go test ./...": "runs a program",
		"go mod tidy": "changes something", "make": "runs a program", "curl x": "uses the network", "npm install": "runs a program", "npm ls": "", "node --version": "", "git stash list": "",
		"ls": "", "foo": "", "git": "", "$x rm": "", "cargo fetch": "uses the network", "goimports -w .": "changes something", "golangci-lint run": "runs a program", "gh pr list": "", "kubectl get pods": "", "kubectl delete pod x": "changes something",
	} {
		if got := schema.Effect(argv(t, src)); got != want {
			t.Errorf("Effect(%s) = %q, want %q", src, got, want)
		}
	}
	if got := schema.Effect(nil); got != "" {
		t.Errorf("Effect(nil) = %q", got)
	}
}

func TestTablesWithMistakesAreRefused(t *testing.T) {
	for data, want := range map[string]string{
		`{}`:                                       "read table",
		`[{"name":"a","flagz":{}}]`:                "flagz",
		`[{"operands":"path"}]`:                    "no name",
		`[{"name":"a"},{"name":"a"}]`:              "twice",
		`[{"name":"a","flags":{"-x":"pth"}}]`:      `unknown kind "pth"`,
		`[{"name":"a","operands":"pth*"}]`:         `unknown kind "pth*"`,
		`[{"name":"a","commands":[{"git":true}]}]`: "no name",
		`[{"name":"a","commands":[{"name":"b","flags":{"-x":"y"}}]}]`: "a b",
	} {
		if _, err := schema.Read([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s) = %v, want an error with %q", data, err, want)
		}
	}
	table, err := schema.Read([]byte(`[{"name":"a","operands":"int path?","flags":{"-x --xx":"one|two"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	for src, ok := range map[string]bool{"a 1": true, "a 1 p": true, "a": false, "a p": false, "a 1 p q": false, "a --xx=two 1": true, "a -xone 1": true, "a --xx=three 1": false, "a -x two 1": true} {
		if _, err := table.Match(argv(t, src)); (err == nil) != ok {
			t.Errorf("Match(%s) = %v, want ok %t", src, err, ok)
		}
	}
}
