package intent

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// MaxTokens is the longest prompt that is read, in words.
const MaxTokens = 8

// Resolve recognises a prompt. It is false for anything that no rule consumes whole: negations, exceptions, targets,
// "all" and "any", two things at once, shell characters, letters that only look like ours.
func Resolve(prompt string) (Intent, bool) {
	words, han, ok := normalise(prompt)
	if !ok {
		return Intent{}, false
	}
	if han {
		words = []string{strings.Join(words, "")}
	}
	for _, s := range plainly(words) {
		if i, ok := said()[s]; ok {
			return intents()[i], true
		}
	}
	return Intent{}, false
}

// said has every way to ask for an intent that is built in.
var said = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for i, in := range intents() {
		for s := range in.ways() {
			if _, taken := m[s]; !taken {
				m[s] = i
			}
		}
	}
	return m
})

// ways are all ways to ask for the intent: VERB OBJECT in English, both as one word in Chinese.
func (in Intent) ways() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range in.phrases() {
			for _, verb := range p.Verbs {
				between := " "
				if strings.ContainsFunc(verb, isHan) {
					between = ""
				}
				if p.Alone && !yield(verb) {
					return
				}
				for _, object := range p.Objects {
					if !yield(verb + between + object) {
						return
					}
				}
			}
		}
	}
}

// plainly are a prompt's words in a row, without an article before the object, and without a place behind it.
func plainly(words []string) []string {
	out := []string{strings.Join(words, " ")}
	n := len(words)
	if n > 2 && slices.Contains(articles, words[1]) {
		out = append(out, words[0]+" "+strings.Join(words[2:], " "))
	}
	if n > 2 && slices.Contains(places, words[n-1]) {
		out = append(out, plainly(words[:n-1])...)
	}
	return out
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// normalise splits a prompt into lower-case words of ASCII letters and digits. With Han in it the words are one: 运行 npm 测试.
func normalise(prompt string) (words []string, han, ok bool) {
	if len(prompt) > 200 {
		return nil, false, false
	}
	prompt = strings.TrimSuffix(strings.TrimSuffix(prompt, "."), "。")
	for i, r := range prompt {
		switch {
		case r == ' ', r == '-' && i > 0 && i < len(prompt)-1 && small(prompt[i-1]) && small(prompt[i+1]):
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		case r >= '0' && r <= '9' && i > 0 && small(prompt[i-1]): // e2e, k8s
		case r == '\'' && i > 0 && small(prompt[i-1]) && strings.HasPrefix(prompt[i:], "'s "): // the project's dependencies
		case isHan(r):
			han = true
		default:
			return nil, false, false
		}
	}
	words = strings.Fields(strings.ReplaceAll(strings.ToLower(prompt), "'s ", " "))
	if len(words) > 1 && words[0] == "please" {
		words = words[1:]
	}
	return words, han, len(words) > 0 && len(words) <= MaxTokens
}

// small reports whether c is a lower-case letter: a hyphen stands only between two.
func small(c byte) bool { return c >= 'a' && c <= 'z' }

// articles may stand before an English object.
var articles = []string{"the", "our", "my", "this", "these"}

// places may stand behind an English object: where the work is done anyway, or that it is done once more.
var places = []string{"locally", "again", "here"}
