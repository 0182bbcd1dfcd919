// Package policy decides plans by rules, or says who must. The first rule that matches decides; no match, and
// `then: ask`, leave the request to the next decider. A rule never matches a prompt that was not recognised, never
// approves what names a protected file, such as CLAUDE.md, and the caps and person-only classes of the charter hold above
// every rule.
package policy

import "time"

// Rule is one entry of `policy:` in swarm.yaml.
type Rule struct {
	Name string `yaml:"name" json:"name"`
	// On is what the rule is about: plan (the default), or permission, a single call that waits for a leader's word.
	On       string `yaml:"on" json:"on"`
	Match    Match  `yaml:"match" json:"match"`
	Then     string `yaml:"then" json:"then"` // approve, reject or ask
	With     With   `yaml:"with" json:"with"`
	Feedback string `yaml:"feedback" json:"feedback"`
}

// about is what the rule is about.
func (r Rule) about() string {
	if r.On == "" {
		return OnPlan
	}
	return r.On
}

// Match says which plans a rule is about: those for which every key that is given holds. A rule without any key is
// about every plan.
type Match struct {
	Teammate  string   `yaml:"teammate" json:"teammate"`
	Teammates []string `yaml:"teammates" json:"teammates"`
	// Agents are the programs the teammate says it is: "claude" matches "claude 2.1".
	Agents []string `yaml:"agents" json:"agents"`
	// Intents holds when every asked prompt was recognised as one of these. An empty list: nothing is asked.
	Intents []string `yaml:"intents" json:"intents"`
	// Lacks holds when none of these is asked.
	Lacks []string `yaml:"lacks" json:"lacks"`
	// Paths holds when the plan names a file, and every file that it names is inside one of these patterns.
	Paths []string `yaml:"paths" json:"paths"`
	// Revision holds for exactly this revision of a plan; 0 is any.
	Revision int `yaml:"revision" json:"revision"`
	// Commands holds when the call is exactly one of these: the same plain words, and nothing that a shell would read.
	// Only for rules on permission.
	Commands []string `yaml:"commands" json:"commands"`
}

// With narrows what an approval gives. The zero With gives what was asked, within the charter's caps.
type With struct {
	TTL    time.Duration `yaml:"ttl" json:"ttl"`       // life of each grant; 0 is the charter's
	Uses   int           `yaml:"uses" json:"uses"`     // of each grant; 0 is the charter's
	Grants string        `yaml:"grants" json:"grants"` // asked (the default) or none
	Mode   string        `yaml:"mode" json:"mode"`     // that the teammate gets back; default: what it had before
}

// What a rule can say.
const (
	ThenApprove = "approve"
	ThenReject  = "reject"
	ThenAsk     = "ask"

	OnPlan       = "plan"
	OnPermission = "permission"

	GrantsAsked = "asked"
	GrantsNone  = "none"
)
