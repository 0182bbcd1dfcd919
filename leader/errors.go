package leader

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Exit codes of the errors of this package (CONFIG.md 7).
const (
	exitUsage    = 2
	exitAuth     = 4
	exitStale    = 6
	exitPending  = 8
	exitLost     = 7
	exitDecided  = 13
	exitNotFound = 15
)

// Names of the errors, for machines. They stand in "code" of the JSON error.
const (
	NameUnknownRequest  = "unknown_request"
	NameNameNotID       = "name_not_id"
	NameSuperseded      = "superseded"
	NameWithdrawn       = "withdrawn"
	NameAlreadyDecided  = "already_decided"
	NameNeedsConfirm    = "confirm"
	NameAboveCap        = "above_cap"
	NameNotALeader      = "not_a_leader"
	NameNeedsPerson     = "needs_person"
	NameWeakKey         = "weak_key"
	NameOutvoted        = "outvoted"
	NameNeedsSignatures = "needs_signatures"
	NameGrantNotAsked   = "grant_not_asked"
	NameGrantTooWide    = "grant_too_wide"
	NameOddRequest      = "odd_request"
	NameNeedsOption     = "needs_option"
	NameMovedFiles      = "moved"
	NameBadChoice       = "bad_choice"
	NameVoidDecision    = "void_decision"
	NameAmbiguous       = "ambiguous"
	NameNotApplied      = "not_applied"
	NameStale           = "stale"
	NameNoTeammate      = "no_teammate"
	NameNoRecipient     = "no_recipient"
	NameUnknownGrant    = "unknown_grant"
	NameGrantEnded      = "grant_ended"
	NameBadEdit         = "bad_edit"
	NameNoPrevious      = "no_previous"
)

// Error is what a person or a script is told: an exit code, a name for machines, what is wrong, and what to do next.
// Every foreign word in it has been made visible.
type Error struct {
	Code    int    `json:"-"`    // exit code
	Name    string `json:"code"` // e.g. "unknown_request"
	Message string `json:"message"`
	Next    string `json:"next"`

	sep string // between Message and Next; ": " when empty
	err error
}

// Error returns the whole line, without "swarm: " before it.
func (e *Error) Error() string {
	if e.Next == "" {
		return e.Message
	}
	sep := e.sep
	if sep == "" {
		sep = ": "
	}
	return e.Message + sep + e.Next
}

// Unwrap returns the cause, for [errors.Is].
func (e *Error) Unwrap() error { return e.err }

// IsError reports whether err is an [Error] of one of the names.
func IsError(err error, names ...string) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, n := range names {
		if e.Name == n {
			return true
		}
	}
	return false
}

// errUnknownRequest names what waits and may have been meant, else the teammates that may have been.
func errUnknownRequest(id string, near, teammates []string) error {
	next := "swarm inbox lists all"
	if len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + " (waiting)? " + next
	} else if len(teammates) > 0 {
		next = "did you mean " + strings.Join(teammates, " or ") + "? " + next
	}
	return &Error{Code: exitNotFound, Name: NameUnknownRequest, Message: "no request " + quote(id), Next: next}
}

func errNameNotID(verb, name string, waiting *Row) error {
	if waiting == nil {
		return &Error{
			Code: exitUsage, Name: NameNameNotID, Message: quote(name) + " is a teammate, not a request, and asks nothing now",
			Next: "swarm inbox lists what waits", sep: "; ",
		}
	}
	return &Error{
		Code: exitUsage, Name: NameNameNotID, sep: "; ",
		Message: fmt.Sprintf("%s is a teammate, not a request: its %s is %s", quote(name), waiting.noun(), waiting.Label()),
		Next:    fmt.Sprintf("read it with swarm show %s, then %s %s", plans.VisibleLine(name), plans.VisibleLine(verb), waiting.Handle),
	}
}

func errSuperseded(old, by *Row) error {
	e := &Error{Code: exitStale, Name: NameSuperseded, sep: "; ", Next: "swarm inbox lists what waits"}
	e.Message = old.Label() + " was replaced: nothing was approved"
	if by != nil {
		e.Message = fmt.Sprintf("%s was replaced by %s at %s: nothing was approved", old.Label(), by.Label(), clock(by.StoredAt))
		e.Next = "swarm show " + by.Handle + " --diff"
	}
	return e
}

func errWithdrawn(r *Row) error {
	return &Error{
		Code: exitStale, Name: NameWithdrawn, sep: "; ",
		Message: fmt.Sprintf("%s was withdrawn by %s (%s): nothing was approved", r.Label(), plans.VisibleLine(r.From), plans.VisibleLine(r.Withdrawn)),
		Next:    "swarm inbox lists what waits",
	}
}

// DecidedError says that somebody else's decision is the one that is stored. It wraps an [Error].
type DecidedError struct {
	By string    // the winner's name in the charter, proved by its signature
	At time.Time // when it says it decided

	err *Error
}

// Error implements error.
func (e *DecidedError) Error() string { return e.err.Error() }

// Unwrap returns the [Error].
func (e *DecidedError) Unwrap() error { return e.err }

// errAlreadyDecided says who was first: somebody else, a rule with my key, or I myself. A plan that its teammate was
// recalled from is not recalled again.
func errAlreadyDecided(r *Row, me string, by mailbox.DecidedBy, verb string, at time.Time) error {
	who := plans.VisibleLine(by.Name)
	message := fmt.Sprintf("%s %s %s at %s, before you: your decision was not recorded", who, verb, r.Handle, clock(at))
	if by.Name == me && RuleOf(by) == "" {
		message = fmt.Sprintf("you %s %s at %s: nothing more was recorded", verb, r.Handle, clock(at))
	}
	next := "what was decided: swarm show " + r.Handle
	if verb == verbApproved {
		next = "to take it back: swarm recall " + plans.VisibleLine(r.From)
	}
	if rec := r.Recalled; rec != nil {
		message += fmt.Sprintf(", and %s was recalled by %s at %s", plans.VisibleLine(r.From), plans.VisibleLine(rec.By), clock(rec.At))
		next = "swarm inbox lists what waits"
	}
	return &DecidedError{By: by.Name, At: at, err: &Error{
		Code: exitDecided, Name: NameAlreadyDecided, sep: "; ", Message: message, Next: next,
	}}
}

func errVoid(r *Row, cause error) error {
	return &Error{
		Code: exitStale, Name: NameVoidDecision, err: cause,
		Message: fmt.Sprintf("the slot of %s holds something that no leader signed: your decision was not recorded", r.Handle),
		Next:    fmt.Sprintf("%s refuses it and asks again under a new id; swarm inbox", plans.VisibleLine(r.From)),
	}
}

func errNotALeader(key string, m charter.Member, known bool, team string) error {
	who := "key " + shortKey(key)
	message := who + " is no member of team " + plans.VisibleLine(team)
	switch {
	case known && m.Role != charter.RoleLeader:
		message = fmt.Sprintf("%s (%s) is %s, not a leader of team %s", who, plans.VisibleLine(m.Name), article(string(m.Role)), plans.VisibleLine(team))
	case known:
		message = fmt.Sprintf("%s (%s) is a leader of team %s no more", who, plans.VisibleLine(m.Name), plans.VisibleLine(team))
	}
	name := "NAME"
	if m.Role == charter.RoleLeader {
		name = plans.VisibleLine(m.Name)
	}
	return &Error{
		Code: exitAuth, Name: NameNotALeader, Message: message,
		Next: fmt.Sprintf(`ask the owner for "swarm team invite %s --role leader"`, name),
	}
}

// errAnswered says that a question has its answer.
func errAnswered(r *Row, a natsbox.AnswerInfo) error {
	return &DecidedError{By: a.By, At: a.StoredAt, err: &Error{
		Code: exitDecided, Name: NameAlreadyDecided, sep: "; ",
		Message: fmt.Sprintf("%s answered %s at %s, before you: %s takes the first answer", plans.VisibleLine(a.By), r.Handle, clock(a.StoredAt), plans.VisibleLine(r.From)),
		Next:    "what was answered: swarm show " + r.Handle,
	}}
}

func errOdd(r *Row, problem error) error {
	return &Error{
		Code: exitStale, Name: NameOddRequest, err: problem,
		Message: fmt.Sprintf("%s cannot be decided (%s)", r.Handle, plans.VisibleLine(problem.Error())),
		Next:    fmt.Sprintf("tell %s to submit again", plans.VisibleLine(r.From)),
	}
}

// quote is foreign text in double quotes, made visible and cut to a readable length.
func quote(s string) string { return `"` + plans.Cut(plans.VisibleLine(s), 60) + `"` }

func shortKey(key string) string {
	if len(key) < 8 {
		return plans.VisibleLine(key)
	}
	return plans.VisibleLine(key[:4]) + "…" + plans.VisibleLine(key[len(key)-2:])
}

func article(noun string) string {
	if strings.HasPrefix(noun, "o") {
		return "an " + noun
	}
	return "a " + noun
}

func clock(t time.Time) string { return t.Local().Format("15:04") }

func errAmbiguous(id string, rows []*Row) error {
	var longer []string
	for _, r := range rows {
		longer = append(longer, r.Handle)
	}
	return &Error{
		Code: exitUsage, Name: NameAmbiguous, Message: quote(id) + " is more than one request",
		Next: "write " + strings.Join(longer, " or "),
	}
}

func errNeedsPerson(r *Row, reason string) error {
	return &Error{
		Code: exitAuth, Name: NameNeedsPerson, err: planmode.ErrNeedsPerson,
		Message: fmt.Sprintf("the charter does not let this key decide %s (%s)", r.Handle, plans.VisibleLine(reason)),
		Next:    "ask a person among the leaders",
	}
}

func errWeakKey(r *Row, reason string) error {
	return &Error{
		Code: exitAuth, Name: NameWeakKey, err: planmode.ErrWeakKey,
		Message: fmt.Sprintf("the charter does not let this key decide %s (%s)", r.Handle, plans.VisibleLine(reason)),
		Next:    "ask a leader whose key is kept better",
	}
}

func errNeedsSignatures(r *Row, reason string) error {
	return &Error{
		Code: exitAuth, Name: NameNeedsSignatures, err: planmode.ErrQuorum,
		Message: fmt.Sprintf("%s needs more signatures (%s)", r.Handle, plans.VisibleLine(reason)),
		Next:    "ask another leader to sign with you",
	}
}

// explain turns what the teammate would refuse into an [Error].
func explain(err error, r *Row, c charter.Charter) error {
	_, why, _ := strings.Cut(err.Error(), "planmode: ")
	switch {
	case errors.Is(err, planmode.ErrNeedsPerson):
		return errNeedsPerson(r, reasonOf(err))
	case errors.Is(err, planmode.ErrWeakKey):
		return errWeakKey(r, reasonOf(err))
	case errors.Is(err, planmode.ErrQuorum):
		return errNeedsSignatures(r, reasonOf(err))
	case errors.Is(err, planmode.ErrAboveCap):
		return &Error{Code: exitUsage, Name: NameAboveCap, Message: why, err: err, Next: "choose " + choosable(c.Caps.Mode)}
	case errors.Is(err, planmode.ErrGrantNotAsked):
		return &Error{Code: exitUsage, Name: NameGrantNotAsked, Message: why, err: err}
	case errors.Is(err, planmode.ErrDigestMismatch), errors.Is(err, planmode.ErrStaleDecision):
		return &Error{Code: exitStale, Name: NameStale, Message: why, err: err, Next: "read it again with swarm show " + r.Handle}
	default:
		return &Error{Code: exitUsage, Name: NameBadChoice, Message: why, err: err}
	}
}

// reasonOf is what stands behind the sentinel's own text.
func reasonOf(err error) string {
	parts := strings.SplitN(err.Error(), ": ", 3)
	return parts[len(parts)-1]
}
