package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
)

// Version is the version of the gate's protocol. Client and gate are the same program, so another one is refused.
const Version = 1

// Verb is what is asked of the gate.
type Verb string

// The closed list of verbs.
const (
	VerbEnter    Verb = "plan.enter"    // EnterArgs -> teammate.Status
	VerbPath     Verb = "plan.path"     // no args -> PathResult
	VerbSubmit   Verb = "plan.submit"   // SubmitArgs -> teammate.PendingStatus
	VerbWait     Verb = "plan.wait"     // WaitArgs -> teammate.Answer
	VerbStatus   Verb = "plan.status"   // no args -> teammate.Status
	VerbLeave    Verb = "plan.leave"    // LeaveArgs -> teammate.Status
	VerbDone     Verb = "plan.done"     // no args -> teammate.Status
	VerbView     Verb = "plan.view"     // no args -> teammate.PlanView
	VerbClear    Verb = "plan.clear"    // no args -> teammate.Status
	VerbTasks    Verb = "task.list"     // no args -> []planmode.TaskState
	VerbTask     Verb = "task.mark"     // TaskArgs -> []planmode.TaskState
	VerbWithdraw Verb = "plan.withdraw" // no args -> teammate.Status
	VerbCheck    Verb = "check"         // CheckArgs -> permissions.Decision
	VerbHook     Verb = "hook"          // HookArgs -> what the client's hook answers; only where Config.Hook is set
	VerbExec     Verb = "exec"          // ExecArgs -> ExecResult, and output
	VerbEdit     Verb = "edit"          // EditArgs -> EditResult
	VerbSend     Verb = "mail.send"     // SendArgs -> SendResult
	VerbRecv     Verb = "mail.recv"     // RecvArgs -> []teammate.Letter
	VerbRead     Verb = "mail.read"     // ReadArgs -> teammate.Letter
	VerbTrace    Verb = "mail.trace"    // ReadArgs -> natsbox.Trace
	VerbAsk      Verb = "ask"           // AskArgs -> AskResult
	VerbAttack   Verb = "attack"        // AttackArgs -> AttackResult; only where Config.Attack is set
)

// The exit codes that a gate answers with (CONFIG.md 7). A command's own status comes besides.
const (
	exitOK         = 0
	exitError      = 1
	exitUsage      = 2
	exitRejected   = 3
	exitAuth       = 4
	exitExpired    = 5
	exitStale      = 6
	exitPending    = 8
	exitNoPlan     = 10
	exitDenied     = 11
	exitAsk        = 12
	exitNoBroker   = 14
	exitNotFound   = 15
	exitRefusedRun = 126
)

// Request is what a client asks.
type Request struct {
	V    int             `json:"v"`
	Verb Verb            `json:"verb"`
	Args json.RawMessage `json:"args,omitempty"`
	Cwd  string          `json:"cwd,omitempty"` // absolute; of the client
}

// line is one line of an answer: output, or the end. After the end a client that has handed the result on says so with a
// line of its own, whatever is in it: only then is what it was given read, or seen.
type line struct {
	Out    []byte          `json:"out,omitempty"`
	Err    []byte          `json:"err,omitempty"`
	Exit   *int            `json:"exit,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
	Urgent string          `json:"urgent,omitempty"` // who has written urgent mail that is not read
	Remind string          `json:"remind,omitempty"` // what the agent is told again about plan mode
}

// Error is why something was not done. Message ends with what to do next, or Next says it.
type Error struct {
	Exit    int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// Error returns the message and what to do next.
func (e *Error) Error() string {
	if e.Next == "" {
		return e.Message
	}
	return e.Message + ": " + e.Next
}

func fail(exit int, code, next, format string, args ...any) *Error {
	return &Error{Exit: exit, Code: code, Message: fmt.Sprintf(format, args...), Next: next}
}

// EnterArgs is a wish to plan.
type EnterArgs struct {
	Reason string `json:"reason,omitempty"` // for people
}

// TaskArgs says how far a task is.
type TaskArgs struct {
	ID     string              `json:"id"`
	Status planmode.TaskStatus `json:"status"`
	Note   string              `json:"note,omitempty"`
}

// PathResult is where the plan is to be written.
type PathResult struct {
	Path string `json:"path"`
}

// SubmitArgs hands a plan file in.
type SubmitArgs struct {
	Path          string           `json:"path,omitempty"` // relative to Cwd; empty: the plan file
	Prompts       []string         `json:"prompts,omitempty"`
	Options       []plans.Option   `json:"options,omitempty"`
	RequestedMode permissions.Mode `json:"requestedMode,omitempty"`
	Deadline      *time.Time       `json:"deadline,omitempty"`
	// Addresses says which comments of the last decision this answers.
	Addresses []planmode.Addressed `json:"addresses,omitempty"`
}

// WaitArgs waits for a decision.
type WaitArgs struct {
	Revision  int   `json:"revision,omitempty"`  // 0: the last one
	TimeoutMS int64 `json:"timeoutMs,omitempty"` // 0: for ever
}

// LeaveArgs asks to leave plan mode.
type LeaveArgs struct {
	Reason string `json:"reason,omitempty"`
}

// CheckArgs is a call to be judged. Nothing is carried out and no use is recorded.
type CheckArgs struct {
	Tool    string `json:"tool"`
	Command string `json:"command,omitempty"`
	Path    string `json:"path,omitempty"`
	// Args are all arguments as a JSON object, Server is of an MCP tool, and Hints are its annotations, where the client
	// has them.
	Args    string          `json:"args,omitempty"`
	Server  string          `json:"server,omitempty"`
	Hints   map[string]bool `json:"hints,omitempty"`
	Foreign bool            `json:"foreign,omitempty"`
	Wait    bool            `json:"wait,omitempty"` // ask a leader where that is what it takes
}

// HookArgs is what an agent's client told its hook.
type HookArgs struct {
	Client  string          `json:"client"` // such as claude
	Payload json.RawMessage `json:"payload"`
}

// ExecArgs is a command line to be judged and carried out, or the id of a permit for one ([Gate.Permit]).
type ExecArgs struct {
	Line   string `json:"line,omitempty"`
	Permit string `json:"permit,omitempty"`
}

// Line makes a Bash line of the words of a command line: one word is the line itself, several are quoted so that bash
// reads exactly these words.
func Line(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ExecResult is what was decided about a command that ran, or did not.
type ExecResult struct {
	Decision permissions.Decision `json:"decision"`
	Ran      bool                 `json:"ran"`
	Line     uint64               `json:"line,omitempty"` // of the journal, that keeps a refusal
}

// EditArgs changes one file: its whole content, or one place in it.
type EditArgs struct {
	Path    string   `json:"path"`
	Content []byte   `json:"content,omitempty"` // when Replace is nil
	Replace *Replace `json:"replace,omitempty"` // one place
}

// Replace is a text that stands once in the file, and what takes its place.
type Replace struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// EditResult is what was written.
type EditResult struct {
	Decision permissions.Decision `json:"decision"`
	Path     string               `json:"path"`
	Bytes    int                  `json:"bytes"`
}

// SendArgs is a message to a member, or to the leaders ("lead").
type SendArgs struct {
	To      string `json:"to"`
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	Urgent  bool   `json:"urgent,omitempty"`
}

// SendResult names the message that was stored.
type SendResult struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// RecvArgs takes the unread mail.
type RecvArgs struct {
	Max       int   `json:"max,omitempty"`       // 0: 100
	TimeoutMS int64 `json:"timeoutMs,omitempty"` // how long to wait for the first; 0: not at all; -1: for ever
}

// ReadArgs names a letter by its id, or the first eight characters of it.
type ReadArgs struct {
	ID string `json:"id"`
}

// AskArgs is a question to the leaders.
type AskArgs struct {
	Text      string   `json:"text"`
	Options   []string `json:"options,omitempty"`
	TimeoutMS int64    `json:"timeoutMs,omitempty"` // 0: for ever
}

// AskResult is the answer to a question. It changes nothing but what the agent reads (invariant 4).
type AskResult struct {
	QuestionID string `json:"questionId,omitempty"` // empty: nobody was asked
	Answered   bool   `json:"answered"`
	Option     string `json:"option,omitempty"`
	Text       string `json:"text,omitempty"`
	By         string `json:"by,omitempty"` // the leader
}

func askResult(r teammate.QuestionReply) AskResult {
	return AskResult{QuestionID: r.QuestionID, Answered: r.Answered, Option: r.Option, Text: r.Text, By: r.By}
}

// AttackArgs names an attack of the demonstration, to be tried where a teammate's key and connection are.
type AttackArgs struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"` // what the client saw itself
}

// AttackResult is what became of an attack.
type AttackResult struct {
	Refused  bool   `json:"refused"`
	By       string `json:"by,omitempty"`       // gate, kernel, teammate, broker or desk
	Why      string `json:"why,omitempty"`      // in the words of whoever refused
	Evidence string `json:"evidence,omitempty"` // a journal line, a receipt, or the broker's error
}

// Observation is what a gate did, for run tables and logs.
type Observation struct {
	Verb     Verb
	Input    string // the line or the path
	Decision permissions.Decision
	Ran      bool
	Status   int    // of a command that ran
	Line     uint64 // of the journal, that keeps a refusal; 0 when there is none
}
