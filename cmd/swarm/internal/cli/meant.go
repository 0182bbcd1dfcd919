package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// errUnknownIntent says why a prompt is not known, and what it may have meant.
func errUnknownIntent(prompt string, own *permissions.Tables) error {
	known := func(s string) bool { return own.ResolvePrompt("Bash", s).Intent != "" }
	why, next := whyUnknown(prompt), "swarm intent lists what is known"
	if both := twoPrompts(prompt, known); both != "" {
		why, next = "it asks for two things at once", "ask for two prompts: "+both
	} else if meant := meantIntent(prompt, known); meant != "" {
		next = "did you mean " + shown(meant) + "? " + next
	}
	return &leader.Error{Code: ExitNotFound, Name: "unknown_intent", Message: fmt.Sprintf("the prompt %s is unknown and grants nothing: %s", shown(prompt), why), Next: next}
}

// joined is what stands between two prompts in one.
var joined = regexp.MustCompile(`(?i)\s+and\s+then\s+|\s+(?:and|then)\s+|然后|并且|并|和`)

// twoPrompts are the two prompts that one asks for, when both are known.
func twoPrompts(prompt string, known func(string) bool) string {
	if len(prompt) > 200 {
		return ""
	}
	parts := joined.Split(prompt, -1)
	if len(parts) != 2 || !known(strings.TrimSpace(parts[0])) || !known(strings.TrimSpace(parts[1])) {
		return ""
	}
	return strings.TrimSpace(parts[0]) + "; " + strings.TrimSpace(parts[1])
}

// meantIntent is a prompt that somebody may have meant: without what is too wide, with a word spelled as it is known, or
// the one intent that its verb and object are part of.
func meantIntent(prompt string, known func(string) bool) string {
	if len(prompt) > 100 {
		return ""
	}
	prompt = strings.ToLower(prompt)
	if words := wideIn(prompt); len(words) > 0 {
		plain := prompt
		for _, w := range words {
			if hanText(w) {
				plain = strings.NewReplacer(w+"的", "", w, "").Replace(plain)
			} else {
				plain = strings.Join(slices.DeleteFunc(strings.Fields(plain), func(f string) bool { return f == w }), " ")
			}
		}
		if known(plain) {
			return plain
		}
		return ""
	}
	words := slices.DeleteFunc(strings.Fields(prompt), func(w string) bool {
		return slices.Contains([]string{"the", "our", "my", "this", "these", "please", "a"}, w)
	})
	if len(words) == 0 {
		return ""
	}
	near := slices.DeleteFunc(phrases(), func(p string) bool { return !misspelt(words, strings.Fields(p)) })
	if best := mailbox.Nearest(strings.Join(words, " "), near); len(best) > 0 {
		return best[0]
	}
	return partOf(words)
}

// wideIn are the words of a prompt that are too wide, in order.
func wideIn(prompt string) []string {
	var out []string
	words := strings.Fields(strings.ToLower(prompt))
	for w, what := range oddWords {
		if what == wide && (hanText(w) && strings.Contains(prompt, w) || slices.Contains(words, w)) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// misspelt reports whether words are those of a phrase but for one that a slip of the fingers explains.
func misspelt(words, phrase []string) bool {
	if len(words) != len(phrase) {
		return false
	}
	wrong := 0
	for i, w := range words {
		if w == phrase[i] {
			continue
		}
		n, m := utf8.RuneCountInString(w), utf8.RuneCountInString(phrase[i])
		a, _ := utf8.DecodeRuneInString(w)
		b, _ := utf8.DecodeRuneInString(phrase[i])
		if wrong++; n < 4 || n-m > 1 || m-n > 1 || a != b || len(mailbox.Nearest(w, phrase[i:i+1])) == 0 {
			return false
		}
	}
	return wrong == 1
}

// partOf is the one intent that has phrases with the first word for a verb and the others for the end of the object.
func partOf(words []string) string {
	if len(words) < 2 {
		return ""
	}
	if hanText(words[0]) {
		return mixed(words[0], strings.Join(words[1:], " "))
	}
	found, end := "", " "+strings.Join(words[1:], " ")
	for _, in := range intent.All() {
		for _, p := range in.Phrases {
			if !slices.Contains(p.Verbs, words[0]) || !slices.ContainsFunc(p.Objects, func(o string) bool { return strings.HasSuffix(o, end) }) {
				continue
			}
			if found != "" && found != in.Name {
				return ""
			}
			found = in.Name
		}
	}
	return found
}

// mixed is the intent that has a verb of one language and an object of another: one that is called by the object, else
// the only one.
func mixed(verb, object string) string {
	found, several := "", false
	for _, in := range intent.All() {
		if !slices.ContainsFunc(in.Phrases, func(p intent.Phrase) bool { return slices.Contains(p.Verbs, verb) }) ||
			!slices.ContainsFunc(in.Phrases, func(p intent.Phrase) bool { return slices.Contains(p.Objects, object) }) {
			continue
		}
		if strings.HasSuffix(in.Name, " "+object) {
			return in.Name
		}
		found, several = in.Name, several || found != ""
	}
	if several {
		return ""
	}
	return found
}

// phrases are all ways to say an intent, without articles.
func phrases() []string {
	var out []string
	for _, in := range intent.All() {
		out = append(out, in.Name)
		for _, p := range in.Phrases {
			for _, verb := range p.Verbs {
				if p.Alone {
					out = append(out, verb)
				}
				for _, object := range p.Objects {
					if hanText(verb) {
						out = append(out, verb+object)
					} else {
						out = append(out, verb+" "+object)
					}
				}
			}
		}
	}
	return out
}

func hanText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
