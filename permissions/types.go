package permissions

import (
	"regexp"
	"time"
)

// Class says what kind of harm a command of an intent could do. Leaders see it; policies match it.
type Class string

// The classes of PERMISSIONS.md.
const (
	ClassRunsProjectCode Class = "runs project code"
	ClassNetwork         Class = "network"
	ClassPublishes       Class = "publishes"
	ClassRootEquivalent  Class = "root-equivalent"
	ClassLongLived       Class = "long-lived"
	ClassTouchesData     Class = "touches data"
)

// Prompt is one thing that a plan asks for, in the agent's own words ("run tests").
// Intent is what the words were recognised as; empty means unknown, and an unknown prompt grants nothing.
type Prompt struct {
	Tool     string   `json:"tool"`
	Prompt   string   `json:"prompt"`
	Intent   string   `json:"intent"`
	Classes  []Class  `json:"classes,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// GrantTerms is what a leader gives of one asked prompt, as it stands in a decision.
type GrantTerms struct {
	Prompt    string    `json:"prompt"`
	Intent    string    `json:"intent"`
	Tree      string    `json:"tree"`      // slash path inside the teammate's working tree; "." is all of it
	ExpiresAt time.Time `json:"expiresAt"` // never zero
	MaxUses   int       `json:"maxUses"`   // 0 is any number
}

// Grant is a right in force: the terms, and everything that it is bound to (invariant 6).
type Grant struct {
	GrantTerms
	ID        string   `json:"grantId"` // "<requestId>/<n>": unique, and the same after every replay
	Teammate  string   `json:"teammate"`
	PlanID    string   `json:"planId"`
	RequestID string   `json:"requestId"`
	Digest    string   `json:"digest"`         // of the approved plan
	Root      string   `json:"root"`           // absolute working tree that Tree is relative to
	Argv      []string `json:"argv,omitempty"` // an exact-argv grant (permission_response, scope plan); Intent is then empty
	GrantedBy string   `json:"grantedBy"`
	Uses      int      `json:"uses"`
	// Runners are the files that say what the grant's commands run, as they were when the plan was submitted.
	Runners []RunnerFile `json:"runners,omitempty"`
}

// RunnerFile is a file that says what a command such as "make test" runs: a Makefile, a package.json.
type RunnerFile struct {
	Path    string `json:"path"`              // slash path inside the working tree
	Digest  string `json:"digest,omitempty"`  // hex SHA-256 of its bytes; empty: it is not there
	Planned bool   `json:"planned,omitempty"` // the plan names it, so it may change
}

// Live reports whether the grant may still be used at now.
func (g Grant) Live(now time.Time) bool {
	return now.Before(g.ExpiresAt) && (g.MaxUses == 0 || g.Uses < g.MaxUses)
}

// Verdict is the answer to one call.
type Verdict string

// The verdicts. The zero Verdict is none of them, and whoever meets it denies.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Call is one tool call to be judged.
type Call struct {
	Tool    string // "Bash", "Edit", "Read", ...
	Command string // the line, for Bash
	Path    string // the file, for file tools; absolute, or relative to Cwd
	Change  string // what an edit would write, as a leader reads it; it is part of the call's hash
	Args    string // all arguments as a JSON object, where the client gives them: for rules that look at them
	Server  string // of an MCP tool: the server's name, where the client gives it
	// Hints are the annotations of an MCP tool, such as readOnlyHint: claims, believed only of servers that State trusts.
	Hints   map[string]bool
	Cwd     string // absolute directory the call runs in; empty means unknown, and what depends on it asks
	Foreign bool   // carried out by somebody else's shell, not by the contract
}

// State is what a call is judged against, besides the call itself.
type State struct {
	Mode       Mode
	Grants     []Grant
	Rules      []Rule
	Tree       string   // absolute working tree
	Home       string   // absolute home directory, where credentials lie
	Trusted    []string // MCP servers whose hints are believed
	PlanFile   string   // absolute; the one file that may be written while planning
	Forbidden  []string // absolute folders that no mode reads or writes: swarm's state and configuration
	Unattended bool     // nobody can be asked: ask becomes deny
	// Answered says that a leader has allowed exactly this call, this once. It lifts what only a leader's word lifts:
	// protected files, credentials, ask rules, a shell that is fed its commands. What a mode lets pass or not is Mode's; a denial stays one.
	Answered bool
	Now      time.Time
}

// Rule is an explicit rule from a settings file. What it says besides Verdict and Tool narrows what it names; a rule that
// allows must name its commands by Argv, Pattern or Args. Deny rules hold in every mode; see [Rule.List] for the exception.
type Rule struct {
	Verdict Verdict
	Tool    string   // "Bash", or a tool name, in which * stands for anything; "*" is every tool
	Server  string   // only tools of this MCP server; "*" is any
	Argv    []string // the words that an argv starts with, when Prefix is set, or equals
	Prefix  bool
	// Pattern is for commands: their words, joined by blanks. An allow rule's must match all of them, and says so by ^ and
	// $; one that narrows must match their begin.
	Pattern *regexp.Regexp
	// Args is for the arguments as JSON with sorted keys, where each pair at the top stands between two NUL characters. For
	// commands an allow rule's must match all of {"command": ...}.
	Args   *regexp.Regexp
	Glob   string          // files: ** is any number of folders; relative to the tree, or absolute
	Domain string          // network tools: this host, and those below it
	Hints  map[string]bool // MCP tools that are annotated so
	Modes  []Mode          // only in these; none is all
	When   Attendance      // only when somebody can be asked, or nobody
	// List is the list of rules that Rank orders. Of one list, a rule that allows or asks is stronger than those of a lower
	// rank that ask or deny what it names.
	List    string
	Rank    float64
	Message string // what is said to whoever is denied
	Source  string // where it stands, for the reason
}

// Attendance says when a rule holds: always, when somebody can be asked, or when nobody can.
type Attendance uint8

// The attendances.
const (
	Always Attendance = iota
	Attended
	Unattended
)

// CommandVerdict is what was decided about one simple command of a line.
type CommandVerdict struct {
	Argv    []string `json:"argv"`
	Verdict Verdict  `json:"verdict"`
	Reason  string   `json:"reason"`
	GrantID string   `json:"grantId,omitempty"`
}

// Decision is the answer to one call, with its reason. Contract is set on Allow of a Bash call that is not foreign.
type Decision struct {
	Verdict  Verdict          `json:"decision"`
	Reason   string           `json:"reason"`
	Commands []CommandVerdict `json:"commands,omitempty"`
	Contract *Contract        `json:"-"`
	// Changed are runner files of a grant that would have covered the call, as they are now: they have changed since the
	// plan was submitted, so that the call is asked. The hash covers them.
	Changed []RunnerFile `json:"changed,omitempty"`
	// Obeyed are Changed and the other runner files that the call would obey, as they were judged: whoever asks a leader
	// carries out what the leader saw, or nothing.
	Obeyed []RunnerFile `json:"-"`
	Hash   string       `json:"hash,omitempty"` // of the exact call: tool, bytes and directory
	Rule   string       `json:"rule,omitempty"` // where the rule stands that denies or asks
}

// GrantIDs lists the grants that the decision rests on, each once, in order.
func (d Decision) GrantIDs() []string {
	var ids []string
	seen := map[string]bool{}
	for _, c := range d.Commands {
		if c.GrantID != "" && !seen[c.GrantID] {
			seen[c.GrantID] = true
			ids = append(ids, c.GrantID)
		}
	}
	return ids
}

// Contract is how an allowed Bash line is carried out, exactly as it was judged. It is used once, within ten seconds.
type Contract struct {
	Command string   // the bytes that were judged are the bytes that run
	Hash    string   // hex SHA-256 of them, the directory and the environment: see Sum
	Dir     string   // absolute; opened once, beneath Tree, and entered by that descriptor
	Tree    string   // absolute
	Env     []string // the whole environment, built from empty
	// Runners are the files that say what the command runs, as they were judged; whoever carries it out looks again.
	Runners []RunnerFile
}

// PermissionRequest asks a leader about one call (body of permission_request).
type PermissionRequest struct {
	RequestID  string           `json:"requestId"`
	Tool       string           `json:"tool"`
	Input      string           `json:"input"` // the line or the path, as it was given
	ToolCallID string           `json:"toolCallId,omitempty"`
	CallHash   string           `json:"callHash"`
	Change     string           `json:"change,omitempty"` // of an edit: what it would write
	Commands   []CommandVerdict `json:"commands,omitempty"`
	Cwd        string           `json:"cwd"`
}

// Behavior is a leader's answer to a permission request.
type Behavior string

// The behaviours, and the scopes of an allow.
const (
	BehaviorAllow Behavior = "allow"
	BehaviorDeny  Behavior = "deny"

	ScopeOnce Scope = "once" // this call: hash of argv and directory
	ScopePlan Scope = "plan" // an exact-argv grant of the approved plan
)

// Scope is how far an allow reaches.
type Scope string

// PermissionResponse is the answer's own part; planmode puts it under an order's head.
type PermissionResponse struct {
	CallHash string      `json:"callHash"`
	Behavior Behavior    `json:"behavior"`
	Scope    Scope       `json:"scope,omitempty"`
	Grant    *GrantTerms `json:"grant,omitempty"`
	Argv     []string    `json:"argv,omitempty"`
	Message  string      `json:"message,omitempty"`
}
