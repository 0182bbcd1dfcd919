package plans

import (
	"iter"
	"strings"
)

// Line is one line of a plan.
type Line struct {
	Number int    // 1-based
	Text   string // without its line end; the author's
	Code   bool   // in a fenced code block, its fences included
}

// Item is the text of a list item, without its bullet or number and checkbox.
func (l Line) Item() (text string, ok bool) {
	if l.Code {
		return "", false
	}
	item, ok := listItem(strings.TrimLeft(l.Text, " \t>"))
	if text, _, box := box(item); ok && box {
		return text, true
	}
	return item, ok
}

// Lines gives the lines of content in order.
func Lines(content []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		var code fence
		for n, text := range numbered(content) {
			if !yield(Line{Number: n, Text: text, Code: code.step(text)}) {
				return
			}
		}
	}
}

// numbered gives the lines of content without their line ends, from line 1. Only a line feed ends a line.
func numbered(content []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(string(content)) {
			n++
			if !yield(n, strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

// fence follows fenced code blocks from line to line.
type fence struct {
	// strict believes only in what every Markdown reader takes for a fence. Where that depends on the lists around it
	// (a fence behind a bullet, one indented by four or more, a line indented less than the fence above it), nothing
	// is believed to be code from there on, so that nothing hides.
	strict bool
	doubt  bool
	mark   string // the run of backticks or tildes that opened the block; "" outside
	indent int
}

// step reads the next line and reports whether it belongs to a block, its fences included.
func (f *fence) step(line string) bool {
	text := strings.TrimLeft(line, " \t")
	indent := indentOf(line)
	if f.mark != "" {
		if f.strict && text != "" && indent < f.indent {
			f.mark, f.doubt = "", true
			return false
		}
		if run := fenceRun(text); len(run) >= len(f.mark) && run[0] == f.mark[0] && strings.TrimSpace(text[len(run):]) == "" && (!f.strict || indent < 4) {
			f.mark = ""
		}
		return true
	}
	if f.strict && (indent > 3 || fenceRun(text) == "") && fenceRun(unlisted(line)) != "" {
		f.doubt = true
	}
	run := fenceRun(text)
	if run == "" || f.doubt || run[0] == '`' && strings.Contains(text[len(run):], "`") {
		return false
	}
	f.mark, f.indent = run, indent
	return true
}

// fenceRun is the run of three or more backticks or tildes that text starts with.
func fenceRun(text string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, c)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}

// indentOf is the width of the blanks that line starts with; a tab reaches to the next multiple of four.
func indentOf(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}
