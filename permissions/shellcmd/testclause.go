package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// [[ -f x && ! -d y ]] is read like test -f x and test -d y: what stands there is neither split nor expanded further, and
// the operators are the few that look at a file or compare text. Others calculate, which can run commands, or match.

// admitTest marks a [[ ]] that is read.
func (r *reader) admitTest(n *syntax.TestClause) {
	if strings.ContainsAny(r.source(n), "<>\\`\n;#*?~") {
		return
	}
	if nodes, ok := plainTest(n.X, nil); ok {
		r.admitted[n] = true
		for _, x := range nodes {
			r.admitted[x] = true
		}
	}
}

var (
	fileTests = []syntax.UnTestOperator{syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsSmbLink, syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty}
	textTests = []syntax.UnTestOperator{syntax.TsEmpStr, syntax.TsNempStr}
)

// plainTest lists the nodes of an expression, when all of it is read.
func plainTest(x syntax.TestExpr, nodes []syntax.Node) ([]syntax.Node, bool) {
	nodes = append(nodes, x)
	switch x := x.(type) {
	case *syntax.ParenTest:
		return plainTest(x.X, nodes)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return plainTest(x.X, nodes)
		}
		return nodes, isWord(x.X) && (slices.Contains(fileTests, x.Op) || slices.Contains(textTests, x.Op))
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
			nodes, ok := plainTest(x.X, nodes)
			if !ok {
				return nil, false
			}
			return plainTest(x.Y, nodes)
		case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
			return nodes, isWord(x.X) && isWord(x.Y)
		}
	}
	return nil, false
}

func isWord(x syntax.TestExpr) bool {
	_, ok := x.(*syntax.Word)
	return ok
}

// tests makes a command of each comparison in a [[ ]].
func (r *reader) tests(x syntax.TestExpr, at where, p pipe) {
	c := &Command{Dirs: at.dirs, Lost: at.lost, Piped: p.in, Feeds: p.out, ReadOnly: r.inside > 0}
	switch x := x.(type) {
	case *syntax.ParenTest:
		r.tests(x.X, at, p)
		return
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			r.tests(x.X, at, p)
			return
		}
		c.Argv = []Word{testWord, {Text: x.Op.String(), Source: x.Op.String()}, r.operand(x.X)}
	case *syntax.BinaryTest:
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			r.tests(x.X, at, p)
			r.tests(x.Y, at, p)
			return
		}
		c.Argv = []Word{testWord, r.operand(x.X), {Text: x.Op.String(), Source: x.Op.String()}, r.operand(x.Y)}
	default:
		return // refused by collect
	}
	r.line.Commands = append(r.line.Commands, c)
	r.line.Nested = append(r.line.Nested, c)
	r.last = c
}

var testWord = Word{Text: "test", Source: "[["}

// operand is a word between [[ and ]].
func (r *reader) operand(x syntax.TestExpr) Word {
	w, ok := x.(*syntax.Word)
	if !ok {
		return Word{Text: "*", Unknown: true} // refused by collect
	}
	return r.word(w)
}
