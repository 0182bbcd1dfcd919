package permissions

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

func (r *tablesReader) intent(offset int, data []byte) {
	in, err := intent.Own(data)
	if err != nil {
		at, err := decodeFlaw(offset, data, err)
		r.problem(at, in.Name, err)
		return
	}
	if err := r.ownIntent(in); err != nil {
		r.problem(offset, in.Name, err)
		return
	}
	r.tables.intents = append(r.tables.intents, OwnIntent{in, r.source(offset)})
}

// phraseLimit is how many ways to say one intent there may be.
const phraseLimit = 4096

var (
	intentName = regexp.MustCompile(`^[a-z][a-z0-9-]*( [a-z0-9-]+){1,5}$`)
	phraseWord = regexp.MustCompile(`^[a-z][a-z0-9]*([ -][a-z][a-z0-9]*)*$`)
	scriptName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:_.-]{0,63}$`)
	classWords = everything()
)

// ownIntent says why an intent is not a person's to describe so.
func (r *tablesReader) ownIntent(in intent.Intent) error {
	_, source, known := r.tables.Intent(in.Name)
	switch {
	case !intentName.MatchString(in.Name) || len(in.Name) > 60:
		return flawed(`write it like "run e2e tests"`, "the name %q is not two to six lower-case words", in.Name)
	case known && source == "":
		return flawed("give yours another name", "the intent is built in, and cannot be replaced")
	case known:
		return flawed("keep one", "the intent is listed twice")
	case len(in.Phrases) == 0:
		return flawed(`add {"verbs": ["run"], "objects": ["e2e tests"]}`, "it has no phrases, so that nothing means it")
	case len(in.Classes) == 0:
		return flawed("use "+strings.Join(classNames(), ", "), "it does not say what kinds of harm its commands could do")
	case len(in.Programs) == 0 && in.Scripts == "" && in.Targets == "":
		return flawed("add programs, scripts or targets", "it covers no command")
	}
	for _, c := range in.Classes {
		if !slices.Contains(classWords, Class(c)) {
			return flawed("use "+strings.Join(classNames(), ", "), "the class %q is not known", c)
		}
	}
	for _, check := range []func(intent.Intent) error{r.ownPhrases, r.ownPrograms, ownScripts, ownEnvironment, ownExamples} {
		if err := check(in); err != nil {
			return err
		}
	}
	return nil
}

func classNames() []string {
	var out []string
	for _, c := range classWords {
		out = append(out, string(c))
	}
	return out
}

// refusedWords make a prompt mean nothing, also in a person's own phrases: negations, exceptions, "all", targets.
var refusedWords = set(strings.Fields("not never no dont without except but skip unless any all every everything anything whatever production prod staging remote server sudo root host then and or"))

func (r *tablesReader) ownPhrases(in intent.Intent) error {
	n := 0
	for _, p := range in.Phrases {
		objects := p.Objects
		if p.Alone {
			objects = append([]string{""}, objects...)
		}
		if len(p.Verbs) == 0 || len(objects) == 0 {
			return flawed("give it verbs, and objects or alone", "a phrase says nothing")
		}
		for _, w := range slices.Concat(p.Verbs, p.Objects) {
			if !phraseWord.MatchString(w) && !isHan(w) {
				return flawed("write lower-case letters a to z, or Han", "the phrase word %q cannot be read", w)
			}
			for part := range strings.FieldsSeq(strings.ReplaceAll(w, "-", " ")) {
				if refusedWords[part] {
					return flawed("leave it out", "%q makes every prompt unknown, also yours", part)
				}
			}
		}
		for _, verb := range p.Verbs {
			for _, object := range objects {
				text := strings.TrimSpace(verb + " " + object)
				if isHan(verb) {
					text = verb + object
				}
				if n++; n > phraseLimit {
					return flawed("leave some out", "there are more than %d ways to say it", phraseLimit)
				}
				if own := r.tables.ResolvePrompt("Bash", text); own.Intent != "" {
					return flawed("leave it out", "%q means %q already", text, own.Intent)
				}
			}
		}
	}
	return nil
}

func isHan(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.Is(unicode.Han, r) })
}

func (r *tablesReader) ownPrograms(in intent.Intent) error {
	for _, p := range in.Programs {
		for _, name := range slices.Concat([]string{p.Name}, strings.Fields(p.Also)) {
			if err := r.free(name); err != nil {
				return err
			}
			if why := startedAs(name, p.Via); why != "" {
				return flawed("leave via out, or rename it", "%s", why)
			}
		}
		if err := onlyReads(p, true); err != nil {
			return err
		}
	}
	return nil
}

func ownScripts(in intent.Intent) error {
	for _, name := range strings.Fields(in.Scripts + " " + in.Targets) {
		if !scriptName.MatchString(name) {
			return flawed("write the bare name", "%q cannot be the name of a script or target", name)
		}
		for _, h := range hints {
			if containsFold(name, h.word) && !slices.Contains(in.Classes, string(h.class)) {
				return flawed(fmt.Sprintf("add %q to its classes", h.class), "the name %q says that it does more than its classes", name)
			}
		}
	}
	for name := range strings.FieldsSeq(in.Scripts) {
		if managers[strings.ToLower(name)] {
			return flawed("rename the script", "a package manager takes %q for a verb of its own", name)
		}
	}
	return nil
}

// ownEnvironment lets an intent name caches, and set what may stand before any command.
func ownEnvironment(in intent.Intent) error {
	for _, name := range in.Env {
		if !slices.Contains(intent.Caches, name) {
			return flawed(`use "*", which stands for the usual caches`, "the variable %s is not passed on to commands of yours", name)
		}
	}
	for name, value := range in.Set {
		if inUse(name, value) {
			return flawed("leave it out", "%s=%s aims at what is in use", name, value)
		}
		if !allowedPrefix(shellcmd.Assign{Name: name, Value: shellcmd.Word{Text: value, Source: value}}) {
			return flawed("leave it out", "the variable %s is not known to be harmless with the value %q", name, value)
		}
	}
	return nil
}

// ownExamples are commands that the intent covers: each is compared with its tables.
func ownExamples(in intent.Intent) error {
	if len(in.Examples) == 0 {
		return flawed("add the commands that it is for", "it has no examples: they are what a leader sees before approving")
	}
	for _, e := range in.Examples {
		line, err := shellcmd.Parse(e, "/")
		if err != nil || len(line.Refused) > 0 || len(line.Commands) != 1 || len(line.Commands[0].Argv) == 0 {
			return flawed("write one plain command", "the example %q is not one", e)
		}
		use, err := in.Match(line.Commands[0].Argv)
		if err == nil && use.Inner != nil {
			err = errors.New("it starts another program")
		}
		if err != nil {
			return flawed("correct the example, or its programs", "the example %q is not covered by it (%s)", e, unknownPart(err))
		}
	}
	return nil
}
