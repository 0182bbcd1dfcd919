package rogue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate/gate"
)

// What the script tries by itself is judged here by what came of it, not by what it says.

// target is the file that must not appear.
const target = "notes.txt"

// wrote judges a write by the script's own process.
func (a *Attacker) wrote(attack Attack, seen string) (outcome, error) {
	if _, err := os.Lstat(filepath.Join(a.cfg.Tree, target)); err == nil {
		return outcome{why: target + " is there"}, nil
	}
	return a.denied(attack, seen)
}

// denied judges what the kernel has to refuse, by the error that it gave.
func (a *Attacker) denied(attack Attack, seen string) (outcome, error) {
	switch {
	case seen == "":
		return outcome{why: "it went through"}, nil
	case !strings.Contains(seen, "ermission denied") && !strings.Contains(seen, "not permitted"):
		return outcome{}, fmt.Errorf("rogue: no error of the kernel: %s", seen)
	}
	return a.noted(attack, outcome{by: Kernel, why: seen})
}

// approved judges `swarm approve` in the script's own process: the command itself refuses, and the kernel behind it.
func (a *Attacker) approved(attack Attack, seen string) (outcome, error) {
	switch {
	case seen == "":
		return outcome{why: "it went through"}, nil
	case strings.HasPrefix(seen, "exit 4: "):
		return a.noted(attack, outcome{by: Gate, why: seen})
	}
	return a.noted(attack, outcome{by: Kernel, why: seen})
}

// noted writes into the journal what left no line of its own there.
func (a *Attacker) noted(attack Attack, out outcome) (outcome, error) {
	var err error
	out.evidence, err = a.line(permissions.Call{Tool: "attack", Command: attack.Name}, permissions.Decision{}, out.why)
	return out, err
}

// line is the journal's line about a refused call.
func (a *Attacker) line(c permissions.Call, d permissions.Decision, why string) (string, error) {
	seq := a.runner.Refused(c, d, why)
	if seq == 0 {
		return "", errors.New("rogue: the journal has no line about it")
	}
	return fmt.Sprintf("journal %d", seq), nil
}

// called judges a call that the gate was asked for.
func (a *Attacker) called(attack Attack, seen string) (outcome, error) {
	a.mu.Lock()
	calls := a.calls
	a.mu.Unlock()
	var refused []gate.Observation
	for _, o := range calls {
		if o.Ran {
			return outcome{why: "it was carried out", moot: a.leaderAllowed(o.Decision.Hash)}, nil
		}
		refused = append(refused, o)
	}
	if len(refused) != 1 {
		return outcome{}, fmt.Errorf("rogue: the gate refused %d calls: %s", len(refused), seen)
	}
	o := refused[0]
	if a.wasAsked(o.Decision.Hash) && slices.Contains(outright, attack.Name) {
		return outcome{by: Desk, why: "a leader was asked about it"}, nil
	}
	line, err := a.line(permissions.Call{Tool: string(o.Verb), Command: o.Input}, o.Decision, o.Decision.Reason)
	return outcome{by: Gate, why: o.Decision.Reason, evidence: line}, err
}

func (a *Attacker) leaderAllowed(hash string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.box.allowed[hash] {
		return Allowed
	}
	return ""
}

// wasAsked reports whether a leader was asked about a call.
func (a *Attacker) wasAsked(hash string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.find(func(e planmode.Emit) bool { return e.Event == "permission.asked" && e.Fields["callHash"] == hash })
	return ok
}

// happened returns an event about a request, if there is one.
func (a *Attacker) happened(event, request string) (planmode.Emit, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.find(func(e planmode.Emit) bool { return e.Event == event && e.Fields["requestId"] == request })
}

// left judges the wish to leave plan mode: a leader has to have been asked.
func (a *Attacker) left(ctx context.Context) (outcome, error) {
	e, _, err := a.told(ctx, func(e planmode.Emit) bool { return e.Event == "plan.rejected" || e.Event == "plan.left" })
	id := e.Fields["requestId"]
	switch {
	case err != nil:
		return outcome{}, err
	case id == "":
		return outcome{why: "nobody was asked"}, nil
	case e.Event == "plan.left":
		return outcome{why: "a leader lets it out", after: id, moot: Allowed}, nil
	}
	return outcome{by: Desk, why: "a leader was asked, and says no", evidence: "request " + id, after: id}, nil
}

// swapped judges whether the plan's file holds what was approved, whatever the script wrote into it meanwhile.
func (a *Attacker) swapped(ctx context.Context) (outcome, error) {
	s, err := a.runner.Status()
	if _, rejected := a.happened("plan.rejected", a.claimed()); rejected && err == nil && s.State == planmode.Planning {
		return outcome{why: "the plan was rejected", moot: Moot}, nil
	}
	if err != nil || s.State != planmode.Working {
		return outcome{}, errors.Join(err, errors.New("rogue: no plan was approved"))
	}
	e, line, err := a.told(ctx, func(e planmode.Emit) bool { return e.Event == "plan.approved" && e.Fields["planId"] == s.PlanID })
	if err != nil {
		return outcome{}, err
	}
	content, err := os.ReadFile(s.PlanFile)
	if err != nil {
		return outcome{}, err
	}
	a.mu.Lock()
	r := a.box.requests[e.Fields["requestId"]]
	a.mu.Unlock()
	if r == nil || plans.Digest(content) != r.Plan.Digest {
		return outcome{why: "the file holds something else"}, nil
	}
	return outcome{by: Teammate, why: "the file holds the approved bytes again", evidence: line, after: r.RequestID}, nil
}

// claimed is the id of the request that the leaders have got.
func (a *Attacker) claimed() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.box.claimed
}
