package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

const wordsNudge = "You are still in plan mode, and your turn has ended without a plan that was handed in. Write the plan to its file and call ExitPlanMode; a leader decides about it. Nothing else ends plan mode."

const wordsResumed = "You were interrupted, and started again. What you had asked for was taken back. Go on with your task."

// wordsOwn is what an agent in a person's own session is told as it begins.
const wordsOwn = "You work as the teammate %s of a swarm. A leader, who may sit elsewhere, decides about your plan: ExitPlanMode waits for the leader's word, and a yes at this terminal is none. Commands are carried out by swarm; what was not granted is asked of the leader, which may take a while."

// wordsAnew says how a plan is handed in where the client has left its plan mode by itself.
const wordsAnew = "To hand a plan in, call EnterPlanMode and then ExitPlanMode."

// sayLater hands the agent a message that is no answer to a call.
func (a *Agent) sayLater(text string) {
	a.mu.Lock()
	w := a.wire
	if w == nil {
		a.early = append(a.early, text)
	}
	a.mu.Unlock()
	if w != nil {
		_ = a.tell(w, text) // or the next client is told
	}
}

// tell says something to the client, or to the next one where this one does not take it.
func (a *Agent) tell(w *wire, text string) error {
	err := a.say(w, text, func(handed bool) {
		if !handed {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.early = append(a.early, text)
		}
	})
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

func join(texts ...string) string {
	var some []string
	for _, t := range texts {
		if t != "" {
			some = append(some, t)
		}
	}
	return strings.Join(some, "\n\n")
}

const wordsSentBack = "A leader has sent you back into plan mode: stop what you are doing. What your plan was granted has ended. Read, think, write the plan to its file, then call ExitPlanMode. Mail of your leader may say why."

// Notify tells the agent something. What the answer to a tool's call says is not told again.
func (a *Agent) Notify(ctx context.Context, n planmode.Notify) error {
	text := noticeWords(n)
	back, err := a.sentBack(ctx, n)
	if back {
		text = wordsSentBack
	}
	w := a.toTell(n, text)
	if w == nil || err != nil {
		return err
	}
	return a.tell(w, text)
}

// toTell says on which wire a notice goes out now: none when it was told, comes with an answer, or waits for the client.
func (a *Agent) toTell(n planmode.Notify, text string) *wire {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := n.Key != "" && a.told[n.Key]
	if n.Key != "" {
		a.told[n.Key] = true
	}
	switch {
	case seen || text == "" || a.deciding > 0 && byAnswer(n.Kind):
		return nil
	case a.wire == nil || !a.spoken:
		a.early = append(a.early, text)
		return nil
	}
	return a.wire
}

// byAnswer reports whether the answer to ExitPlanMode tells the same.
func byAnswer(k planmode.NotifyKind) bool {
	switch k {
	case planmode.NotifyApproved, planmode.NotifyRejected, planmode.NotifyExpired, planmode.NotifyLeft, planmode.NotifyAwaiting, planmode.NotifyUndecidable:
		return true
	}
	return false
}

// noticeWords are a notice in words for the model, or "" where the client tells it by itself.
func noticeWords(n planmode.Notify) string {
	switch n.Kind {
	case planmode.NotifyHowToPlan, planmode.NotifyPresentState, planmode.NotifyCompleted, planmode.NotifyNotPlanning, planmode.NotifyAwaiting:
		return ""
	case planmode.NotifyApproved:
		return "Your plan is approved. Follow it strictly; it lies at " + n.Data.PlanFile + "." + after(notes(n.Data.Feedback, n.Data.Option))
	case planmode.NotifyRejected, planmode.NotifyExpired, planmode.NotifyUndecidable, planmode.NotifyLeft:
		return outcomeWords(string(n.Kind), n.Data.Feedback, n.Data.Comments, n.Data.Cause)
	case planmode.NotifyRevoked:
		return "A leader has taken back commands that your plan was granted: they are asked or refused from now on." + after(n.Data.Cause)
	case planmode.NotifyResubmit:
		return "What waited for a decision is void. You are in plan mode: call ExitPlanMode again with your plan." + after(n.Data.Cause)
	case planmode.NotifyFollow:
		return "You were started again while your plan is carried out: " + n.Data.Next
	case planmode.NotifyTasksDone:
		return "Every task of your plan is done. Check the result, and end your turn: the plan is complete then."
	case planmode.NotifyStillPlan, planmode.NotifyReentry:
		return "You are in plan mode: read, think, write the plan to its file, then call ExitPlanMode." + after(n.Data.Cause)
	}
	return ""
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

// wordsOf is an answer that is no approval.
func wordsOf(a teammate.Answer) string {
	return outcomeWords(string(a.Outcome), a.Feedback, a.Comments, a.Cause)
}

func outcomeWords(outcome, feedback string, comments []planmode.Comment, cause string) string {
	var b strings.Builder
	switch outcome {
	case "rejectedAndExit", "left":
		b.WriteString("Your leader has ended planning: the plan is not carried out, and nothing of it is granted.")
	case "expired":
		b.WriteString("Nobody decided about the plan in time. You are still in plan mode: change it or hand it in again.")
	case "rejected":
		b.WriteString("Your leader rejects the plan. You are still in plan mode: change the plan file, then call ExitPlanMode again.")
	default:
		b.WriteString("The plan was not decided (" + outcome + "). You are still in plan mode: call ExitPlanMode again.")
	}
	if feedback != "" {
		fmt.Fprintf(&b, "\n\nFeedback of your leader:\n%s", feedback)
	}
	for _, c := range comments {
		fmt.Fprintf(&b, "\n\nLine %d, %q:\n%s", c.Line, c.Quote, c.Text)
	}
	if feedback == "" && len(comments) == 0 && outcome == "rejected" {
		b.WriteString("\nNo reason was given: ask your leader what to change, or improve what is weakest.")
	}
	if cause != "" {
		fmt.Fprintf(&b, "\n(%s)", cause)
	}
	return b.String()
}

// notesOf is what an approval says besides the plan.
func notesOf(a teammate.Answer) string {
	text := notes(a.Feedback, a.Option)
	for _, c := range a.Comments {
		text += fmt.Sprintf("\nLine %d, %q: %s", c.Line, c.Quote, c.Text)
	}
	if text == "" {
		return ""
	}
	return "Your leader's word with the approval: " + strings.TrimSpace(text)
}

func notes(feedback, option string) string {
	var parts []string
	if option != "" {
		parts = append(parts, fmt.Sprintf("Carry out only the option %q.", option))
	}
	if feedback != "" {
		parts = append(parts, feedback)
	}
	return strings.Join(parts, " ")
}

// memory is what the client does not read itself, as a part of its system prompt.
func (a *Agent) memory() string { return strings.Join(a.cfg.Memory, "\n\n") }

// textsOf are the texts of a message's content.
func textsOf(raw json.RawMessage) (texts []string) {
	for _, b := range blocksOf(raw) {
		if b.Type == "text" && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

func modeIn(raw json.RawMessage) (string, error) {
	var r struct{ Mode string }
	if err := json.Unmarshal(raw, &r); err != nil || r.Mode == "" {
		return "", fmt.Errorf("claudecode: the client does not say which mode it is in: %.80q", raw)
	}
	return r.Mode, nil
}

// cut shortens a text of the client for one line.
func cut(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if utf8.RuneCountInString(s) > 300 {
		s = string([]rune(s)[:300]) + "..."
	}
	return s
}
