// Verdict reads `go test -json` on standard input, prints the output of failing tests and packages, each package's time
// and one closing line, and fails on a failure or on a skip that its list does not name.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

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
	passed, failed, skipped int
	bad                     []string
}

func main() {
	list := flag.String("allow", "", "file of skips that are allowed")
	flag.Parse()
	v := &verdict{allowed: map[string]bool{}, output: map[string]*strings.Builder{}}
	if err := v.run(*list); err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		os.Exit(1)
	}
	if len(v.bad) > 0 {
		os.Exit(1)
	}
}

func (v *verdict) run(list string) error {
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
		v.bad = append(v.bad, "no test passed")
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
	case "output", "build-output":
		if v.output[key] == nil {
			v.output[key] = &strings.Builder{}
		}
		v.output[key].WriteString(e.Output)
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
		v.bad = append(v.bad, "unexpected skip: "+key)
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
