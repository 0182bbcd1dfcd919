package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate/gate"
)

// The exit codes of every command (CONFIG.md 7). Scripts branch on them; they never change their meaning.
const (
	ExitOK          = 0 // also: allowed
	ExitError       = 1
	ExitUsage       = 2 // usage or configuration
	ExitRejected    = 3
	ExitAuth        = 4 // not authorised
	ExitExpired     = 5
	ExitStale       = 6 // digest, superseded, withdrawn
	ExitLost        = 7 // teammate lost
	ExitPending     = 8 // also a --timeout that ran out
	ExitPolicy      = 9
	ExitNoPlan      = 10
	ExitDenied      = 11
	ExitAsk         = 12 // must be asked
	ExitDecided     = 13 // already decided
	ExitNoBroker    = 14 // broker not reachable
	ExitNotFound    = 15
	ExitInterrupted = 130
)

// status is an exit code without anything to say: the command has printed its result already.
type status int

func (s status) Error() string { return fmt.Sprintf("exit %d", int(s)) }

func usage(format string, args ...any) error {
	return &leader.Error{Code: ExitUsage, Name: "usage", Message: fmt.Sprintf(format, args...)}
}

// problem is what a person or a script is told about an error.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// report prints an error once, and returns the exit code that it means.
func report(stderr io.Writer, err error, asJSON bool) int {
	var s status
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &s):
		return int(s)
	}
	code, p := explain(err)
	text := err.Error()
	if p.Code == "timeout" || p.Code == "interrupted" { // Go's words for them help nobody
		text = strings.TrimSuffix(p.Message+": "+p.Next, ": ")
	}
	for line := range strings.SplitSeq(tidy(text), "\n") { // one for each thing that is wrong, each with our name before it
		fmt.Fprintf(stderr, "swarm: %s\n", line)
	}
	p.Message, p.Next = tidy(p.Message), tidy(p.Next)
	if asJSON {
		_ = json.NewEncoder(stderr).Encode(map[string]problem{"error": p}) // a closed stderr has no reader
	}
	return code
}

// tidy has each line of a text show everything, and be no longer than a person reads.
func tidy(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = short(printable(lines[i]))
	}
	return strings.Join(lines, "\n")
}

// printable makes a line visible that still holds what a terminal would obey. Most errors have made their foreign words
// visible already, and stay as they are.
func printable(line string) string {
	if strings.IndexFunc(line, func(r rune) bool { return unicode.Is(unicode.C, r) || r == utf8.RuneError }) < 0 {
		return line
	}
	return plans.VisibleLine(line)
}

// maxLine is the longest line of an error, in bytes: what is wrong stands at its begin, what to do at its end.
const maxLine = 600

// short cuts out the middle of a line that is too long, such as one that names an argument of 100 kB.
func short(line string) string {
	if len(line) <= maxLine {
		return line
	}
	begin, end := maxLine*2/3, len(line)-maxLine/3
	for !utf8.RuneStart(line[begin]) {
		begin--
	}
	for !utf8.RuneStart(line[end]) {
		end++
	}
	return line[:begin] + " ... " + line[end:]
}

func explain(err error) (int, problem) {
	var l *leader.Error
	var g *gate.Error
	switch {
	case errors.As(err, &l):
		return l.Code, problem{l.Name, l.Message, l.Next}
	case errors.As(err, &g):
		return g.Exit, problem{g.Code, g.Message, g.Next}
	case errors.Is(err, context.DeadlineExceeded):
		return ExitPending, problem{Code: "timeout", Message: "the time of --timeout ran out", Next: "give it longer, or leave it out"}
	case errors.Is(err, context.Canceled):
		return ExitInterrupted, problem{Code: "interrupted", Message: "interrupted"}
	}
	return ExitError, problem{Code: "error", Message: err.Error()}
}
