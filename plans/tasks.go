package plans

import (
	"fmt"
	"strings"
)

const (
	// MaxTasks is how many checkboxes of a plan are listed at most: they travel beside its bytes.
	MaxTasks = 200
	// maxTaskText is how many characters of each are listed.
	maxTaskText = 80
)

// Tasks lists the first [MaxTasks] Markdown checkboxes of content outside fenced code: `- [ ] text`, `* [x] text`,
// `1. [X] text`, however deep. Text is the author's, one line, cut with `~`.
func Tasks(content []byte) []Task {
	var tasks []Task
	for line := range Lines(content) {
		text, done, ok := checkbox(line.Text)
		if line.Code || !ok {
			continue
		}
		tasks = append(tasks, Task{ID: fmt.Sprintf("t%d", len(tasks)+1), Line: line.Number, Text: Shorten(text, maxTaskText), Done: done})
		if len(tasks) == MaxTasks {
			break
		}
	}
	return tasks
}

// checkbox reads a list item that is a checkbox.
func checkbox(line string) (text string, done, ok bool) {
	item, ok := listItem(strings.TrimLeft(line, " \t"))
	if !ok {
		return "", false, false
	}
	return box(item)
}

// box reads the brackets that an item begins with.
func box(item string) (text string, done, ok bool) {
	if len(item) < 3 || item[0] != '[' || item[2] != ']' || len(item) > 3 && item[3] != ' ' && item[3] != '\t' {
		return "", false, false
	}
	switch item[1] {
	case ' ':
	case 'x', 'X':
		done = true
	default:
		return "", false, false
	}
	return oneLine(item[3:]), done, true
}

// listItem is what follows the bullet or number of a list item.
func listItem(line string) (item string, ok bool) {
	rest := strings.TrimLeft(line, "0123456789")
	switch digits := len(line) - len(rest); {
	case rest == "":
		return "", false
	case digits == 0 && strings.ContainsRune("-*+", rune(rest[0])):
	case digits > 0 && digits < 10 && (rest[0] == '.' || rest[0] == ')'):
	default:
		return "", false
	}
	item = strings.TrimLeft(rest[1:], " \t")
	return item, len(item) < len(rest)-1
}
