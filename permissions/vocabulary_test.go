package permissions_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// vocabulary is every simple command, without its redirections and environment, of the examples of all intents and of
// the rows of the corpora: what the properties are tried on. They are text: nothing runs one.
var vocabulary = sync.OnceValue(func() (out []string) {
	var lines []string
	for _, in := range intent.All() {
		lines = append(lines, in.Examples...)
		lines = append(lines, in.Never...)
	}
	for _, name := range []string{"testdata/bash_permissions.jsonl", "testdata/everyday_reads.jsonl"} {
		f, err := os.Open(name)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			var r row
			if json.Unmarshal(sc.Bytes(), &r) == nil {
				lines = append(lines, r.Command)
			}
		}
	}
	for _, text := range lines {
		line, err := shellcmd.Parse(text, "/project")
		if err != nil || len(line.Refused) > 0 {
			continue
		}
		for _, c := range line.Commands {
			var words []string
			for _, w := range c.Argv {
				words = append(words, w.Source)
			}
			command := strings.Join(words, " ")
			if again, err := shellcmd.Parse(command, "/project"); err != nil || len(again.Refused) > 0 || len(again.Nested) != 1 || strings.Contains(command, "\n") {
				continue
			}
			if !slices.Contains(out, command) {
				out = append(out, command)
			}
		}
	}
	return out
})
