package teammate

import "errors"

var (
	// ErrDetach is the cause to cancel [Runner.Run]'s context with when the teammate is to be resumed later: no event is
	// taken, nothing ends but the process.
	ErrDetach = errors.New("teammate: detached, to be resumed")
	// ErrNotReady means that the runner has not joined its team yet, or has left it.
	ErrNotReady = errors.New("teammate: not joined: wait, then try again")
	// ErrLeft means that the session has ended.
	ErrLeft = errors.New("teammate: the teammate has left: start it again")
	// ErrMoved means that something happened between judging a call and beginning it: judge it again.
	ErrMoved = errors.New("teammate: the view has changed: judge the call again")
	// ErrNothingAsked means that there is no request to wait for.
	ErrNothingAsked = errors.New("teammate: no plan was submitted: submit one, then wait")
	// ErrUnattended means that nobody can be asked.
	ErrUnattended = errors.New("teammate: nobody can be asked in an unattended run")
	// ErrNotLifted means that a call is not one that a leader could let through: no mode and no answer lifts it.
	ErrNotLifted = errors.New("teammate: a leader's word does not lift this")
	// ErrAskVoid means that the answer that was stored for a call cannot be applied, and that its question has ended: it can
	// be asked again.
	ErrAskVoid = errors.New("teammate: the answer cannot be applied")
	// ErrAskEnded means that a call is asked no more: plan mode was entered, or it was interrupted.
	ErrAskEnded = errors.New("teammate: it is asked no more, and not allowed")
	// ErrPromptNotAllowed means that the teammate's own configuration does not let its plans ask for a prompt.
	ErrPromptNotAllowed = errors.New("teammate: prompt is not among those this teammate may ask for")
	// ErrBadAddressed means that a plan says to answer a comment that it cannot answer.
	ErrBadAddressed = errors.New("teammate: a comment cannot be answered so")
	// ErrAskPerson means that the person at the agent's client has to agree first: ask, then enter with the answer.
	ErrAskPerson = errors.New("teammate: the person at the client is to be asked first")
	// ErrBadReason means that the reason of a wish to plan is no text.
	ErrBadReason = errors.New("teammate: the reason cannot be shown to anybody")
	// ErrNoPlanMode means that the agent's client has no plan mode, as was said when it joined.
	ErrNoPlanMode = errors.New("teammate: this client has no plan mode: do not call this again; go on, and what a leader must allow is asked call by call")
	// ErrExitDenied means that a rule denies the tool that hands plans in.
	ErrExitDenied = errors.New("teammate: handing a plan in is denied by policy")
	// ErrOtherJournal means that the journal is of another teammate, or of another working tree: grants are bound to both.
	ErrOtherJournal = errors.New("teammate: the journal belongs elsewhere")
	// ErrInboxFull means that mail waits unread beyond what is kept.
	ErrInboxFull = errors.New("teammate: inbox is full: read the mail that waits")
	// ErrNothingOpen means that there is no request to take back.
	ErrNothingOpen = errors.New("teammate: nothing waits for a decision: there is nothing to withdraw")
	// ErrBadQuestion means that something cannot be asked.
	ErrBadQuestion = errors.New("teammate: the question cannot be asked")
	// ErrTooManyQuestions means that as many questions wait for an answer as may.
	ErrTooManyQuestions = errors.New("teammate: five questions wait for an answer already: wait for one, or decide from what you have")
	// ErrNoMail means that there is no mail with an id.
	ErrNoMail = errors.New("teammate: no such mail")
)
