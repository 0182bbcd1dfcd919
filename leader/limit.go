package leader

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

// limitForm is how a limit is written.
const limitForm = `--limit "run tests=uses:3,for:30m,in:./web"`

// ParseLimit reads PROMPT=uses:3,for:30m,in:./web: how one grant is narrowed. Each of uses, for and in may stand once, in
// any order. The prompt is everything before the last =. The errors are [Error]s of exit code 2.
//
// A folder of in is checked in its form only: whether it is there, only the teammate knows, whose tree it is. A grant in a
// folder that does not exist covers nothing.
func ParseLimit(s string) (Limit, error) {
	prompt, terms, ok := cutLimit(s)
	switch {
	case !ok:
		return Limit{}, errBadLimit(s, "it has no =", "write "+limitForm)
	case strings.TrimSpace(prompt) == "":
		return Limit{}, errBadLimit(s, "it names no prompt before the =", "write "+limitForm)
	case strings.TrimSpace(terms) == "":
		return Limit{}, errBadLimit(s, "it limits nothing after the =", "write "+limitForm)
	}
	l := Limit{Prompt: strings.TrimSpace(prompt)}
	seen := map[string]bool{}
	for _, term := range strings.Split(terms, ",") {
		key, value, ok := strings.Cut(term, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok || value == "":
			return Limit{}, errBadLimit(s, quote(term)+" has no value", "write it as "+limitKeysForm)
		case seen[key]:
			return Limit{}, errBadLimit(s, quote(key)+" stands twice", "give it once")
		}
		seen[key] = true
		if err := l.set(s, key, value); err != nil {
			return Limit{}, err
		}
	}
	return l, nil
}

const limitKeysForm = "uses:3, for:30m or in:./web"

var limitKeys = []string{"uses", "for", "in"}

// cutLimit parts prompt and terms at the last = : a prompt may have one, and no term does.
func cutLimit(s string) (prompt, terms string, ok bool) {
	i := strings.LastIndexByte(s, '=')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// odd is a character that no teammate takes in the name of a folder, whichever system it runs on.
func odd(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }

func (l *Limit) set(whole, key, value string) error {
	switch key {
	case "uses":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return errBadLimit(whole, "uses "+quote(value)+" is no number from 1", "write it as uses:3")
		}
		l.Uses = n
	case "for":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return errBadLimit(whole, "for "+quote(value)+" is no time", "write it as for:30m or for:2h")
		}
		l.For = d
	case "in":
		dir := path.Clean(value)
		if !fs.ValidPath(dir) || strings.ContainsFunc(dir, odd) || len(dir) > 1 && dir[1] == ':' {
			return errBadLimit(whole, "in "+quote(value)+" is no folder inside the working tree", "write it with slashes, as in:./web")
		}
		l.In = dir
	default:
		next := "write " + limitKeysForm
		if near := mailbox.Nearest(key, limitKeys); len(near) > 0 {
			next = fmt.Sprintf("did you mean %q? %s", near[0], next)
		}
		return errBadLimit(whole, "unknown "+quote(key), next)
	}
	return nil
}

func errBadLimit(limit, what, next string) error {
	return errBadChoice(next, "limit %s: %s", quote(limit), what)
}
