package plans

import (
	"bytes"
	"strings"
)

// Follow says where a line of one revision stands in a later one; lines are counted from 1. Kept is false when the line was
// changed or went: now is then where it was, which may be one line past the end. A moved line is removed and added. A line
// that the first revision does not have is not kept.
func Follow(before, after []byte, line int) (now int, kept bool) {
	a, b := ended(before), ended(after)
	if line < 1 || line > countLines(a) {
		return 0, false
	}
	at := 0 // where the line begins
	for range line - 1 {
		at += strings.IndexByte(a[at:], '\n') + 1
	}
	if a == b {
		return line, true
	}
	now = line
	for _, e := range lineEdits(a, b) {
		switch {
		case e.Start > at:
			return now, true
		case e.End > at: // of the lines that are replaced, those before it come first
			return now - countLines(a[e.Start:at]), false
		}
		now += countLines(e.New) - countLines(a[e.Start:e.End])
	}
	return now, true
}

// ended is content whose last line has its line feed, so that a line added below it does not change it.
func ended(content []byte) string {
	if len(content) == 0 || bytes.HasSuffix(content, []byte("\n")) {
		return string(content)
	}
	return string(content) + "\n"
}

// LineAt is one line of a plan without its line feed, counted from 1, and false where the plan has no such line.
func LineAt(content []byte, line int) (string, bool) {
	lines := strings.Split(ended(content), "\n")
	if line < 1 || line >= len(lines) {
		return "", false
	}
	return lines[line-1], true
}

// CountLines is how many lines a plan has; a last one without a line feed counts.
func CountLines(content []byte) int { return countLines(string(content)) }
