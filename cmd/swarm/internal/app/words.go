package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
)

// greet says what is about to happen.
func (r *run) greet(team string, n int) {
	who := "the policy in swarm.yaml (--interactive: you)"
	if r.options.Interactive {
		who = "you"
	}
	r.say("swarm %s: %s. No AI model, no network, no account.\nEach one plans first and can only read. Its plan goes to the leader's mailbox\n"+
		"and it waits. Leader here: %s.\nYour checkout is not touched: work happens in a copy%s.\n\n", team, countOf(n, "scripted teammate"), who, r.copyFate())
}

// expect tells the report how each teammate is meant to end.
func (r *run) expect() {
	for _, t := range r.env.Document.Teammates {
		var attacks []rogue.Attack
		if t.Expect == report.ExpectRefused {
			attacks = rogue.All()
		}
		r.collector.Expect(t.Name, t.Expect, attacks)
	}
}

// next is what a newcomer can do after the quickstart, with commands that exist.
func (r *run) next() []report.Next {
	if filepath.Base(filepath.Dir(r.env.Document.Path)) != "quickstart" || r.options.Interactive {
		return nil
	}
	program := "swarm"
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		program = "go run ./cmd/swarm"
	}
	return []report.Next{
		{What: "decide yourself", How: program + " run " + fromHere(filepath.Dir(r.env.Document.Path)) + " --interactive"},
		{What: "your own repository", How: "README, \"Let a policy lead\""},
		{What: "what each word means", How: "README, \"The sixty-second tour\""},
	}
}

// fromHere is a path as it would be typed here.
func fromHere(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
