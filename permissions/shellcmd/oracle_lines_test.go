//go:build linux

package shellcmd_test

import (
	"strings"

	"pgregory.net/rapid"
)

// anyLine draws a line: mostly such as people write, with pieces between them in which two parsers may differ.
func anyLine(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "soup") == 0 {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(t, "pieces"), "")
	}
	line := lineOf(t, 3)
	if rapid.IntRange(0, 5).Draw(t, "odd") == 0 { // one piece, anywhere
		at := rapid.IntRange(0, len(line)).Draw(t, "at")
		line = line[:at] + rapid.SampledFrom(pieces).Draw(t, "piece") + line[at:]
	}
	return line
}

var pieces = []string{
	"a", "b", "rm", "x=1", "1", "2", "in", "do", "done", "if", "then", "fi", "else", "for", "while", "case", "esac", "time", "-p", "!", "{", "}", "[[", "]]", "function", "coproc", "select", "until", "let", "export",
	" ", " ", " ", "\t", "\n", "\n", ";", ";", ";;", "&", "&&", "|", "||", "|&", "(", ")", "((", "))", "<", ">", ">>", "<<", "<<-", "<<<", "<>", ">&", "<&", "&>", ">|", "2>&1", "<(", ">(", "$(", "${", "$((", "$[", "$", "`",
	"'", "'", `"`, `"`, `\`, "\\\n", "$'", `$"`, "#", " #", "~", "*", "?", "[", "]", "{a,b}", "=", "+=", "a=(", "@(", "!(", "E", "'E'", "\nE\n", "$x", "${x}", "$?", "é", "%", "^", ",", ":", "/", "-", "\\n", "a()", "a=",
}

func lineOf(t *rapid.T, depth int) string {
	line := statement(t, depth)
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		line += rapid.SampledFrom([]string{"; ", ";", "\n", "\n\n", " && ", "&&", " || ", "||", " | ", "|", " & ", "&", " &&\n", " |\n", " |& ", " # note\n", " \\\n  && ", "\n# note; rm x\n"}).Draw(t, "op") + statement(t, depth)
	}
	return line + rapid.SampledFrom([]string{"", "", "", " &", ";", "\n", " # end", " 2>&1", " \\\n -x"}).Draw(t, "end")
}

func statement(t *rapid.T, depth int) string {
	if depth == 0 {
		return call(t)
	}
	in := func() string { return lineOf(t, depth-1) }
	switch rapid.IntRange(0, 22).Draw(t, "form") {
	case 0:
		return "(" + in() + "\n)"
	case 1:
		return "{ " + call(t) + "; }"
	case 2:
		return "! " + call(t)
	case 3:
		return "time " + call(t)
	case 4:
		return "if " + call(t) + "; then " + call(t) + "\nelif " + call(t) + "\nthen " + call(t) + "; else " + call(t) + "; fi"
	case 5:
		return "for f in " + words(t) + "; do " + call(t) + " $f; done"
	case 6:
		return "for f in a 'b c'\ndo\n" + call(t) + " \"$f\"\ndone"
	case 7:
		return "while " + call(t) + "; do " + call(t) + "; done"
	case 8:
		return "case " + word(t) + " in a|b) " + call(t) + " ;; (*) " + call(t) + ";& esac"
	case 9:
		return "f() { " + call(t) + "; }"
	case 10:
		return "echo \"$(" + rapid.SampledFrom([]string{"ls", "a | b", "a; b", "cat f # x\n", "cat <<'E'\nit's )\nE\n"}).Draw(t, "inner") + ")\" " + word(t)
	case 11:
		return word(t) + " <<'E'" + rapid.SampledFrom([]string{"", " && " + call(t), " | " + call(t), "; " + call(t), " &", " #x"}).Draw(t, "behind") + "\n" + rapid.SampledFrom([]string{"x", "$(rm x)", "it's", "E ", " E", "`", `\`, "x\nE2", ""}).Draw(t, "body") + "\nE\n" + call(t)
	case 12:
		return "[[ " + word(t) + " == " + word(t) + " ]]"
	default:
		return call(t)
	}
}

func call(t *rapid.T) string {
	var out []string
	for range rapid.IntRange(0, 1).Draw(t, "env") * rapid.IntRange(0, 1).Draw(t, "envs") {
		out = append(out, rapid.SampledFrom([]string{"A=1", "A=", `A="x y"`, "A+=1", "A=~", "A=$x", "A=(1 2)", "a[1]=2"}).Draw(t, "assign"))
	}
	out = append(out, rapid.SampledFrom([]string{"ls", "cat", "git", "go", "rm", "make", "r\\m", "'rm'", `r"m"`, "./x", "/bin/x", "$x", "echo", "[", "test", "cd", "time", "time --", "time -p", "command", "env", "\\ls", "then", "'if'", "-x", "a=b=c", "export", "0", "12"}).Draw(t, "name"))
	if s := words(t); s != "" {
		out = append(out, s)
	}
	for range rapid.IntRange(0, 2).Draw(t, "redirections") * rapid.IntRange(0, 1).Draw(t, "any") {
		out = append(out, rapid.SampledFrom([]string{"2>&1", ">/dev/null", "2>/dev/null", ">x", ">> x", "<x", "&>x", ">&2", "> 'x y'", "2>x", "3>x", ">|x", "<<<x", "{fd}>x", ">&x", "<&0", "2>&-"}).Draw(t, "redirection"))
	}
	return strings.Join(out, rapid.SampledFrom([]string{" ", " ", "  ", "\t", " \\\n"}).Draw(t, "blank"))
}

func words(t *rapid.T) string {
	var out []string
	for range rapid.IntRange(0, 3).Draw(t, "words") {
		out = append(out, word(t))
	}
	return strings.Join(out, " ")
}

func word(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"a", "-la", "--x=y", "a/b", "./...", "'a b'", `"a b"`, `a\ b`, `'a'"b"c`, `"\$x"`, `"a\"b"`, `'\'`, "''", `""`, "*.go", "a?", "[ab]", "{a,b}", "{}", "~", "~/x", "a~b", "HEAD~1", "a#b", "\\#", "'#'", "$x", `"$x"`, "${x}", "${x:-y}", "$?", "$1", "$$", "$(ls)", "`ls`",
		"$((1+1))", "<(ls)", "'a;b'", `"a|b"`, `a\;b`, `a\&b`, "a=b", "x=(", "if", "done", "}", "{", "!", "]]", "time", "$'a b'", `$"a"`, "a\\\nb", "é", `"a
b"`, "'a\nb'", `"$(ls)"`, "\"`ls`\"", "a,b", "^x", "%x", "@{u}", "a:b", "-", "--", "\\\\", `\n`, "1>2", "2", "a$", `"a$"`, "!x", `"!x"`, "a!", "+(a)",
	}).Draw(t, "word")
}
