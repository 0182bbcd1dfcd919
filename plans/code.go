package plans

import "strings"

// CodeSpans lists what stands in the code spans of one line of Markdown, without the backticks.
func CodeSpans(line string) []string {
	spans, _ := codeSpans(line)
	var list []string
	for _, s := range spans {
		if text := strings.TrimSpace(line[s.from:s.to]); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// span is a code span: what is between the two runs of its backticks, and how long each of them is.
type span struct{ from, to, ticks int }

// codeSpans finds the code spans of line, each between a run of backticks and the next one of the same length.
// balanced reports whether every run belongs to one, so that none reaches into another line; a backslash before a
// backtick is a doubt, and counts against it.
func codeSpans(line string) (spans []span, balanced bool) {
	runs := backticks(line)
	mate := map[int]int{}            // by length: the next run of that length
	next := make([]int, len(runs)+1) // by run: the next one of its length; 0 is none
	for i := len(runs) - 1; i >= 0; i-- {
		next[i], mate[runs[i].ticks] = mate[runs[i].ticks], i
	}
	balanced = !strings.Contains(line, "\\`")
	for i := 0; i < len(runs); i++ {
		if next[i] == 0 {
			balanced = false
			continue
		}
		end := runs[next[i]]
		spans = append(spans, span{runs[i].to, end.from, end.ticks})
		i = next[i]
	}
	return spans, balanced
}

// backticks lists the runs of backticks in line.
func backticks(line string) (runs []span) {
	for at := 0; ; {
		i := strings.IndexByte(line[at:], '`')
		if i < 0 {
			return runs
		}
		from := at + i
		ticks := len(line[from:]) - len(strings.TrimLeft(line[from:], "`"))
		at = from + ticks
		runs = append(runs, span{from, at, ticks})
	}
}

// maskCode is line with a blank in place of each code span.
func maskCode(line string) string {
	spans, _ := codeSpans(line)
	if len(spans) == 0 {
		return line
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(line[at : s.from-s.ticks])
		b.WriteByte(' ')
		at = s.to + s.ticks
	}
	b.WriteString(line[at:])
	return b.String()
}

// unlisted is line without the blanks, quote marks and list bullets that it starts with.
func unlisted(line string) string {
	for {
		line = strings.TrimLeft(line, " \t>")
		item, ok := listItem(line)
		if !ok {
			return line
		}
		line = item
	}
}
