package gate

import (
	"context"
	"errors"
	"io/fs"
	"regexp"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
)

// known says what an error means to whoever called: an exit code, and a word to branch on.
var known = []struct {
	target error
	exit   int
	code   string
}{
	{errTimeout, exitPending, "pending"},
	{errClientGone, exitError, "gone"},
	{teammate.ErrNothingAsked, exitNoPlan, "no_plan"},
	{teammate.ErrBadAddressed, exitUsage, "bad_addressed"},
	{teammate.ErrPromptNotAllowed, exitUsage, "prompt_not_allowed"},
	{plandir.ErrOutside, exitUsage, "outside"},
	{teammate.ErrExitDenied, exitDenied, "denied"},
	{teammate.ErrNoPlanMode, exitUsage, "no_plan_mode"},
	{teammate.ErrBadReason, exitUsage, "bad_reason"},
	{planmode.ErrEntryRefused, exitDenied, "entry_refused"},
	{planmode.ErrPlanning, exitError, "planning"},
	{planmode.ErrNoTask, exitNotFound, "no_task"},
	{teammate.ErrNoMail, exitNotFound, "no_mail"},
	{teammate.ErrBadQuestion, exitUsage, "bad_question"},
	{teammate.ErrTooManyQuestions, exitError, "too_many_questions"},
	{teammate.ErrNotReady, exitAuth, "not_ready"},
	{teammate.ErrLeft, exitAuth, "left"},
	{teammate.ErrUnattended, exitDenied, "unattended"},
	{teammate.ErrNotLifted, exitDenied, "denied"},
	{teammate.ErrAskEnded, exitDenied, "denied"},
	{teammate.ErrAskVoid, exitDenied, "denied"},
	{teammate.ErrNothingOpen, exitNoPlan, "nothing_open"},
	{planmode.ErrTooManyAsks, exitDenied, "too_many_asks"},
	{planmode.ErrNotPlanning, exitError, "not_planning"},
	{planmode.ErrWrongState, exitError, "wrong_state"},
	{planmode.ErrEmptyPlan, exitUsage, "bad_plan"},
	{planmode.ErrBadPlan, exitUsage, "bad_plan"},
	{planmode.ErrBadPrompt, exitUsage, "bad_prompt"},
	{planmode.ErrBadOptions, exitUsage, "bad_options"},
	{planmode.ErrUnknownMode, exitUsage, "unknown_mode"},
	{planmode.ErrTargetPlan, exitUsage, "target_plan"},
	{planmode.ErrAboveCap, exitUsage, "above_cap"},
	{mailbox.ErrBadName, exitUsage, "bad_name"},
	{natsbox.ErrNoRecipient, exitNotFound, "no_recipient"},
	{natsbox.ErrNotFound, exitNotFound, "not_found"},
	{natsbox.ErrForbidden, exitAuth, "forbidden"},
	{natsbox.ErrMailboxFull, exitError, "mailbox_full"},
	{natsbox.ErrTooLarge, exitUsage, "too_large"},
	{natsbox.ErrUnreachable, exitNoBroker, "no_broker"},
	{context.Canceled, exitError, "ended"},
}

var packageName = regexp.MustCompile(`^(teammate|gate|journal|planmode|plans|plandir|repostate|permissions|execute|mailbox|charter|natsbox|coordinator)(/[a-z]+)*: `)

// explain makes an [Error] of any error. Names of our packages in front are for us.
func explain(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	out := &Error{Exit: exitError, Code: "error", Message: err.Error()}
	for _, k := range known {
		if errors.Is(err, k.target) {
			out.Exit, out.Code = k.exit, k.code
			break
		}
	}
	if bad := (*plans.ContentError)(nil); errors.As(err, &bad) {
		out.Exit, out.Code = exitUsage, "bad_plan"
	}
	if errors.Is(err, fs.ErrNotExist) {
		out.Exit, out.Code = exitNotFound, "no_file"
	}
	for packageName.MatchString(out.Message) {
		out.Message = packageName.ReplaceAllString(out.Message, "")
	}
	return out
}
