package permissions

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// plainWord is a word that stands in a text of words as itself, wherever it is cut.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// patternWidens compares an allow rule's pattern with the words of a command, all of them plain.
func patternWidens(r Rule, words []string) bool {
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return !plainWord.MatchString(w) }) {
		return false
	}
	text := strings.Join(words, " ")
	if r.Pattern != nil && !matchesAll(r.Pattern, text) {
		return false
	}
	return r.Args == nil || matchesAll(r.Args, argsOf(map[string]any{"command": text}))
}

// matchesAll reports whether a pattern that is anchored matches a whole text.
func matchesAll(re *regexp.Regexp, text string) bool {
	at := re.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}

// patternHits compares a narrowing rule's patterns with a command, and with the whole line. possible is set
// when it depends on words that cannot be told.
func (v *view) patternHits(r Rule, c *shellcmd.Command) (hit, possible bool) {
	if r.Pattern == nil && v.call.Args != "" && v.argsMatch(r) {
		return true, true
	}
	lines := []string{v.call.Command}
	for _, form := range [][]shellcmd.Word{c.Argv, withoutGlobals(c.Argv)} {
		words := shellcmd.Shown(form)
		lines = append(lines, strings.Join(words, " "))
		if len(words) > 0 && strings.Contains(words[0], "/") {
			words[0] = path.Base(words[0])
			lines = append(lines, strings.Join(words, " "))
		}
	}
	for _, l := range lines {
		if (r.Pattern == nil || begins(r.Pattern, l)) && (r.Args == nil || r.Args.MatchString(argsOf(map[string]any{"command": l}))) {
			return true, true
		}
	}
	return false, slices.ContainsFunc(c.Argv, func(w shellcmd.Word) bool { return !w.Literal() }) && v.mayBegin(r, c)
}

// begins reports whether a pattern matches from the begin of a text.
func begins(re *regexp.Regexp, text string) bool {
	at := re.FindStringIndex(text)
	return at != nil && at[0] == 0
}

// mayBegin reports whether a command with words that cannot be told may be one that the pattern is about: it is not when
// the pattern begins with another program's name.
func (v *view) mayBegin(r Rule, c *shellcmd.Command) bool {
	if r.Pattern == nil {
		return true
	}
	prefix, _ := r.Pattern.LiteralPrefix()
	name, _, complete := strings.Cut(prefix, " ")
	return !complete || sameName(c.Argv[0], name) != differs
}

// argsMatch compares a rule's pattern with a call's arguments. Where they are not known a narrowing rule matches.
func (v *view) argsMatch(r Rule) bool {
	args, known := v.arguments()
	switch {
	case r.Verdict == Allow && strings.Contains(v.call.Path, ".."):
		return false // the text of a path says where it leads only without them
	case r.Args.MatchString(args):
		return known || r.Verdict != Allow
	case !known:
		return r.Verdict != Allow
	}
	return false
}

// arguments are the call's, as JSON with sorted keys and fences. They are known when the client gave them.
func (v *view) arguments() (text string, known bool) {
	var m map[string]any
	if v.call.Args != "" {
		d := json.NewDecoder(strings.NewReader(v.call.Args))
		d.UseNumber()
		if err := d.Decode(&m); err == nil && m != nil {
			return argsOf(m), true
		}
	}
	m = map[string]any{}
	if v.call.Path != "" {
		m["file_path"] = v.call.Path
	}
	if v.call.Command != "" {
		m["command"] = v.call.Command
	}
	return argsOf(m), false
}

// argsOf writes arguments as Gemini's rules expect them: keys in order, each pair at the top between two NUL characters,
// which no string can hold in JSON.
func argsOf(m map[string]any) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\x00" + jsonText(k) + ":" + jsonText(m[k]) + "\x00")
	}
	b.WriteByte('}')
	return b.String()
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ofDomain reports whether a call goes to the rule's host: an allow rule's when each address in it does, another's when
// one does, or when that cannot be told.
func (v *view) ofDomain(r Rule) bool {
	allows := r.Verdict == Allow
	targets, plain := v.addresses()
	for _, target := range targets {
		fits, told := r.hasHost(target)
		switch {
		case !told && !allows, fits && !allows:
			return true
		case allows && !fits:
			return false
		}
	}
	return plain == allows
}

// addresses are what a call of a network tool may go to: its path, and each text in its arguments that has an address.
// plain is set when one stands where it belongs. Arguments that cannot be read are one of which nothing can be told.
func (v *view) addresses() (out []string, plain bool) {
	if plain = v.call.Path != ""; plain {
		out = append(out, v.call.Path)
	}
	if v.call.Args == "" {
		return out, plain
	}
	args, ok := arguments(v.call.Args)
	if !ok {
		return append(out, ""), plain
	}
	for key, raw := range args {
		text := ""
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		switch {
		case strings.EqualFold(key, "url"):
			out, plain = append(out, text), true
		case strings.Contains(text, "://"):
			for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return c <= ' ' || strings.ContainsRune("\"'`<>()[]{},", c) }) {
				if strings.Contains(word, "://") {
					out = append(out, word)
				}
			}
		}
	}
	return out, plain
}

// hasHost compares an address with the rule's domain. It can be told when the address has a host.
func (r Rule) hasHost(target string) (fits, told bool) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return false, false
	}
	host, domain := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), strings.ToLower(strings.TrimPrefix(r.Domain, "*."))
	if r.Verdict == Allow && u.Scheme != "https" && u.Scheme != "http" {
		return false, true
	}
	return host == domain || strings.HasSuffix(host, "."+domain) && (r.Verdict != Allow || strings.HasPrefix(r.Domain, "*.")), true
}

// globNames compares the call's file with the rule's pattern.
func (v *view) globNames(r Rule) bool {
	s, ok := v.target()
	if !ok {
		return r.Verdict != Allow
	}
	return v.globFits(r, s)
}

// globFits compares by the name and by the links: a narrowing rule with either, a widening one with both.
func (v *view) globFits(r Rule, s spot) bool {
	glob := v.expandHome(r.Glob)
	fits := func(p, tree string) bool {
		switch {
		case p == "":
			return false
		case strings.HasPrefix(glob, "/"):
			return globCovers(glob[1:], strings.TrimPrefix(p, "/"), r.Verdict != Allow)
		}
		return within(tree, p) && globCovers(glob, strings.TrimPrefix(strings.TrimPrefix(p, tree), "/"), r.Verdict != Allow)
	}
	name, real := fits(s.name, v.tree) || fits(s.name, v.realTree), fits(s.real, v.realTree)
	if r.Verdict == Allow {
		return real && name && !s.unclear
	}
	return name || real
}

// globCovers reports whether a pattern of files matches a path or, with above, a folder above it: * and ? within a name,
// ** over any number of folders.
func globCovers(glob, name string, above bool) bool {
	parts := strings.Split(name, "/")
	at := make([]bool, len(parts)+1) // which parts of name the pattern so far may have used up
	at[0] = true
	for p := range strings.SplitSeq(glob, "/") {
		next := make([]bool, len(at))
		for i, ok := range at {
			switch {
			case ok && p == "**":
				for j := i; j < len(next); j++ {
					next[j] = true
				}
			case ok && i < len(parts):
				fits, err := path.Match(p, parts[i])
				next[i+1] = next[i+1] || fits || err != nil && p == parts[i]
			}
		}
		at = next
	}
	return at[len(parts)] || above && slices.Contains(at, true)
}

// filesNamed reports whether a command has a file among its words that a rule about files narrows.
func (v *view) filesNamed(r Rule, c *shellcmd.Command) bool {
	if r.Server != "" || r.Args != nil || r.Glob == "" && len(r.Argv) != 1 {
		return false
	}
	for w := range v.pathsOf(c) {
		for _, dir := range append(slices.Clone(c.Dirs), v.startDirs()...) {
			s := v.place(v.expandHome(w), dir)
			if w == "" || s.name == "" {
				continue
			}
			if r.Glob != "" && v.globFits(r, s) || r.Glob == "" && v.pathNames(r, s) {
				return true
			}
		}
	}
	return false
}
