// Verdict reads `go test -json` on standard input, prints the output of failing tests and packages, each package's time
// and one closing line, and fails on a failure or on a skip that its list does not name.
//
// With -alone, the words of a test command, it runs a few tests that failed once more, each alone, and says so: for runs on
// a machine that is many times slower than a user's, in which a wait ends early. A data race, a panic, a package that does
// not end, or more than a few failures are never tried again.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// mostAlone is how many failed tests may be run again: more are no accident.
const mostAlone = 2

type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
	// ImportPath is set instead of Package while a package is built.
	ImportPath string
}

type verdict struct {
	allowed                 map[string]bool
	output                  map[string]*strings.Builder
	open                    map[string]bool // tests and packages that have begun and not ended
	passed, failed, skipped int
	bad                     []string
	tests                   []event // that failed, without those whose subtests did
	worse                   bool    // a failure that another run says nothing about
}

func main() {
	list := flag.String("allow", "", "file of skips that are allowed")
	alone := flag.String("alone", "", "test command that a failed test is run again with")
	status := flag.Int("status", 0, "exit status of the go command")
	flag.Parse()
	v := &verdict{allowed: map[string]bool{}, output: map[string]*strings.Builder{}, open: map[string]bool{}}
	if err := v.run(*list, *status); err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		os.Exit(1)
	}
	if len(v.bad) > 0 && !(*alone != "" && v.passAlone(strings.Fields(*alone))) {
		os.Exit(1)
	}
}

// passAlone runs what failed once more, and is true when it all passes.
func (v *verdict) passAlone(command []string) bool {
	if v.worse || len(v.tests) == 0 || len(v.tests) > mostAlone {
		return false
	}
	for _, e := range v.tests {
		name := strings.Split(e.Test, "/")
		for i, n := range name {
			name[i] = "^" + regexp.QuoteMeta(n) + "$"
		}
		args := append(slices.Clone(command[1:]), "-count=1", "-v", "-run", strings.Join(name, "/"), e.Package)
		fmt.Printf("AGAIN, alone: %s %s\n", command[0], strings.Join(args, " "))
		out, err := exec.Command(command[0], args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+e.Test+" (") { // not found, or skipped
			fmt.Printf("%s\nBAD: did not pass alone: %s %s\n", out, e.Package, e.Test)
			return false
		}
		fmt.Printf("PASSED ALONE, after it had failed: %s %s\n", e.Package, e.Test)
	}
	return true
}

func (v *verdict) run(list string, status int) error {
	if err := v.readAllowed(list); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			fmt.Println(in.Text()) // not an event: something the go command said
			continue
		}
		v.take(e)
	}
	if err := in.Err(); err != nil {
		return err
	}
	if v.passed == 0 {
		v.bad, v.worse = append(v.bad, "no test passed"), true
	}
	for _, open := range slices.Sorted(maps.Keys(v.open)) {
		v.bad, v.worse = append(v.bad, "never ended: "+open), true
	}
	if status > 1 { // go test itself was ended, or could not do what it was told
		v.bad, v.worse = append(v.bad, fmt.Sprintf("the go command exited with %d", status)), true
	}
	if status != 0 && len(v.bad) == 0 {
		v.bad, v.worse = append(v.bad, fmt.Sprintf("nothing failed, and the go command exited with %d", status)), true
	}
	for _, b := range v.bad {
		fmt.Println("BAD:", b)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", v.passed, v.failed, v.skipped)
	return nil
}

func (v *verdict) take(e event) {
	key := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "start", "run":
		v.open[key] = true
	case "pass", "skip", "fail":
		delete(v.open, key)
	}
	switch e.Action {
	case "output", "build-output":
		if v.output[key] == nil {
			v.output[key] = &strings.Builder{}
		}
		v.output[key].WriteString(e.Output)
		for _, sign := range []string{"DATA RACE", "panic:", "fatal error:", "test timed out", "unexpected goroutines", "[rapid] panic", "*** Test "} {
			v.worse = v.worse || strings.Contains(e.Output, sign)
		}
	case "pass":
		if e.Test != "" {
			v.passed++
		} else {
			fmt.Printf("ok   %6.1fs  %s\n", e.Elapsed, e.Package)
		}
		delete(v.output, key)
	case "skip":
		v.skip(e, key)
	case "fail", "build-fail":
		v.failed++
		v.bad = append(v.bad, "failed: "+key)
		ofThis := func(t event) bool {
			return t.Package == e.Package && (e.Test == "" || strings.HasPrefix(t.Test, e.Test+"/"))
		}
		if failed := slices.ContainsFunc(v.tests, ofThis); e.Test == "" && !failed {
			v.worse = true
		} else if !failed { // a test ends after its subtests
			v.tests = append(v.tests, e)
		}
		v.print(key)
		if e.Test == "" { // tests that never ended, with what the process said last
			for _, open := range slices.Sorted(maps.Keys(v.output)) {
				if strings.HasPrefix(open, e.Package+" ") {
					v.print(open)
				}
			}
		}
	}
}

// print shows what a test printed, once.
func (v *verdict) print(key string) {
	if out := v.output[key]; out != nil {
		fmt.Print(out.String())
		delete(v.output, key)
	}
}

func (v *verdict) skip(e event, key string) {
	if e.Test == "" {
		return // a package without tests
	}
	v.skipped++
	if !v.allowed[key] {
		v.bad, v.worse = append(v.bad, "unexpected skip: "+key), true
		v.print(key)
	}
}

func (v *verdict) readAllowed(list string) error {
	if list == "" {
		return nil
	}
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) == 2 {
			v.allowed[f[0]+" "+f[1]] = true
		}
	}
	return nil
}
