package leader

import (
	"fmt"
	"strings"

	"github.com/planswarm/swarm/plans"
)

// cutMiddle shortens s to n cells and keeps both ends: of a command, the program and what it is done to.
func cutMiddle(s string, n int) string {
	if plans.Width(s) <= n || n < 8 {
		return plans.Cut(s, n)
	}
	head := firstCells(s, (n-1)/2)
	room := n - 1 - plans.Width(head)
	tail := []rune(s)
	for plans.Width(string(tail)) > room {
		tail = tail[1:]
	}
	return head + "~" + string(tail)
}

// firstAnd is the first of a list and how many more there are, in n cells: "go test ./... +2". The count is never cut.
func firstAnd(list []string, n int) string {
	if len(list) < 2 {
		return plans.Cut(strings.Join(list, ""), n)
	}
	more := fmt.Sprintf(" +%d", len(list)-1)
	return plans.Cut(list[0], max(n-len(more), 1)) + more
}

// wrapList writes a list with commas into lines of at most n cells. An item is parted only when it is longer than a line.
func wrapList(items []string, n int) (lines []string) {
	line := ""
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		switch {
		case line == "":
			line = item
		case plans.Width(line+" "+item) <= n:
			line += " " + item
		default:
			lines, line = append(lines, line), item
		}
		for plans.Width(line) > n {
			head := firstCells(line, n)
			lines, line = append(lines, head), line[len(head):]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// visibleAll makes each text of a list visible.
func visibleAll(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, plans.VisibleLine(s))
	}
	return out
}

// table writes rows of cells in columns as wide as they need to be, within their bounds; a column of bound 0 takes what is
// left of the terminal, and a negative one is never cut. The first row is the header.
func table(rows [][]string, bounds []int, columns int) string {
	widths := make([]int, len(bounds))
	for i, bound := range bounds {
		for _, row := range rows {
			widths[i] = max(widths[i], plans.Width(row[i]))
		}
		switch {
		case bound > 0:
			widths[i] = min(widths[i], bound)
		case bound == 0:
			widths[i] = min(widths[i], planRoom(rows, bounds, columns))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = pad(c, widths[i])
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, " "), " ") + "\n")
	}
	return b.String()
}
