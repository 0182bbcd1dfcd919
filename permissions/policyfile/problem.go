package policyfile

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a file of rules.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0 when it cannot be told
	Rule   string `json:"rule,omitempty"` // as it was written, or its number
	Reason string `json:"reason"`
	Next   string `json:"next"` // what to do
	// Warning is set when the rule is in force as far as it can be, but does less than it seems.
	Warning bool `json:"warning,omitempty"`
}

// Error is the problem in one line: file, line, rule, reason, and what to do.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(place(p.File, p.Line) + ": ")
	if p.Rule != "" {
		b.WriteString(p.Rule + ": ")
	}
	b.WriteString(p.Reason)
	if p.Next != "" {
		b.WriteString(": " + p.Next)
	}
	return b.String()
}

// place is a file, and a line in it.
func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// flaw is what is wrong with one rule, before it is known where it stands.
type flaw struct {
	reason, next string
	warning      bool
	idle         bool // the rule does nothing
}

func (f *flaw) Error() string { return f.reason + ": " + f.next }

func bad(next, format string, args ...any) *flaw {
	return &flaw{reason: fmt.Sprintf(format, args...), next: next}
}

func warn(next, format string, args ...any) *flaw {
	return &flaw{reason: fmt.Sprintf(format, args...), next: next, warning: true}
}

// nothing warns of a rule that is read and does nothing.
func nothing(next, format string, args ...any) *flaw {
	f := warn(next, format, args...)
	f.idle = true
	return f
}
