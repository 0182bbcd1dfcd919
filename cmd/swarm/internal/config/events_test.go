package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// The person's own hooks are read with their lines, and what is wrong with one has its place.
func TestUsersEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	good := "version: 1\nevents:\n  - {on: [\"plan.*\", security], webhook: https://example.com/hook, timeout: 5s}\n  - on: [grant.used]\n    command: [logger, -t, swarm]\n"
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	u, problems := config.LoadUser(path)
	if problems != nil || len(u.Events) != 2 || u.Events[1].Command[1] != "-t" || u.Events[0].Timeout.Seconds() != 5 {
		t.Errorf("LoadUser = %+v, %v", u, problems)
	}
	for text, want := range map[string]string{
		"events:\n  - {on: [plan.aproved], command: [x]}\n":                   `config.yaml:3:11: unknown event "plan.aproved": did you mean "plan.approved"?`,
		"events:\n  - on: [\"*\"]\n    command: [./x]\n":                      `config.yaml:4:14: program "./x" cannot be found from everywhere`,
		"events:\n  - {on: [\"*\"], webhook: \"http://example.com\"}\n":       `would send events in the open: use https`,
		"events:\n  - {on: [\"*\"]}\n":                                        `config.yaml:3:5: a hook is either a command or a webhook`,
		"events:\n  - {command: [x]}\n":                                       `the hook has no events: add on: [plan.*]`,
		"events:\n  - {on: [\"*\"], run: [x]}\n":                              `unknown field "run"`,
		"events:\n" + strings.Repeat("  - {on: [\"*\"], command: [x]}\n", 17): `there are 17 hooks, and at most 16 are told`,
		"events:\n  - {on: [\"*\"], command: [x], timeout: 2m}\n":             `a delivery cannot take 2m0s: name at most 1m`,
		"events:\n  - {on: [\"*\"], command: x}\n":                            `must be a list`,
	} {
		if err := os.WriteFile(path, []byte("version: 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, problems := config.LoadUser(path)
		if len(problems) == 0 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}

// A project's hooks are read and checked, and only proposed.
func TestProjectsEventsAreProposed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "swarm.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nteam: t\nevents:\n  - {on: [\"*\"], command: [rm, -rf, /]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, problems := config.Load(path)
	if problems != nil || len(doc.Proposed()) != 1 || !strings.Contains(doc.Proposed()[0], `proposes to tell "rm" of events: only hooks of your own config.yaml are told`) {
		t.Errorf("Load = %v, proposed %q", problems, doc.Proposed())
	}
	var none *config.Document
	if none.Proposed() != nil {
		t.Error("no document proposes something")
	}
}
