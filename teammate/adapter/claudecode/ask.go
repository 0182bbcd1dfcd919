package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/planswarm/swarm/mailbox/wholefile"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
)

type object = map[string]any

func denies(format string, args ...any) object {
	return object{"behavior": "deny", "message": fmt.Sprintf(format, args...)}
}

// allows lets a tool be used with an input, which 2.1.199 and later require in the answer.
func allows(input map[string]any) object {
	if input == nil {
		input = object{}
	}
	return object{"behavior": "allow", "updatedInput": input}
}

// serve answers a request of the client. It waits for people as long as that takes: the client has no limit here.
func (a *Agent) serve(ctx context.Context, id string, q controlRequest) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.mu.Lock()
	a.asked[id] = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.asked, id)
	}()
	var answer any
	if q.Subtype == "can_use_tool" {
		answer = a.mayUse(ctx, q)
	} else {
		answer = denies("swarm does not answer %q", q.Subtype)
	}
	if ctx.Err() == nil {
		_ = a.wire.answer(id, answer) // a client that is gone asks no more
	}
}

// errCancelled means that the client does not wait for an answer any more.
var errCancelled = errors.New("claudecode: the client asks no more")

func (a *Agent) cancel(id string) {
	a.mu.Lock()
	cancel := a.asked[id]
	a.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

// mayUse asks whoever has to be asked whether a tool may be used.
func (a *Agent) mayUse(ctx context.Context, q controlRequest) object {
	switch q.ToolName {
	case "ExitPlanMode":
		if answer, yes := a.takeAnswer(q.ToolUseID, q.Input); yes {
			return a.decided(answer, q.Input)
		}
		if revision, yes := a.notPutOff(q.ToolUseID); yes {
			defer a.decides()()
			return a.await(ctx, revision, q.Input)
		}
		return a.plan(ctx, q.Input)
	case "AskUserQuestion":
		return a.question(ctx, q.Input)
	}
	call := callOf(q.ToolName, q.Input, a.standsIn(q.ToolUseID))
	if d, decided := a.ownPlanFile(call); decided {
		return a.answerOf(d, call, q.Input, "")
	}
	j, err := a.gate.Judge(ctx, call, true)
	switch {
	case err != nil:
		return denies("%s", why(err))
	case j.Decision.Verdict != permissions.Allow:
		a.runner.Refused(call, j.Decision, j.Decision.Reason)
		return denies("%s", j.Decision.Reason+a.runner.Again(call, j.Decision))
	}
	return a.answerOf(j.Decision, call, q.Input, a.permit(call, j))
}

// answerOf turns a verdict into an answer. A command that may run is rewritten, so that it runs in the runner.
func (a *Agent) answerOf(d permissions.Decision, call permissions.Call, input map[string]any, permit string) object {
	if d.Verdict != permissions.Allow {
		return denies("%s", d.Reason)
	}
	return allows(a.rewritten(call, input, permit))
}

// rewritten is the input of a Bash call that a permit carries out. Other inputs stay as they are.
func (a *Agent) rewritten(call permissions.Call, input map[string]any, permit string) map[string]any {
	if _, isLine := input["command"].(string); !isLine || permit == "" {
		return input
	}
	out := maps.Clone(input)
	line := a.cfg.command("exec", "--permit", permit)
	if dir := endsIn(call.Command, call.Cwd); dir != "" {
		line = thenIn(line, dir)
	}
	out["command"] = line
	delete(out, "dangerouslyDisableSandbox")
	return out
}

// plan hands a plan in and waits for its answer, which the tool's call then ends with.
func (a *Agent) plan(ctx context.Context, input map[string]any) object {
	v, ok := a.runner.View()
	if !ok {
		return denies("%s", why(teammate.ErrNotReady))
	}
	if v.State == planmode.Working {
		return denies("you are not in plan mode: go on with your work")
	}
	sub, err := a.submission(input)
	if err != nil {
		return denies("%s", err)
	}
	defer a.decides()()
	pending, err := a.runner.Submit(ctx, sub)
	if err != nil {
		return denies("the plan was not handed in: %s", why(err))
	}
	return a.await(ctx, pending.Revision, input)
}

// await waits for the word about a revision that was handed in.
func (a *Agent) await(ctx context.Context, revision int, input map[string]any) object {
	answer, err := a.runner.WaitDecision(ctx, revision)
	if err != nil {
		if errors.Is(context.Cause(ctx), errCancelled) {
			_ = a.runner.Withdraw(context.WithoutCancel(ctx)) // nobody waits for it; one that is decided meanwhile stays so
		}
		return denies("no leader has answered, and you are still in plan mode: %s", why(err))
	}
	return a.decided(answer, input)
}

// submission keeps the plan where plans are handed in. The client sends its text; its own file is read by nobody.
func (a *Agent) submission(input map[string]any) (teammate.Submission, error) {
	text, _ := input["plan"].(string)
	if strings.TrimSpace(text) == "" {
		return teammate.Submission{}, errors.New("the plan is empty: write it to the plan file first, then call ExitPlanMode again")
	}
	if err := wholefile.Write(a.cfg.PlanFile, []byte(text)); err != nil {
		return teammate.Submission{}, fmt.Errorf("the plan cannot be kept: %w", err)
	}
	sub := teammate.Submission{Path: a.cfg.PlanFile}
	var more struct {
		AllowedPrompts []struct{ Tool, Prompt string }
		Options        []plans.Option
	}
	if err := json.Unmarshal([]byte(mustJSON(input)), &more); err != nil {
		return sub, fmt.Errorf("allowedPrompts or options cannot be read: %w", err)
	}
	for _, p := range more.AllowedPrompts {
		if p.Tool != "Bash" {
			return sub, fmt.Errorf("allowedPrompts: a prompt for %q cannot be granted: ask for Bash prompts only", p.Tool)
		}
		sub.Prompts = append(sub.Prompts, p.Prompt)
	}
	sub.Options = more.Options
	return sub, nil
}

// decided is the answer to ExitPlanMode. The mode and the grants are in force already.
func (a *Agent) decided(answer teammate.Answer, input map[string]any) object {
	if answer.Outcome != planmode.OutcomeApproved {
		return denies("%s", wordsOf(answer))
	}
	approved, err := os.ReadFile(answer.PlanFile)
	if err != nil {
		return denies("the plan is approved, and cannot be read: %v", err)
	}
	if notes := notesOf(answer); notes != "" {
		a.sayLater(notes) // it comes with the next turn; the approval stands
	}
	out := withoutPlan(input)
	if answer.Edited {
		out["plan"] = string(approved)
	}
	return opens(out, answer.Mode)
}

// withoutPlan is the input of ExitPlanMode as it is answered: with a plan in it, 2.1.197 tells the model that a person edited
// it (measured).
func withoutPlan(input map[string]any) map[string]any {
	out := maps.Clone(input)
	delete(out, "plan")
	return out
}

// opens lets the client out of its plan mode, into the mode that a leader's word has put in force already.
func opens(input map[string]any, mode permissions.Mode) object {
	return object{
		"behavior": "allow", "updatedInput": input,
		"updatedPermissions": []any{object{"type": "setMode", "mode": clientMode(mode), "destination": "session"}},
	}
}

// question hands the questions of the agent to the leaders, one after the other.
func (a *Agent) question(ctx context.Context, input map[string]any) object {
	var in struct {
		Questions []struct {
			Question string
			Options  []struct{ Label, Description string }
		}
	}
	if err := json.Unmarshal([]byte(mustJSON(input)), &in); err != nil || len(in.Questions) == 0 {
		return denies("the questions cannot be read: ask them again, each with its text")
	}
	answers := object{}
	for _, q := range in.Questions {
		var labels []string
		for _, o := range q.Options {
			labels = append(labels, o.Label)
		}
		reply, err := a.runner.AskQuestion(ctx, q.Question, labels)
		if err != nil {
			return denies("%s", why(err))
		}
		if !reply.Answered {
			return denies("%s", reply.Text)
		}
		answers[q.Question] = strings.TrimSpace(reply.Option + " " + reply.Text)
	}
	out := maps.Clone(input)
	out["answers"] = answers
	return allows(out)
}

// why is an error in words for the model.
func why(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "teammate: "), "planmode: ")
}

// maxAsked bounds the uses of tools that are known and were not asked about.
const maxAsked = 1000

// willAsk notes where a use of a tool stands: the client does not say it again when it asks.
func (a *Agent) willAsk(toolUse, cwd string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stands == nil || len(a.stands) >= maxAsked { // they stand in the tree then
		a.stands = map[string]string{}
	}
	a.stands[toolUse] = cwd
}

// standsIn is where a use of a tool stands that the client asks about.
func (a *Agent) standsIn(toolUse string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	cwd, known := a.stands[toolUse]
	delete(a.stands, toolUse)
	if !known {
		return a.cfg.Tree
	}
	return cwd
}
