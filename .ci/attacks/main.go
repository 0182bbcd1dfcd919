// Attacks reads `go test -json` on standard input and compares the attacks that it was told of (mailboxtest.Refused) with the
// list in SECURITY.md: each listed attack was tried, by all who are named, and refused by who is named, in a test that passed;
// each that was tried is listed; each test named TestAttack... tells of one; and they are at least 60. With -update it writes the list.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

const (
	module = "github.com/planswarm/swarm/"
	begin  = "<!-- attacks: written by `make attacks` -->\n"
	end    = "<!-- end of attacks -->\n"
	head   = "| attack | tried by | refused by | test |\n|---|---|---|---|\n"
	fewest = 60
)

type event struct{ Action, Package, Test, Output string }

// row is one attack as it is listed.
type row struct{ name, by, who, test string }

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s |\n", r.name, r.by, r.who, r.test)
}

func main() {
	update := flag.Bool("update", false, "write the list")
	list := flag.String("list", "SECURITY.md", "the file that has the list")
	flag.Parse()
	if err := run(os.Stdin, *list, *update); err != nil {
		fmt.Fprintln(os.Stderr, "attacks:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, list string, update bool) error {
	told, err := read(in)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	listed, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no list of attacks", list)
	}
	now := strings.Builder{}
	now.WriteString(head)
	for _, r := range told {
		now.WriteString(r.String())
	}
	switch {
	case len(told) < fewest:
		return fmt.Errorf("%d attacks were tried and refused, want at least %d", len(told), fewest)
	case update:
		return os.WriteFile(list, []byte(before+begin+now.String()+end+after), 0o644)
	case listed != now.String():
		return fmt.Errorf("the list in %s is another one: run make attacks\n%s", list, differences(listed, now.String()))
	}
	fmt.Printf("%d attacks, all refused by who is listed\n", len(told))
	return nil
}

var line = regexp.MustCompile(`^\s*attack: (.+?): by (.+?): refused by (.+?): `)

// read returns the attacks of tests that passed, in the order of their packages, tests and names.
func read(in io.Reader) ([]row, error) {
	type key struct{ pkg, test, name string }
	by, who := map[key]map[string]bool{}, map[key]map[string]bool{}
	failed, passed := map[string]bool{}, map[string]bool{}
	texts := map[string]string{} // of output that has not ended its line
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		test, _, _ := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "fail":
			failed[e.Package+" "+test] = true
		case e.Action == "pass" && e.Test == test && strings.HasPrefix(test, "TestAttack"):
			passed[strings.TrimPrefix(e.Package, module)+" "+test] = true
		}
		id := e.Package + " " + e.Test
		text := texts[id] + e.Output
		if !strings.HasSuffix(text, "\n") {
			texts[id] = text
			continue
		}
		delete(texts, id)
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		k := key{strings.TrimPrefix(e.Package, module), test, m[1]}
		if by[k] == nil {
			by[k], who[k] = map[string]bool{}, map[string]bool{}
		}
		by[k][m[2]], who[k][m[3]] = true, true
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	var rows []row
	seen := map[string]string{}
	for k := range by {
		where := k.pkg + " " + k.test
		if failed[module+where] {
			return nil, fmt.Errorf("%s has failed", where)
		}
		if other := seen[k.name]; other != "" {
			return nil, fmt.Errorf("%q is the name of two attacks, in %s and %s", k.name, other, where)
		}
		seen[k.name] = where
		rows = append(rows, row{k.name, join(by[k]), join(who[k]), where})
	}
	for _, r := range rows {
		delete(passed, r.test)
	}
	if len(passed) > 0 {
		return nil, fmt.Errorf("tests that tell no attack (mailboxtest.Refused): %s", join(passed))
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.test+"\x00"+a.name, b.test+"\x00"+b.name) })
	return rows, nil
}

func join(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

func differences(was, is string) string {
	a, b := strings.SplitAfter(was, "\n"), strings.SplitAfter(is, "\n")
	var out strings.Builder
	for _, l := range a {
		if !slices.Contains(b, l) {
			out.WriteString("- " + l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out.WriteString("+ " + l)
		}
	}
	return out.String()
}
