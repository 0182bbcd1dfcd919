// Package report tells how a run goes and how it went: a line for each event, the table at the end, and a JSON document.
// Everything that a teammate wrote is made visible before it is printed.
package report

import (
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Report is the document of `--report FILE.json`.
type Report struct {
	Team      string      `json:"team"`
	Result    string      `json:"result"` // passed or failed
	ExitCode  int         `json:"exitCode"`
	StartedAt time.Time   `json:"startedAt"`
	Seconds   float64     `json:"seconds"`
	Boundary  string      `json:"boundary"` // the layout's name and level
	Layout    Layout      `json:"layout"`   // what it holds against, and why
	Teammates []*Teammate `json:"teammates"`
	// Policies are the files of rules that bound the teammates' calls, as they were when the run began.
	Policies []PolicyFile `json:"policies,omitempty"`
}

// PolicyFile is a file of permission rules.
type PolicyFile struct {
	File      string `json:"file"`
	Scope     string `json:"scope"`     // user or project
	Digest    string `json:"digest"`    // hex SHA-256 of its bytes
	Rules     int    `json:"rules"`     // in force
	Proposals int    `json:"proposals"` // a project's allow rules, which are not
}

// Teammate is one teammate's part of a run.
type Teammate struct {
	Name       string           `json:"name"`
	Agent      string           `json:"agent"`
	EnforcedBy string           `json:"enforcedBy"` // who holds it to plan mode
	SavedMode  permissions.Mode `json:"savedMode"`
	ModeAfter  permissions.Mode `json:"modeAfter"`
	Plans      []*Plan          `json:"plans"`
	Grants     []*Grant         `json:"grants"`
	Refusals   []Refusal        `json:"refusals"`
	Expect     string           `json:"expect,omitempty"`   // done, rejected or refused
	Breaches   []Breach         `json:"breaches,omitempty"` // attacks that were not refused as they must be
	Tasks      Tasks            `json:"tasks"`
	Result     string           `json:"result"`
	ExitStatus int              `json:"exitStatus"` // of its program

	lastAsk string         // the single call that was asked last
	attacks []rogue.Attack // that it must be seen to try
	tried   []string
}

// Plan is one plan with its revisions.
type Plan struct {
	PlanID    string      `json:"planId"`
	Title     string      `json:"title"`
	Revisions []*Revision `json:"revisions"`
}

// Revision is one submitted revision and what was decided on it.
type Revision struct {
	Revision  int              `json:"revision"`
	RequestID string           `json:"requestId"`
	Digest    string           `json:"digest"`
	Decision  planmode.Outcome `json:"decision,omitempty"` // empty: none
	By        *By              `json:"by,omitempty"`
	Feedback  string           `json:"feedback,omitempty"`

	content []byte
}

// By is who decided.
type By struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Rule      string `json:"rule,omitempty"`
	Assurance string `json:"assurance"`
}

// Grant is what an approval gave, and what was made of it.
type Grant struct {
	Prompt  string `json:"prompt"`
	Uses    int    `json:"uses"`
	MaxUses int    `json:"maxUses"` // 0 is any number
	Ended   string `json:"ended"`   // why; empty: it has not

	id string // of the permissions.Grant
}

// Refusal is something that a teammate tried and that was refused.
type Refusal struct {
	Attack    string `json:"attack"`
	By        string `json:"by"` // gate, kernel, teammate, broker or desk
	Why       string `json:"why"`
	Invariant []int  `json:"invariant"`
	Evidence  string `json:"evidence,omitempty"` // a line of its runner's journal, a receipt, a request, or the broker's error

	row rogue.Attack // that it was; zero: it was none of those that are expected
}

// Tasks counts the checkboxes of the approved plan.
type Tasks struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

func byOf(d mailbox.DecidedBy, rule string) *By {
	return &By{Kind: d.Kind, Name: d.Name, Rule: rule, Assurance: d.Assurance}
}

// title is how a person names who decided.
func (b *By) title() string {
	if b == nil {
		return "-"
	}
	if b.Rule != "" {
		return "rule " + b.Rule
	}
	return b.Name
}

// last is the newest revision, or nil.
func (t *Teammate) last() (*Plan, *Revision) {
	for i := len(t.Plans) - 1; i >= 0; i-- {
		if n := len(t.Plans[i].Revisions); n > 0 {
			return t.Plans[i], t.Plans[i].Revisions[n-1]
		}
	}
	return nil, nil
}

// revision finds a revision by its request.
func (t *Teammate) revision(request string) *Revision {
	for _, p := range t.Plans {
		for _, r := range p.Revisions {
			if r.RequestID == request {
				return r
			}
		}
	}
	return nil
}
