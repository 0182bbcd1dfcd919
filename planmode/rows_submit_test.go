package planmode_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

func prompts(p ...permissions.Prompt) func(*planmode.Submitted) {
	return func(ev *planmode.Submitted) { ev.Prompts = p }
}

func options(o ...plans.Option) func(*planmode.Submitted) {
	return func(ev *planmode.Submitted) { ev.Options = o }
}

func due(text string) func(*planmode.Submitted) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return func(ev *planmode.Submitted) { ev.Deadline = &at }
}

func requested(m permissions.Mode) func(*planmode.Submitted) {
	return func(ev *planmode.Submitted) { ev.RequestedMode = m }
}

func submitRows(t *testing.T) []row {
	const waits = "awaitingLeaderApproval plan acceptEdits"
	unpublished := must(t, planning(t), submit("r1", planA))
	rejected := must(t, awaiting(t), decide(awaiting(t), planmode.OutcomeRejected))
	otherBytes := submit("r2", planA)
	otherBytes.Plan = ref(planB)
	rows := []row{
		{name: "7-W-Submitted", from: working(t), ev: submit("r2", planA), err: planmode.ErrNotPlanning},
		{
			name: "10-P-Submitted", from: planning(t), ev: submit("r1", planA, options(ways...), requested(permissions.ModeDefault)), want: waits,
			effects: []string{"PublishRequest r1", "WatchDecision r1", "Emit plan.submitted", "ReportStatus"},
			check: func(t *testing.T, before, after planmode.Session, effects []planmode.Effect) {
				p := after.Pending
				if p.Published || p.Attempt != 1 || p.Revision != 1 || p.Epoch != 3 || p.Kind != planmode.AskPlan || p.Unchanged {
					t.Errorf("pending is %+v", p)
				}
				r := planmode.NewRequest(effects[0].(planmode.PublishRequest), planA)
				if r.Digest != p.Digest || r.ComputeDigest(team, mate) != p.Digest || r.SavedMode != before.Saved {
					t.Errorf("the request %+v is not about digest %s", r, p.Digest)
				}
			},
		},
		{
			name: "10-P-Submitted-the-rejected-bytes", from: rejected, ev: submit("r2", planA), want: waits,
			effects: []string{"PublishRequest r2", "WatchDecision r2", "Emit plan.submitted", "ReportStatus"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if !after.Pending.Unchanged || after.Pending.Revision != 2 {
					t.Errorf("pending is %+v, want revision 2 marked unchanged", after.Pending)
				}
			},
		},
		{
			name: "10-P-Submitted-other-bytes-than-rejected", from: rejected, ev: submit("r2", planB), want: waits,
			effects: []string{"PublishRequest r2", "WatchDecision r2", "Emit plan.submitted", "ReportStatus"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Pending.Unchanged {
					t.Error("other bytes are marked unchanged")
				}
			},
		},
		{name: "11-A-Submitted-same", from: awaiting(t), ev: submit("r2", planA), want: waits, effects: []string{"Notify awaiting"}, check: same},
		{name: "11-A-Submitted-same-id", from: awaiting(t), ev: submit("r1", planA), want: waits, effects: []string{"Notify awaiting"}, check: same},
		{name: "11-A-Submitted-same-unpublished", from: unpublished, ev: submit("r2", planA), want: waits, effects: []string{"PublishRequest r1", "Notify awaiting"}, check: same},
		{
			name: "12-A-Submitted-other", from: awaiting(t), ev: submit("r2", planB), want: waits,
			effects: []string{"StopWatch r1", "PublishRequest r2 over r1", "WatchDecision r2", "Emit plan.revised"},
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if after.Pending.Revision != 2 || after.Pending.Published {
					t.Errorf("pending is %+v", after.Pending)
				}
				wantSettled(t, after, "r1", planmode.SettledSuperseded)
			},
		},
		{
			name: "12-A-Submitted-fewer-prompts", from: awaiting(t), ev: submit("r2", planA, prompts(tests)), want: waits,
			effects: []string{"StopWatch r1", "PublishRequest r2 over r1", "WatchDecision r2", "Emit plan.revised"},
		},
		{
			name: "12-A-Submitted-over-leave", from: awaitingLeave(t), ev: submit("r2", planA), want: waits,
			effects: []string{"StopWatch r1", "PublishRequest r2 over r1", "WatchDecision r2", "Emit plan.revised"},
		},
		{
			name: "13-A-Published", from: unpublished, ev: planmode.Published{RequestID: "r1"}, want: waits,
			check: func(t *testing.T, _, after planmode.Session, _ []planmode.Effect) {
				if !after.Pending.Published {
					t.Error("not published")
				}
			},
		},
		{name: "14-A-Published-other", from: unpublished, ev: planmode.Published{RequestID: "r0"}, want: waits, check: same},
		{name: "14-P-Published", from: planning(t), ev: planmode.Published{RequestID: "r1"}, want: "planning plan acceptEdits", check: same},
		{name: "14-W-Published", from: working(t), ev: planmode.Published{RequestID: "r1"}, want: "working acceptEdits", check: same},
		{name: "8-P-Submitted-deadline-in-no-year", from: planning(t), ev: submit("r1", planA, due("9999-12-31T23:59:59-12:00")), err: planmode.ErrBadPlan},
		{name: "8-P-Submitted-other-bytes-than-stored", from: planning(t), ev: otherBytes, err: planmode.ErrBadPlan},
		{name: "9-P-Submitted-used-id", from: rejected, ev: submit("r1", planB), err: planmode.ErrUsedID},
		{name: "9-P-Submitted-id-of-an-ask", from: withAsk(t, planning(t)), ev: submit("a1", planB), err: planmode.ErrUsedID},
		{name: "9-A-Submitted-pending-id", from: awaiting(t), ev: submit("r1", planB), err: planmode.ErrUsedID},
		{name: "9-P-Submitted-no-id", from: planning(t), ev: submit("", planB), err: planmode.ErrUsedID},
	}
	for name, bad := range badPlans {
		rows = append(rows,
			row{name: "8-P-Submitted-" + name, from: planning(t), ev: submit("r2", bad.content), err: bad.err},
			row{name: "8-A-Submitted-" + name, from: awaiting(t), ev: submit("r2", bad.content), err: bad.err})
	}
	for name, bad := range badAsks {
		rows = append(rows,
			row{name: "9-P-Submitted-" + name, from: planning(t), ev: submit("r2", planB, bad.mod), err: bad.err},
			row{name: "9-A-Submitted-" + name, from: awaiting(t), ev: submit("r2", planB, bad.mod), err: bad.err})
	}
	return rows
}

var badPlans = map[string]struct {
	content []byte
	err     error
}{
	"empty":     {nil, planmode.ErrEmptyPlan},
	"blank":     {[]byte(" \t\r\n\u00a0"), planmode.ErrEmptyPlan},
	"invisible": {[]byte("\ufeff\u200b\n\u2800"), planmode.ErrEmptyPlan},
	"not-UTF-8": {[]byte("# Plan \xff"), planmode.ErrBadPlan},
	"NUL":       {[]byte("# Plan\x00"), planmode.ErrBadPlan},
	"too-large": {[]byte(strings.Repeat("x", plans.MaxBytes+1)), planmode.ErrBadPlan},
}

var badAsks = map[string]struct {
	mod func(*planmode.Submitted)
	err error
}{
	"tool":             {prompts(permissions.Prompt{Tool: "Edit", Prompt: "edit files"}), planmode.ErrBadPrompt},
	"no-tool":          {prompts(tests, permissions.Prompt{Prompt: "run tests"}), planmode.ErrBadPrompt},
	"empty-prompt":     {prompts(permissions.Prompt{Tool: "Bash", Prompt: " "}), planmode.ErrBadPrompt},
	"long-prompt":      {prompts(permissions.Prompt{Tool: "Bash", Prompt: strings.Repeat("x", planmode.MaxPromptBytes+1)}), planmode.ErrBadPrompt},
	"prompt-not-UTF-8": {prompts(permissions.Prompt{Tool: "Bash", Prompt: "run \xff"}), planmode.ErrBadPrompt},
	"many-prompts":     {prompts(make([]permissions.Prompt, planmode.MaxPrompts+1)...), planmode.ErrBadPrompt},
	"four-options":     {options(plans.Option{Label: "A"}, plans.Option{Label: "B"}, plans.Option{Label: "C"}, plans.Option{Label: "D"}), planmode.ErrBadOptions},
	"five-options":     {options(plans.Option{Label: "A"}, plans.Option{Label: "B"}, plans.Option{Label: "C"}, plans.Option{Label: "D"}, plans.Option{Label: "E"}), planmode.ErrBadOptions},
	"same-label":       {options(plans.Option{Label: "Cents"}, plans.Option{Label: "cents"}), planmode.ErrBadOptions},
	"reserved-label":   {options(plans.Option{Label: "Reject and Exit"}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"blank-label":      {options(plans.Option{Label: " "}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"padded-label":     {options(plans.Option{Label: "A "}, plans.Option{Label: "A"}), planmode.ErrBadOptions},
	"label-lines":      {options(plans.Option{Label: "A\nB"}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"long-label":       {options(plans.Option{Label: strings.Repeat("长", 81)}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"label-not-UTF-8":  {options(plans.Option{Label: "A\xff"}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"text-not-UTF-8":   {options(plans.Option{Label: "A", Description: "\xff"}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"long-description": {options(plans.Option{Label: "A", Description: strings.Repeat("x", 501)}, plans.Option{Label: "B"}), planmode.ErrBadOptions},
	"two-recommended":  {options(plans.Option{Label: "A", Recommended: true}, plans.Option{Label: "B", Recommended: true}), planmode.ErrBadOptions},
	"unknown-mode":     {requested("turbo"), planmode.ErrUnknownMode},
	"mode-plan":        {requested(permissions.ModePlan), planmode.ErrTargetPlan},
	"mode-above-cap":   {requested(permissions.ModeBypass), planmode.ErrAboveCap},
}

func wantSettled(t *testing.T, s planmode.Session, id string, outcome planmode.SettledOutcome) {
	t.Helper()
	for _, d := range s.Settled {
		if d.RequestID == id && d.Outcome == outcome && d.Receipt.Of == id {
			return
		}
	}
	t.Errorf("settled are %+v, want %s %s", s.Settled, id, outcome)
}
