package shellcmd

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parse reads a line that starts in the absolute directory cwd; with an empty cwd every command is [Command.Lost].
// It returns an error that wraps [ErrGate], or one that says what bash would complain about. It is pure and safe for
// concurrent use.
func Parse(src, cwd string) (line *Line, err error) {
	if err := Gate(src); err != nil {
		return nil, err
	}
	return parse(src, cwd)
}

// ParseText reads text that something may hand to a shell, without the gate: for those who look for what must never
// run, and not to allow anything. Its result is always refused.
func ParseText(src, cwd string) (*Line, error) {
	if len(src) > MaxBytes || depth(src) > MaxDepth {
		return nil, gateError("it is too long or too deep to be read: shorten it")
	}
	line, err := parse(src, cwd)
	if err == nil {
		line.refuse("text inside another command")
	}
	return line, err
}

func parse(src, cwd string) (line *Line, err error) {
	defer func() { // the parser is not ours, and a panic from outside input must not pass
		if r := recover(); r != nil {
			line, err = nil, gateError("the parser gave up (%v): write it more simply", r)
		}
	}()
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, fmt.Errorf("shellcmd: bash could not read it: %v: correct the line", err)
	}
	r := reader{src: src, line: &Line{}}
	r.admit(file)
	if err := r.collect(file); err != nil {
		return nil, err
	}
	start := where{dirs: []string{cwd}}
	if cwd == "" {
		start = where{lost: true}
	}
	r.stmts(file.Stmts, start, pipe{})
	if len(r.line.Commands) > MaxCommands {
		r.line.refuse(tooManyRounds)
	}
	return r.line, nil
}

type reader struct {
	src    string
	line   *Line
	calls  []call
	passed int       // calls beyond those that are read
	next   []Command // room for the next ones
	room   []Word    // for the next commands
	heres  int
	last   *Command // the simple command that was flattened last

	admitted map[syntax.Node]bool // what is read although its kind is refused: see admit
	vars     map[string]Word      // variables of the loops around, in this round
	inside   int                  // loops and substitutions around
}

// call is a simple command of the syntax, and what was made of it.
type call struct {
	expr *syntax.CallExpr
	made *Command
}

func (l *Line) refuse(what string) {
	if !slices.Contains(l.Refused, what) {
		l.Refused = append(l.Refused, what)
	}
}

func (r *reader) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(r.src)) {
		return ""
	}
	return r.src[from:to]
}
