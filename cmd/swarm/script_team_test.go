//go:build linux

package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdRecoveryInput writes what a person types to recover a team: the code of a file, in another spelling, and a new
// passphrase twice.
func cmdRecoveryInput(ts *testscript.TestScript, _ bool, args []string) {
	_, code, _ := strings.Cut(ts.ReadFile(args[1]), ": ")
	code = strings.ToUpper(strings.ReplaceAll(code, "-", " "))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(code+"another one that holds\nanother one that holds\n"), 0o600))
}

// cmdReplace replaces a text in a file, where it must be.
func cmdReplace(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[2])
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%s has no %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.ReplaceAll(text, args[0], args[1])), 0o600))
}

// cmdFirstCharter puts a team's first charter in force again, as who can write the broker's files would.
func cmdFirstCharter(ts *testscript.TestScript, _ bool, args []string) {
	var f struct {
		V        int               `json:"v"`
		Versions []json.RawMessage `json:"versions"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &f))
	f.Versions = f.Versions[:1]
	data, err := json.Marshal(f)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
