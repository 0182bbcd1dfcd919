package shellcmd

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// where is every directory that bash may be in. More than maxDirs of them are as good as unknown.
type where struct {
	dirs []string
	lost bool
}

const maxDirs = 8

func (w where) or(v where) where {
	if !slices.ContainsFunc(v.dirs, func(d string) bool { return !slices.Contains(w.dirs, d) }) {
		return where{dirs: w.dirs, lost: w.lost || v.lost}
	}
	out := where{dirs: append(make([]string, 0, len(w.dirs)+len(v.dirs)), w.dirs...), lost: w.lost || v.lost}
	for _, d := range v.dirs {
		if !slices.Contains(out.dirs, d) {
			out.dirs = append(out.dirs, d)
		}
	}
	if len(out.dirs) > maxDirs {
		out = where{lost: true}
	}
	return out
}

// pipe says how a command is connected.
type pipe struct{ in, out bool }

// stmts goes through a list and returns where bash is afterwards.
func (r *reader) stmts(list []*syntax.Stmt, at where, p pipe) (ok, failed where) {
	ok, failed = at, at
	for _, s := range list {
		ok, failed = r.stmt(s, at, p)
		at = ok.or(failed)
	}
	return ok, failed
}

// stmt returns where bash is when s succeeded and when it failed: a cd that fails stays where it was.
func (r *reader) stmt(s *syntax.Stmt, at where, p pipe) (ok, failed where) {
	redirs := r.redirects(s.Redirs)
	if call, isCall := s.Cmd.(*syntax.CallExpr); isCall {
		ok, failed = r.simple(call, redirs, at, p)
	} else {
		if len(redirs) > 0 || s.Cmd == nil {
			c := &Command{Redirs: redirs, Dirs: at.dirs, Lost: at.lost}
			r.line.Commands = append(r.line.Commands, c)
			r.line.Nested = append(r.line.Nested, c)
			p.in = p.in || slices.ContainsFunc(redirs, Redirect.Feeds)
		}
		ok, failed = r.compound(s.Cmd, at, p)
	}
	switch {
	case s.Background: // in a shell of its own
		return at, at
	case s.Negated:
		return failed, ok
	}
	return ok, failed
}

func (r *reader) simple(n *syntax.CallExpr, redirs []Redirect, at where, p pipe) (ok, failed where) {
	c := r.made(n)
	if len(r.vars) > 0 {
		c = r.command(n)
		r.line.Nested = append(r.line.Nested, c)
	}
	c.Redirs, c.Dirs, c.Lost, c.Piped, c.Feeds = redirs, at.dirs, at.lost, p.in, p.out
	c.ReadOnly = r.inside > 0
	r.line.Commands = append(r.line.Commands, c)
	r.substitutions(n, at)
	r.last = c
	if c.Argv0() == "cd" {
		return c.changed(at), at
	}
	return at, at
}

// made is the command that collect made of n. There are at most 64.
func (r *reader) made(n *syntax.CallExpr) *Command {
	i := slices.IndexFunc(r.calls, func(c call) bool { return c.expr == n })
	return r.calls[i].made
}

// changed is where a cd leads, by names alone, as bash's own cd does it.
func (c *Command) changed(at where) where {
	if len(c.Argv) != 2 || !c.Argv[1].Literal() || !plainDir(c.Argv[1].Text) {
		return where{lost: true}
	}
	out := where{dirs: make([]string, 0, len(at.dirs)), lost: at.lost}
	for _, d := range at.dirs {
		to := Join(d, c.Argv[1].Text)
		if !slices.Contains(out.dirs, to) {
			out.dirs = append(out.dirs, to)
		}
	}
	return out
}

func plainDir(s string) bool { return s != "" && s[0] != '-' && s[0] != '+' }

// Join is the absolute name of p seen from the directory dir, with . and .. taken out by name.
func Join(dir, p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return path.Clean(p)
	case dir == "":
		return path.Join(dir, p)
	}
	return path.Clean(dir + "/" + p)
}

func (r *reader) compound(cmd syntax.Command, at where, p pipe) (ok, failed where) {
	switch n := cmd.(type) {
	case nil:
		return at, at
	case *syntax.Block:
		return r.stmts(n.Stmts, at, p)
	case *syntax.Subshell:
		r.stmts(n.Stmts, at, p)
		return at, at
	case *syntax.TimeClause:
		if n.Stmt == nil {
			return at, at
		}
		return r.stmt(n.Stmt, at, p)
	case *syntax.BinaryCmd:
		return r.binary(n, at, p)
	case *syntax.TestClause:
		r.tests(n.X, at, p)
		return at, at
	case *syntax.IfClause:
		end := r.branches(n, at, p)
		return end, end
	case *syntax.ForClause:
		end := r.rounds(n, at, p)
		return end, end
	}
	return where{lost: true}, where{lost: true} // refused by collect
}

func (r *reader) binary(n *syntax.BinaryCmd, at where, p pipe) (ok, failed where) {
	switch n.Op {
	case syntax.AndStmt:
		ok1, failed1 := r.stmt(n.X, at, p)
		ok2, failed2 := r.stmt(n.Y, ok1, p)
		return ok2, failed1.or(failed2)
	case syntax.OrStmt:
		ok1, failed1 := r.stmt(n.X, at, p)
		ok2, failed2 := r.stmt(n.Y, failed1, p)
		return ok1.or(ok2), failed2
	default: // a pipe: each side in a shell of its own
		r.last = nil
		r.stmt(n.X, at, pipe{in: p.in, out: true})
		from := r.last
		r.stmt(n.Y, at, pipe{in: true, out: p.out})
		if _, simple := n.Y.Cmd.(*syntax.CallExpr); simple && endsSimply(n.X) {
			r.last.From = from
		}
		return at, at
	}
}

// endsSimply reports whether all that s prints is one simple command's.
func endsSimply(s *syntax.Stmt) bool {
	switch n := s.Cmd.(type) {
	case *syntax.CallExpr:
		return true
	case *syntax.BinaryCmd:
		return n.Op == syntax.Pipe && len(s.Redirs) == 0
	}
	return false
}
