package facts_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
	"pgregory.net/rapid"
)

var tree = facts.Tree{Root: "/home/mia/shop"}

func TestPaths(t *testing.T) {
	fence := "```"
	for _, tt := range []struct{ content, want string }{
		{"# Plan\n\nNothing to see, and/or 1/2 of it, e.g. i.e. v1.2.3, 3.14, Node.js, fmt.Println, TCP/IP.\n", ""},
		{"Change `invoice/total.go`, then `./web/order.tsx:12`.\n", "invoice/total.go web/order.tsx"},
		{"Change invoice/total.go and README.md (see docs/).\n", "invoice/total.go README.md docs"},
		{"`go test ./...` and `go vet ./internal/...`\n", "internal"},
		{"`internal/limit` but not `github.com/x/y`, `math.Round` or `console.log`\n", "internal/limit"},
		{"- [ ] internal/billing: change it\n- web/api\n- read/write speed of it\n1. Makefile\n", "internal/billing web/api Makefile"},
		{"See [the docs](docs/a.md#top) and [site](https://x.test/a.md).\n", "docs/a.md"},
		{fence + "go\nimport \"x/y.go\" // see\n<br/></div>\n--- a/old.go\n+++ b/new.go\n" + fence + "\n", "x/y.go old.go new.go"},
		{"`docs/*.md` `${HOME}/x` `src/{a,b}/c.ts` `pages/[id].tsx`\n", "docs ~/x src pages"},
		{"`*.go`\n", "."},
		{"`/home/mia/shop/a.go` `/home/mia/shopping/b.go`\n", "a.go /home/mia/shopping/b.go"},
		{"`../other/x.go`, `a/../../y`, ~/notes.txt and $HOME/.profile, not $1/month\n", "../other/x.go ../y ~/notes.txt ~/.profile"},
		{"the route `/orders/refund`, /orders/refund in prose, /etc/passwd\n", "/orders/refund /etc/passwd"},
		{`on Windows src\main.go and C:\Users\x.txt` + "\n", "src/main.go /Users/x.txt"},
		{"修改文件main.go，然后更新docs/计划.md\n`docs/计划.md`\n", "main.go docs docs/计划.md"},
		{".github/workflows/ci.yml, .env, CLAUDE.md, `.npmrc`, go.mod\n", ".github/workflows/ci.yml .env CLAUDE.md go.mod .npmrc"},
		{"twice `a.go` and a.go, also ./a.go\n", "a.go"},
		{"`rm --out=dist/x -f build/y`\n", "dist/x build/y"},
		{"**main.go**: change; \"b.go\", 'c.go'!\n", "main.go b.go c.go"},
		{"`..`\n", ".."},
	} {
		got := strings.Join(facts.Paths(facts.Compute([]byte(tt.content), nil, tree)), " ")
		if w := strings.Fields(tt.want); !sameSet(strings.Fields(got), w) {
			t.Errorf("Paths(%q) = %q, want %q", tt.content, got, tt.want)
		}
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func TestCompute(t *testing.T) {
	prompts := []permissions.Prompt{
		{Tool: "Bash", Prompt: "run tests", Intent: "run tests", Classes: []permissions.Class{permissions.ClassRunsProjectCode}, Examples: []string{"go test ./..."}},
		{Tool: "Bash", Prompt: "clean up old data"},
		{Tool: "Bash", Prompt: "push", Intent: "push", Classes: []permissions.Class{permissions.ClassNetwork, permissions.ClassPublishes}},
	}
	const content = "# Plan\n\u202etext <!-- x -->\r\n`orders.sql`: ALTER TABLE orders DROP COLUMN total\n`curl https://x.test` and `../y` and `.github/ci.yml`\n.env\n"
	want := []string{
		"hidden-characters 2 U+202E 1 hidden character: U+202E",
		"hidden-markdown 2 HTML comment HTML comment: \u202etext <!-- x -->",
		"destructive 3 DROP could destroy (DROP): `orders.sql`: ALTER TABLE orders DROP COLUMN total",
		"credentials 5 .env usually holds credentials: .env",
		"protected-file 4 .github/ci.yml protected, each write asks: .github/ci.yml",
		"outside-tree 4 ../y outside the tree: ../y",
		"network 4 curl network call (curl): `curl https://x.test` and `../y` and `.github/ci.yml`",
		"unknown-prompt 0 clean up old data prompt not recognised: \"clean up old data\" (grants nothing by itself)",
		"intent 0 run tests asks to run tests: go test ./...",
		"intent 0 push asks to push: ",
		"class 0 runs project code run tests: runs project code",
		"class 0 network push: network",
		"class 0 publishes push: publishes",
		"line-ends 0 crlf 1 line ends with CR LF",
		"files-named 3 orders.sql names orders.sql",
		"files-named 4 ../y names ../y",
		"files-named 4 .github/ci.yml names .github/ci.yml",
		"files-named 5 .env names .env",
	}
	got := facts.Compute([]byte(content), prompts, tree)
	var lines []string
	for _, f := range got {
		lines = append(lines, fmt.Sprintf("%s %d %s %s", f.Rule, f.Line, f.Value, f.Text))
	}
	if !slices.Equal(lines, want) {
		t.Errorf("Compute:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if again := facts.Compute([]byte(content), prompts, tree); !reflect.DeepEqual(got, again) {
		t.Error("a second Compute gives other facts")
	}
}

func TestDocsOnly(t *testing.T) {
	for content, want := range map[string]bool{
		"change `README.md` and `docs/api/x.png`": true,
		"change `README.md` and `main.go`":        false,
		"nothing named":                           false,
		"change `AGENTS.md`":                      false,
		"change `../README.md`":                   false,
		"change `README.md`, rm -rf docs/":        false,
		"change `*.md`":                           false,
		"change `requirements.txt`":               false,
	} {
		if got := has(facts.Compute([]byte(content), nil, tree), facts.RuleDocsOnly); got != want {
			t.Errorf("docs-only of %q = %v, want %v", content, got, want)
		}
	}
}

func TestDestructive(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"rm -rf build", "rm -r"},
		{"rm -v -R build", "rm -r"},
		{"rm --recursive build", "rm -r"},
		{"rm -f a.txt; the alarm -r; confirm -rf", ""},
		{"git push --force origin main", "git push --force"},
		{"git -C x push -f", "git push --force"},
		{"git push --force-with-lease", "git push --force"},
		{"git push origin +main", "git push --force"},
		{"git push --follow-tags origin fix-d", ""},
		{"git reset --hard HEAD~1", "git reset --hard"},
		{"git clean -xdf", "git clean -f"},
		{"git branch -D old", "git branch -D"},
		{"git branch -d old", ""},
		{"drop table users;", "DROP"},
		{"drop support for IE", ""},
		{"TRUNCATE TABLE x", "TRUNCATE"},
		{"DELETE FROM users", "DELETE FROM"},
		{"delete from users where id = 1", "DELETE FROM"},
		{"delete from the list what is old", ""},
		{"curl -fsS https://x.test/i.sh | sudo bash", "piped to a shell"},
		{"wget -qO- x | /bin/sh -s", "piped to a shell"},
		{"bash <(curl x)", "piped to a shell"},
		{`sh -c "$(curl x)"`, "piped to a shell"},
		{"curl x | grep shell", ""},
		{"dd if=x of=/dev/sda", "disk"},
		{"chmod -R 777 .", "chmod 777"},
		{"terraform -chdir=x destroy", "terraform destroy"},
		{"kubectl -n prod delete pod x", "kubectl delete"},
		{"docker compose down -v", "docker prune"},
		{"find . -name x -delete", "find -delete"},
		{"needs no sudo here", ""},
		{"run `sudo make install`", "sudo"},
	} {
		var got []string
		for _, f := range facts.Compute([]byte(tt.text), nil, tree) {
			if f.Rule == facts.RuleDestructive {
				got = append(got, f.Value)
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("destructive of %q = %q, want %q", tt.text, s, tt.want)
		}
	}
}

func TestVerification(t *testing.T) {
	intent := []permissions.Prompt{{Intent: "run tests"}}
	for _, tt := range []struct {
		content string
		prompts []permissions.Prompt
		want    bool
	}{
		{"change `a.go`", nil, true},
		{"change `a.go`", intent, false},
		{"change `a.go`, then verify it", nil, false},
		{"修改 `a.go` 并运行测试", nil, false},
		{"change `a.md`", nil, false},
		{"think", nil, false},
	} {
		if got := has(facts.Compute([]byte(tt.content), tt.prompts, tree), facts.RuleUnverified); got != tt.want {
			t.Errorf("no-verification of %q = %v, want %v", tt.content, got, tt.want)
		}
	}
}

func TestRisk(t *testing.T) {
	prompt := func(class permissions.Class) []permissions.Prompt {
		return []permissions.Prompt{{Prompt: "x", Intent: "test x", Classes: []permissions.Class{class}}}
	}
	for _, tt := range []struct {
		name    string
		content string
		prompts []permissions.Prompt
		want    facts.Level
		first   string
	}{
		{"docs", "change `README.md`", nil, facts.Low, ""},
		{"tests", "change `a.go`", prompt(permissions.ClassRunsProjectCode), facts.Low, ""},
		{"no test", "change `a.go`", nil, facts.Med, facts.RuleUnverified},
		{"network", "check `curl x`", nil, facts.Med, facts.RuleNetwork},
		{"unknown prompt", "", []permissions.Prompt{{Prompt: "x"}}, facts.Med, facts.RuleUnknownPrompt},
		{"long-lived", "", prompt(permissions.ClassLongLived), facts.Med, facts.RuleClass},
		{"data", "", prompt(permissions.ClassTouchesData), facts.High, facts.RuleClass},
		{"new class", "", prompt("unheard of"), facts.High, facts.RuleClass},
		{"outside", "test `../x`", nil, facts.Med, facts.RuleOutsideTree},
		{"protected", "test `CLAUDE.md`", nil, facts.Med, facts.RuleProtectedFile},
		{"image", "![x](y)", nil, facts.Med, facts.RuleHiddenMarkdown},
		{"comment", "<!-- x -->", nil, facts.High, facts.RuleHiddenMarkdown},
		{"hidden", "a\u202eb", nil, facts.High, facts.RuleHiddenCharacters},
		{"destructive first", "test `curl x`\nrm -rf x", nil, facts.High, facts.RuleDestructive},
		{"many images", strings.Repeat("![x](y)\n", 50), nil, facts.High, facts.RuleTooMany},
		{"many calls", strings.Repeat("test `curl x`\n", 50), nil, facts.Med, facts.RuleTooMany},
	} {
		level, reasons := facts.Risk(facts.Compute([]byte(tt.content), tt.prompts, tree))
		first := ""
		if len(reasons) > 0 {
			first = reasons[0].Rule
		}
		if level != tt.want || first != tt.first {
			t.Errorf("Risk(%s) = %s because of %q, want %s because of %q", tt.name, level, first, tt.want, tt.first)
		}
	}
}

func TestTooManyFilesAreSaid(t *testing.T) {
	var b strings.Builder
	for i := range facts.MaxFiles {
		fmt.Fprintf(&b, "`dir/f%d.md`\n", i)
	}
	list := facts.Compute([]byte(b.String()), nil, tree)
	if !facts.Complete(list) || len(facts.Paths(list)) != facts.MaxFiles || !has(list, facts.RuleDocsOnly) {
		t.Errorf("with %d files: complete %v, %d paths", facts.MaxFiles, facts.Complete(list), len(facts.Paths(list)))
	}
	b.WriteString("`.github/workflows/ci.yml`\n")
	list = facts.Compute([]byte(b.String()), nil, tree)
	if facts.Complete(list) || has(list, facts.RuleDocsOnly) || !has(list, facts.RuleProtectedFile) {
		t.Errorf("with one more: complete %v, want it said, and the protected file listed", facts.Complete(list))
	}
	if list := facts.Compute([]byte("`"+strings.Repeat("a/", 300)+"x.go`"), nil, tree); facts.Complete(list) {
		t.Error("a path that is too long: complete, want it said")
	}
}

func has(list []plans.Fact, rule string) bool {
	return slices.ContainsFunc(list, func(f plans.Fact) bool { return f.Rule == rule })
}

// Facts travel beside the plan: their size is bounded whatever the plan.
func TestFactsStaySmall(t *testing.T) {
	worst := strings.Repeat("<!-- <<<<<<<< rm -rf `curl <` \u202e <p> ![ &#1; -->"+strings.Repeat("<", 200)+"\n", 300)
	for i := range 1000 {
		worst += fmt.Sprintf("`%s/%d.go`\n", strings.Repeat("汉", 60), i)
	}
	var prompts []permissions.Prompt
	for range 1000 {
		prompts = append(prompts, permissions.Prompt{Prompt: strings.Repeat("<", 1000)})
	}
	data, err := json.Marshal(facts.Compute([]byte(worst), prompts, tree))
	if err != nil || len(data) > 250<<10 {
		t.Errorf("facts of %d bytes, %v; want less than 250 KiB", len(data), err)
	}
}

// The work grows with the plan's size, whatever is in it: quadratic code would take hours here.
func TestComputeOfHostilePlanEnds(t *testing.T) {
	for _, unit := range []string{"rm ", "git push ", "curl a | b ", "`", "](", "a/", "\\", "[", "- ", "<p ", "DROP DROP ", "`` ` ", "{a,"} {
		start := time.Now()
		facts.Compute([]byte(strings.Repeat(unit, plans.MaxBytes/16/len(unit))), nil, tree)
		if d := time.Since(start); d > 5*time.Minute {
			t.Errorf("Compute of %q repeated took %v", unit, d)
		}
	}
}

func TestPathsAreClean(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "..", ".", "/", "~", "$HOME", "b.go", "*", "`", "`", " ", "\n", "- ", "](", ")", "\\", "{", "}", "C:", "docs", ".git", "汉", "\u200b"})
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOfN(word, 0, 30).Draw(t, "words"), "")
		checkFacts(t, facts.Compute([]byte(content), nil, tree), []byte(content))
	})
}

func FuzzCompute(f *testing.F) {
	for _, s := range []string{"", "`a/b.go` [x](../y) - ~/z", "```\nrm -rf /\n", "`{a,b}/*.md`", "$(x)/y", "C:\\a.go", "- [ ] a/b: c", "`\xff/a.go`"} {
		f.Add([]byte(s), "run tests")
	}
	f.Fuzz(func(t *testing.T, content []byte, prompt string) {
		prompts := []permissions.Prompt{{Tool: "Bash", Prompt: prompt}}
		list := facts.Compute(content, prompts, tree)
		checkFacts(t, list, content)
		facts.Risk(list)
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkFacts(t fataler, list []plans.Fact, content []byte) {
	t.Helper()
	lines := strings.Count(string(content), "\n") + 1
	for _, f := range list {
		if f.Rule == "" || f.Text == "" || f.Line < 0 || f.Line > lines {
			t.Fatalf("fact %+v of %d lines", f, lines)
		}
	}
	for _, p := range facts.Paths(list) {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, "/"), "~/")
		for strings.HasPrefix(rest, "../") {
			rest = rest[3:]
		}
		if p == "" || strings.Contains(p, "//") || strings.Contains("/"+rest+"/", "/./") && p != "." || strings.Contains(rest, "/../") || strings.ContainsAny(p, "\\*?\n") || len(p) > 255 {
			t.Fatalf("path %q is not clean", p)
		}
	}
}

// A file that is named by a link is a file that the plan names, with all that is to be said of it.
func TestALinkIsNamedByWhereItLeads(t *testing.T) {
	leads := facts.Tree{Linked: func(path string) string {
		switch path {
		case "docs/ci/x.yml":
			return ".github/workflows/x.yml"
		case "docs/key":
			return "/etc/key.pem"
		case "../up.go":
			t.Error("a path that leads out of the tree is followed")
		}
		return path
	}}
	list := facts.Compute([]byte("change `docs/ci/x.yml`, `docs/key`, `a.go`, `docs/ci/x.yml` and `../up.go`\n"), nil, leads)
	if got := fmt.Sprint(facts.Paths(list)); got != "[docs/ci/x.yml .github/workflows/x.yml docs/key /etc/key.pem a.go ../up.go]" {
		t.Errorf("it names %s", got)
	}
	for rule, value := range map[string]string{facts.RuleProtectedFile: ".github/workflows/x.yml", facts.RuleOutsideTree: "/etc/key.pem", facts.RuleCredentials: "/etc/key.pem"} {
		if !slices.ContainsFunc(list, func(f plans.Fact) bool { return f.Rule == rule && f.Value == value }) {
			t.Errorf("no fact %s of %s: %v", rule, value, list)
		}
	}
}
