// Fuzzall runs every fuzz target of the module for a short time each.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	// A number of runs, not a time: at the end of a time `go test` sometimes calls its own deadline a failure.
	limit := flag.String("runs", "3000x", "how often each target is run")
	except := flag.String("except", "", "target that is left out")
	flag.Parse()
	if err := run(*limit, *except); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

func run(limit, except string) error {
	out, err := output("go", "test", "-list", "^Fuzz", "./...")
	if err != nil {
		return err
	}
	targets, n := []string{}, 0
	for line := range strings.Lines(out) {
		switch f := strings.Fields(line); {
		case strings.HasPrefix(line, "Fuzz"):
			targets = append(targets, strings.TrimSpace(line))
		case len(f) > 1 && f[0] == "ok":
			for _, target := range targets {
				if target == except {
					except = ""
					continue
				}
				begin := time.Now()
				if out, err := output("go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime", limit, "-fuzzminimizetime", "10x", f[1]); err != nil {
					return fmt.Errorf("%s %s: %w\n%s", f[1], target, err, out)
				}
				fmt.Printf("%5.1fs  %s %s\n", time.Since(begin).Seconds(), f[1], target)
				n++
			}
			targets = nil
		default:
			targets = nil
		}
	}
	if except != "" {
		return fmt.Errorf("no target is named %s", except)
	}
	if n == 0 {
		return fmt.Errorf("found no fuzz target in:\n%s", out)
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	var b bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	return b.String(), err
}
