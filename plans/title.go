package plans

import "strings"

// MaxTitle is how many characters a title has at most.
const MaxTitle = 80

// Title is what lists call the plan: its first heading of level one, else its first line that is not blank without
// heading marks; at most [MaxTitle] characters, the last then `~`. It is the author's text: make it [Visible].
func Title(content []byte) string {
	first := ""
	for line := range Lines(content) {
		level, text := heading(line.Text)
		switch {
		case line.Code || text == "":
		case level == 1:
			return Shorten(text, MaxTitle)
		case first == "":
			first = text
		}
	}
	if first == "" { // nothing but code
		first = firstLine(content)
	}
	return Shorten(first, MaxTitle)
}

func firstLine(content []byte) string {
	for _, line := range numbered(content) {
		if text := oneLine(line); text != "" {
			return text
		}
	}
	return ""
}

// heading is the level of a heading line (0: none) and its text without the marks. Any line has its own text.
func heading(line string) (level int, text string) {
	line = oneLine(line)
	marks := len(line) - len(strings.TrimLeft(line, "#"))
	rest := line[marks:]
	if marks == 0 || marks > 6 || rest != "" && rest[0] != ' ' {
		return 0, line
	}
	rest = strings.TrimSpace(rest)
	if closed := strings.TrimRight(rest, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		rest = strings.TrimSpace(closed)
	}
	return marks, rest
}

// oneLine is line without a byte order mark and with single blanks.
func oneLine(line string) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(line, "\ufeff")), " ")
}
