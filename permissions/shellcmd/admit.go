package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Loops over given words are read round by round, with the variable's value in its place; branches like the lists that
// they are. Substitutions are read where what they print is only shown, and here-documents in them as the text they are.

const (
	tooManyRounds = "a loop with more than 64 commands in all its rounds"
	maxItems      = 32
)

// admit marks what may be read although its kind of syntax is refused elsewhere.
func (r *reader) admit(file *syntax.File) {
	if !strings.Contains(r.src, "for") && !strings.Contains(r.src, "if") && !strings.Contains(r.src, "$") && !strings.Contains(r.src, "[[") {
		return
	}
	r.admitted = map[syntax.Node]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IfClause:
			r.admitted[n] = true
		case *syntax.ForClause:
			r.admitLoop(n)
		case *syntax.TestClause:
			r.admitTest(n)
		case *syntax.CallExpr:
			r.admitSubstitutions(n)
		}
		return true
	})
}

func (r *reader) admitLoop(n *syntax.ForClause) {
	iter, ok := n.Loop.(*syntax.WordIter)
	if !ok || n.Select || n.Braces || iter.Name == nil || !iter.InPos.IsValid() || len(iter.Items) == 0 || len(iter.Items) > maxItems || !plainVar(iter.Name.Value) {
		return
	}
	name, again := iter.Name.Value, false
	r.admitted[n], r.admitted[iter] = true, true
	for _, s := range n.Do {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ParamExp:
				if isPlainVar(n, name) {
					r.admitted[n] = true
				}
			case *syntax.WordIter:
				again = again || n.Name != nil && n.Name.Value == name // after it the value is another
			}
			return true
		})
	}
	if again {
		delete(r.admitted, n)
	}
}

// plainVar accepts names that neither bash nor a program gives a meaning to.
func plainVar(s string) bool {
	if len(s) > 16 || s == "histchars" {
		return false
	}
	for i := range len(s) {
		if (s[i] < 'a' || s[i] > 'z') && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

// isPlainVar reports whether p is $name or ${name}, and nothing more.
func isPlainVar(p *syntax.ParamExp, name string) bool {
	return p.Param != nil && p.Param.Value == name && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// admitSubstitutions marks those of a command: $(cat <<'E' ...) wherever it stands, and others only where a program
// shows them.
func (r *reader) admitSubstitutions(n *syntax.CallExpr) {
	for i, w := range n.Args {
		if i == 0 {
			continue
		}
		for _, part := range w.Parts {
			if p, ok := part.(*syntax.ParamExp); ok && shownVar(p) && (n.Args[0].Lit() == "echo" || n.Args[0].Lit() == "printf") && shows(n.Args, i) {
				r.admitted[p] = true // without quotes it may become several words
			}
			q, ok := part.(*syntax.DblQuoted)
			if !ok || q.Dollar {
				continue
			}
			for _, part := range q.Parts {
				if p, ok := part.(*syntax.ParamExp); ok && shownVar(p) && shows(n.Args, i) {
					r.admitted[p] = true
				}
				cs, ok := part.(*syntax.CmdSubst)
				if !ok || cs.Backquotes || cs.TempFile || cs.ReplyVar || len(cs.Stmts) == 0 {
					continue
				}
				if _, here := r.hereText(cs); here || shows(n.Args, i) {
					r.admitted[cs] = true
				}
			}
		}
	}
}

// shownVars are variables of the shell that hold no secret. They may be shown, and stand for nothing else.
var shownVars = strings.Fields("HOME PWD OLDPWD USER LOGNAME PATH SHELL LANG LC_ALL TERM TZ TMPDIR CI GOPATH GOROOT HOSTNAME UID EUID PPID BASH_VERSION SECONDS LINENO EDITOR PAGER NODE_ENV VIRTUAL_ENV")

func shownVar(p *syntax.ParamExp) bool {
	return p.Param != nil && slices.Contains(shownVars, p.Param.Value) && isPlainVar(p, p.Param.Value)
}

// shows reports whether the program only prints the argument at i, or looks whether it is empty.
func shows(args []*syntax.Word, i int) bool {
	switch args[0].Lit() {
	case "echo", "basename", "dirname":
		return true
	case "printf":
		return i > 1 && args[1].Lit() != "--"
	case "test", "[":
		before, words := args[i-1].Lit(), len(args)-1
		if args[0].Lit() == "[" {
			words--
		}
		return i == 2 && words == 2 && (before == "-n" || before == "-z") || words == 3 && i != 2 && i < 4 && slices.Contains(comparisons, args[2].Lit())
	}
	return false
}

// comparisons stand between two words of test: with exactly three words nothing else is read as one.
var comparisons = []string{"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}

// hereText is the text of $(cat <<'E' ...), as bash hands it on: without the line breaks at its end.
func (r *reader) hereText(cs *syntax.CmdSubst) (string, bool) {
	if len(cs.Stmts) != 1 || strings.Count(r.src, "<<") != 1 {
		return "", false
	}
	s := cs.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Background || s.Negated || s.Coprocess || s.Disown || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" || len(s.Redirs) != 1 {
		return "", false
	}
	n := s.Redirs[0]
	if n.Op != syntax.Hdoc || n.N != nil || len(n.Word.Parts) != 1 {
		return "", false
	}
	quoted, ok := n.Word.Parts[0].(*syntax.SglQuoted)
	if !ok || quoted.Dollar || !isName(quoted.Value) {
		return "", false
	}
	body, ok := bodyOf(r.src, int(n.Word.End().Offset()), quoted.Value)
	if !ok || body != hereBody(n.Hdoc) || looksEnded(body, quoted.Value) {
		return "", false
	}
	return strings.TrimRight(body, "\n"), true
}

// looksEnded reports whether a line of a here-document begins like its end: inside parentheses some versions of bash
// take that for it.
func looksEnded(body, delimiter string) bool {
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), delimiter) {
			return true
		}
	}
	return false
}

// substitutions goes through the commands whose output stands in the words of n.
func (r *reader) substitutions(n *syntax.CallExpr, at where) {
	if r.admitted == nil {
		return
	}
	for _, w := range n.Args {
		for _, part := range w.Parts {
			q, ok := part.(*syntax.DblQuoted)
			if !ok {
				continue
			}
			for _, part := range q.Parts {
				if cs, ok := part.(*syntax.CmdSubst); ok && r.admitted[cs] {
					r.inside++
					r.stmts(cs.Stmts, at, pipe{out: true})
					r.inside--
				}
			}
		}
	}
}

// branches returns where bash is after an if, whichever way it went.
func (r *reader) branches(n *syntax.IfClause, at where, p pipe) where {
	if len(n.Cond) == 0 { // else
		ok, failed := r.stmts(n.Then, at, p)
		return ok.or(failed)
	}
	yes, no := r.stmts(n.Cond, at, p)
	ok, failed := r.stmts(n.Then, yes, p)
	end := ok.or(failed)
	if n.Else == nil {
		return end.or(no)
	}
	return end.or(r.branches(n.Else, no, p))
}

// rounds goes through a loop once for each of its words.
func (r *reader) rounds(n *syntax.ForClause, at where, p pipe) where {
	iter, ok := n.Loop.(*syntax.WordIter)
	if !ok || !r.admitted[n] {
		return where{lost: true} // refused by collect
	}
	if r.vars == nil {
		r.vars = map[string]Word{}
	}
	r.inside++
	defer func() {
		r.inside--
		delete(r.vars, iter.Name.Value)
	}()
	for _, item := range iter.Items {
		if len(r.line.Commands) > MaxCommands {
			return where{lost: true} // refused by parse
		}
		delete(r.vars, iter.Name.Value)
		value := r.word(item)
		if !value.Literal() && (value.Pattern == "" || value.Unknown || value.Tilde || value.Status) {
			r.line.refuse("a loop over words that cannot be told")
			return where{lost: true}
		}
		r.vars[iter.Name.Value] = value
		ok, failed := r.stmts(n.Do, at, p)
		at = at.or(ok).or(failed)
	}
	return at
}
