package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// collect visits the whole tree once: it makes a [Command] of every simple command, wherever it stands, and refuses
// what is outside the accepted syntax.
func (r *reader) collect(file *syntax.File) error {
	var unread error
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			r.call(n)
		case *syntax.DeclClause:
			r.declaration(n)
		case *syntax.Stmt:
			r.stmtFlags(n)
		case *syntax.Comment:
			r.comment(n)
		case *syntax.Redirect:
			r.redirectText(n)
			if closesAndRuns(n) {
				unread = gateError("a descriptor is closed and a word follows, which bash takes for a command: put a blank behind the -")
			}
		case *syntax.TimeClause:
			if timesAndRuns(n) {
				unread = gateError("time is given --, which bash passes by: leave it out")
			}
		case *syntax.ExtGlob:
			r.line.Texts = append(r.line.Texts, n.Pattern.Value)
		}
		if what := refusedNode(n); what != "" && !r.admitted[n] {
			r.line.refuse(what + r.shown(n))
		}
		return true
	})
	if unread != nil {
		return unread
	}
	if n := len(r.line.Nested) + r.passed; n > MaxCommands {
		return gateError("it has %d commands and %d are read: split it", n, MaxCommands)
	}
	return nil
}

// shown is how a refused piece is written, for people who are to write it otherwise.
func (r *reader) shown(n syntax.Node) string {
	text := r.source(n)
	switch n.(type) {
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
	case *syntax.WhileClause, *syntax.CaseClause, *syntax.TestClause, *syntax.FuncDecl:
		text, _, _ = strings.Cut(text, " ")
	default:
		return ""
	}
	if len(text) > maxShown || strings.Contains(text, "\n") {
		return ""
	}
	return " " + text
}

const maxShown = 48

func (r *reader) call(n *syntax.CallExpr) {
	if len(r.line.Nested) > MaxCommands { // nobody reads such a line
		r.passed++
		return
	}
	c := r.command(n)
	r.calls = append(r.calls, call{n, c})
	r.line.Nested = append(r.line.Nested, c)
}

func (r *reader) command(n *syntax.CallExpr) *Command {
	c := r.newCommand()
	c.Argv, c.Lost = r.words(n.Args), true
	for _, a := range n.Assigns {
		c.Env = append(c.Env, r.assign(a))
	}
	return c
}

// newCommand takes a command from the room for them, which is made as large as all before.
func (r *reader) newCommand() *Command {
	if len(r.next) == 0 {
		r.next = make([]Command, max(1, len(r.line.Nested)))
	}
	c := &r.next[0]
	r.next = r.next[1:]
	return c
}

func (r *reader) assign(a *syntax.Assign) Assign {
	out := Assign{Odd: a.Append || a.Index != nil || a.Array != nil || a.Name == nil || !isName(a.Name.Value), Value: r.word(a.Value)}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	return out
}

// declaration makes a command of export, declare and their like: they are never accepted, and rules still see them.
func (r *reader) declaration(n *syntax.DeclClause) {
	c := &Command{Argv: []Word{{Text: n.Variant.Value, Source: n.Variant.Value}}, Lost: true}
	for _, a := range n.Args {
		w := r.word(a.Value)
		if a.Name != nil {
			w.Text = a.Name.Value + "=" + w.Text
		}
		w.Unknown = true
		c.Argv = append(c.Argv, w)
	}
	r.line.Nested = append(r.line.Nested, c)
}

func (r *reader) stmtFlags(n *syntax.Stmt) {
	if n.Coprocess || n.Disown {
		r.line.refuse("a command in the background")
	}
}

// comment checks that both parsers see the same comment: a # at the start of a word, up to the end of the line.
func (r *reader) comment(n *syntax.Comment) {
	at := int(n.Hash.Offset())
	end := at + 1 + len(n.Text)
	switch {
	case at >= len(r.src) || r.src[at] != '#' || end > len(r.src):
		r.line.refuse("a comment")
	case at > 0 && strings.IndexByte(" \t\n", r.src[at-1]) < 0:
		r.line.refuse("a comment without a blank before it")
	case r.src[at+1:end] != n.Text, end < len(r.src) && r.src[end] != '\n':
		r.line.refuse("a comment")
	}
}

// closesAndRuns reports whether bash ends a redirection such as >&-rm behind its dash, and runs what follows.
func closesAndRuns(n *syntax.Redirect) bool {
	lit, ok := n.Word.Parts[0].(*syntax.Lit)
	return (n.Op == syntax.DplOut || n.Op == syntax.DplIn) && ok && strings.HasPrefix(lit.Value, "-") && (len(lit.Value) > 1 || len(n.Word.Parts) > 1)
}

// timesAndRuns reports whether bash takes the first word of what is timed for the end of time's options.
func timesAndRuns(n *syntax.TimeClause) bool {
	if n.Stmt == nil {
		return false
	}
	cmd := n.Stmt.Cmd
	for { // the first of a pipe
		pipe, ok := cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		cmd = pipe.X.Cmd
	}
	call, ok := cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && call.Args[0].Lit() == "--"
}

func (r *reader) redirectText(n *syntax.Redirect) {
	r.line.Targets = append(r.line.Targets, r.word(n.Word))
	if n.Hdoc != nil {
		r.line.Texts = append(r.line.Texts, r.word(n.Hdoc).Text)
	}
	if n.Op == syntax.WordHdoc {
		r.line.Texts = append(r.line.Texts, r.word(n.Word).Text)
	}
}

// refusedNode is the allow-list of syntax: it names what n is when n is not on it. Words are not judged here: whether a
// word may hold an expansion is for the one who reads it.
func refusedNode(n syntax.Node) string {
	switch n := n.(type) {
	case nil, *syntax.File, *syntax.Stmt, *syntax.CallExpr, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted,
		*syntax.Comment, *syntax.Redirect, *syntax.Subshell, *syntax.Block, *syntax.Assign:
		return ""
	case *syntax.ParamExp:
		if n.Short && n.Param != nil && n.Param.Value == "?" && n.Index == nil {
			return ""
		}
		return "an expansion"
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			return "|&"
		}
		if _, timed := n.Y.Cmd.(*syntax.TimeClause); timed && n.Op == syntax.Pipe {
			return "time behind a pipe" // there bash runs the program of that name
		}
		return ""
	case *syntax.TimeClause:
		if n.PosixFormat || n.Stmt == nil {
			return "time with options"
		}
		return ""
	case *syntax.CmdSubst:
		return "a command substitution"
	case *syntax.ProcSubst:
		return "a process substitution"
	case *syntax.FuncDecl:
		return "a function"
	case *syntax.DeclClause, *syntax.LetClause:
		return "a declaration"
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm, *syntax.FlagsArithm:
		return "arithmetic"
	case *syntax.ExtGlob:
		return "an extended glob"
	}
	return "a compound command"
}
