package planmode

import (
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// dialects are the ways to speak about plan mode. swarm's own is the strict one.
var dialects = []Dialect{swarmDialect, claudeDialect, geminiDialect, kimiDialect, kimiCodeDialect}

var swarmDialect = Dialect{
	Name:      "swarm",
	Tools:     Tools{Enter: "enter_plan_mode", Exit: "exit_plan_mode", Reason: "reason", Path: []string{"path"}},
	Entry:     Entry{Confirm: ConfirmNobody, Unattended: ConfirmNobody},
	Labels:    plans.LabelRules{Max: plans.MaxOptions},
	Answers:   Answers{Approve: "approved", Reject: "rejected", RejectAndExit: "rejectedAndExit", Revise: "rejected", Feedback: true},
	Reminders: Cadence{Every: 5, Full: 5, FullAfterPerson: true, OnLeaving: true},
}

var claudeDialect = Dialect{
	Name:  "claude",
	Tools: Tools{Enter: "EnterPlanMode", Exit: "ExitPlanMode", Path: []string{"planFilePath"}, Text: "plan"},
	Entry: Entry{
		Confirm: ConfirmPerson, Unattended: ConfirmNobody,
		Unasked: []permissions.Mode{permissions.ModeAuto, permissions.ModeBypass},
	},
	Labels:    plans.LabelRules{Max: plans.MaxOptions},
	Answers:   Answers{Approve: "allow", Reject: "deny", RejectAndExit: "deny", Revise: "deny", Feedback: true},
	Reminders: Cadence{Every: 5, Full: 5, OnLeaving: true},
	Differences: []Difference{
		{"the lead's process approves before its leader has read the plan", "a request waits until a leader has signed", 3},
		{"a teammate takes an answer to another request", "an answer names the request and the digest", 1},
		{"allowedPrompts are granted for the rest of the session", "a grant is bound to its plan, tree, uses and time", 6},
		{"a hook that times out or crashes lets the plan pass", "what cannot decide in time denies", 9},
	},
}

var geminiDialect = Dialect{
	Name:  "gemini",
	Tools: Tools{Enter: "enter_plan_mode", Exit: "exit_plan_mode", Reason: "reason", Path: []string{"plan_filename", "plan_path"}},
	Entry: Entry{
		Confirm: ConfirmPerson, Unattended: ConfirmNobody, TwiceIsError: true,
		Refused: []permissions.Mode{permissions.ModeBypass},
	},
	Labels:    plans.LabelRules{Max: plans.MaxOptions},
	Answers:   Answers{Approve: "proceed_once", Reject: "cancel", RejectAndExit: "cancel", Revise: "cancel"},
	Reminders: Cadence{OnLeaving: true},
	Differences: []Difference{
		{"headless, or allowed by a policy, a plan is approved that is missing or blank", "path, existence and content are checked on each way, before anybody is asked", 3},
		{"headless, or allowed by a policy, a plan is approved without anybody's word, and the mode becomes yolo", "a named policy signs an approval, and the saved mode comes back", 3},
		{"a hook that crashes or times out approves", "what cannot decide in time denies", 9},
		{"any folder of the project can be the plans folder, the project itself too", "a folder that holds other files than plans is not taken", 7},
		{"the mode after an approval without one is default", "a decision always names the mode that the leader saw", 5},
	},
}

var kimiDialect = Dialect{
	Name:  "kimi",
	Tools: Tools{Enter: "EnterPlanMode", Exit: "ExitPlanMode"},
	Entry: Entry{
		Confirm: ConfirmPerson, Unattended: ConfirmNobody, TwiceIsError: true,
		Unasked: []permissions.Mode{permissions.ModeBypass},
	},
	Labels:    plans.LabelRules{Max: plans.MaxOptions, CaseSensitive: true},
	Answers:   Answers{Approve: "Approve", Reject: "Reject", RejectAndExit: "Reject and Exit", Revise: "Revise", Feedback: true},
	Reminders: Cadence{Every: 5, Full: 5},
	FreshFile: true,
	Differences: []Difference{
		{"away from keyboard, a plan is approved by itself", "only a leader's signature approves", 11},
		{"the shell is not blocked while planning", "known writes and runs are denied at the tool boundary", 7},
		{"an approval for the session is one for whatever waits with the same action", "an allow is for exactly one call, or bound to the plan", 6},
		{"a client that cannot show the plan counts as a dismissal", "it is an error of the adapter, and the plan stays open", 3},
	},
}

var kimiCodeDialect = Dialect{
	Name:   "kimi-code",
	Tools:  Tools{Enter: "EnterPlanMode", Exit: "ExitPlanMode"},
	Entry:  Entry{Confirm: ConfirmNobody, Unattended: ConfirmNobody, TwiceIsError: true},
	Labels: plans.LabelRules{Max: plans.MaxOptions},
	Answers: Answers{
		Approve: "plan_approve", Reject: "reject", RejectAndExit: "plan_reject_and_exit", Revise: "plan_revise", Option: "plan_opt_%d",
	},
	Reminders: Cadence{Every: 2, FullAfter: 5, FullAfterPerson: true, OnLeaving: true},
	FreshFile: true,
	Differences: []Difference{
		{"in auto, a plan is approved by itself", "only a leader's signature approves", 11},
		{"in auto and yolo the shell is free while planning", "known writes and runs are denied at the tool boundary", 7},
	},
}
