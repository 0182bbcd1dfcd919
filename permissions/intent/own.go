package intent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Own reads one intent that a person wrote, in the format of the tables. What it says is not compared with what is built
// in: permissions.ReadTables does that.
func Own(data []byte) (Intent, error) {
	var one Intent
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&one); err != nil {
		return Intent{}, err
	}
	list, err := read(slices.Concat([]byte("["), data, []byte("]")))
	if err != nil {
		return Intent{}, err
	}
	return list[0], nil
}

// Says reports whether a prompt means the intent: a verb and an object of one of its phrases, and nothing more than an
// article between them.
func (in Intent) Says(prompt string) bool {
	words, han, ok := normalise(prompt)
	switch {
	case !ok:
		return false
	case han:
		return in.takes(strings.Join(words, ""), "")
	case len(words) > 2 && slices.Contains(articles, words[1]):
		words = slices.Delete(words, 1, 2)
	}
	return in.takes(strings.Join(words, " "), " ")
}

func (in Intent) takes(text, between string) bool {
	return slices.ContainsFunc(in.phrases(), func(p Phrase) bool {
		return slices.ContainsFunc(p.Verbs, func(verb string) bool {
			return p.Alone && text == verb || slices.ContainsFunc(p.Objects, func(object string) bool {
				return text == verb+between+strings.ReplaceAll(object, "-", between) || text == verb+between+object
			})
		})
	})
}

// Obeys reports whether a program of that name obeys files of the project that are known: its Makefile, its package.json.
func Obeys(name string) bool { return runners()[name] != nil }
