package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/planswarm/swarm/permissions"
)

// IsTOML reports whether a text is policy TOML rather than one rule in Claude's spelling.
func IsTOML(text string) bool { return strings.Contains(text, "[[rule]]") }

// ParseTOML reads rules of Gemini's policy TOML as a user's. The error is the first problem.
func ParseTOML(text string) ([]permissions.Rule, error) {
	f := Read("rule.toml", []byte(text), Config{Scope: ScopeUser})
	if errs := f.Errors(); len(errs) > 0 {
		return nil, errs[0]
	}
	return f.Rules, nil
}

// block is the text of one [[rule]], from its line.
type block struct {
	line int
	text string
}

var ruleHeader = regexp.MustCompile(`^\s*\[\[\s*"?rule"?\s*\]\]\s*(#.*)?$`)

// blocks splits a file before each [[rule]]. The first block is what stands before all of them.
func blocks(text string) []block {
	out := []block{{line: 1}}
	begin, at, n := 0, 0, 0
	for line := range strings.Lines(text) {
		n++
		if ruleHeader.MatchString(strings.TrimRight(line, "\r\n")) {
			out[len(out)-1].text = text[begin:at]
			out, begin = append(out, block{line: n}), at
		}
		at += len(line)
	}
	out[len(out)-1].text = text[begin:]
	return out
}

// maxBrackets bounds how deep the parser may call itself: Go cannot recover from a stack that is full.
const maxBrackets = 50_000

// gemini reads policy TOML. When the file is no TOML as a whole, each rule is read by itself, so that one that is broken
// takes no other with it.
func (r *reader) gemini(data []byte) {
	if n := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")); n > maxBrackets {
		r.whole(0, bad("split it", "it has more than %d brackets", maxBrackets))
		return
	}
	parts := blocks(string(data))
	doc, err := decodeTOML(string(data))
	if err != nil {
		r.brokenTOML(parts)
		return
	}
	rules := tables(doc["rule"])
	for i, m := range rules {
		line := 0
		if len(rules) == len(parts)-1 {
			line = parts[i+1].line
		}
		r.geminiRule(m, i+1, line)
	}
	if _, ok := doc["rule"]; ok && rules == nil {
		r.whole(0, bad("write [[rule]] before each", "rule is no list of tables"))
	}
	delete(doc, "rule")
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		r.geminiTop(key, doc[key])
	}
}

func decodeTOML(text string) (doc map[string]any, err error) {
	defer func() { // the parser is not ours, and a panic from outside input must not pass
		if p := recover(); p != nil {
			doc, err = nil, fmt.Errorf("the parser gave up (%v)", p)
		}
	}()
	err = toml.Unmarshal([]byte(text), &doc)
	return doc, err
}

func tables(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil
		}
		out = append(out, m)
	}
	return out
}

func (r *reader) geminiTop(key string, v any) {
	switch near := nearest(key, []string{"rule", "safety_checker"}); {
	case key == "safety_checker":
		r.problem(0, key, warn("say it as a rule", "swarm runs no checkers, so that this does nothing"))
	case near == "rule":
		r.problem(0, key, bad("did you mean [[rule]]?", "the table is not known"))
		list := tables(v)
		for i, m := range list {
			if m["decision"] != "allow" {
				r.geminiRule(m, i+1, 0)
			}
		}
		if list == nil && narrowsSomewhere(key, v) {
			r.unread(permissions.Deny, nil, 0)
		}
	default:
		if narrowsSomewhere(key, v) {
			r.unread(permissions.Deny, nil, 0)
		}
		r.problem(0, key, bad("leave it out: a policy has [[rule]] only", "the key is not known"))
	}
}

// narrowsSomewhere reports whether a value could hold a rule that does not allow.
func narrowsSomewhere(key string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if narrowsSomewhere(k, e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return narrowsSomewhere("", e) })
	}
	return strings.EqualFold(key, "decision") && v != "allow"
}

// brokenTOML reads each rule by itself.
func (r *reader) brokenTOML(parts []block) {
	for i, p := range parts {
		doc, err := decodeTOML(p.text)
		rules := tables(doc["rule"])
		switch {
		case err == nil && i == 0 && len(doc) == 0:
		case err == nil && len(rules) == 1 && len(doc) == 1:
			r.geminiRule(rules[0], i, p.line)
		default:
			if i > 0 {
				r.file.Written++
				r.file.Unread++
			}
			line, why := p.line, "the TOML cannot be read"
			var at *toml.DecodeError
			if errors.As(err, &at) {
				row, _ := at.Position()
				line, why = p.line+row-1, why+" ("+strings.TrimPrefix(at.Error(), "toml: ")+")"
			}
			r.problem(line, ruleNumber(i), bad("correct it: strings stand in quotes, lists in brackets", "%s", why))
			r.unread(guess(p.text))
		}
	}
}

func ruleNumber(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("rule %d", n)
}

var (
	decisionLine = regexp.MustCompile(`(?m)decision["']?\s*=\s*(.*)$`)
	toolLine     = regexp.MustCompile(`(?m)^\s*toolName\s*=\s*["']([A-Za-z0-9_*]+)["']\s*$`)
	allowValue   = regexp.MustCompile(`^["']allow["']\s*(#.*)?$`)
)

// guess is the most that a rule's text could narrow.
func guess(text string) (verdict permissions.Verdict, tools []string, line int) {
	verdict = permissions.Allow
	decisions := decisionLine.FindAllStringSubmatch(text, -1)
	for _, d := range decisions {
		if !allowValue.MatchString(strings.TrimSpace(d[1])) {
			verdict = permissions.Deny
		}
	}
	if len(decisions) == 0 || strings.Count(text, "decision") != len(decisions) {
		verdict = permissions.Deny
	}
	if m := toolLine.FindAllStringSubmatch(text, -1); len(m) == 1 && strings.Count(text, "toolName") == 1 {
		tools = []string{m[0][1]}
	}
	return verdict, tools, 0
}

// geminiKeys are the keys of a rule.
var geminiKeys = []string{
	"toolName", "mcpName", "subagent", "argsPattern", "commandPrefix", "commandRegex", "decision", "priority", "modes", "interactive", "toolAnnotations",
	"denyMessage", "deny_message", "allowRedirection", "allow_redirection",
}

// geminiRule reads one [[rule]]. What it could have meant stays denied when it cannot be read.
func (r *reader) geminiRule(m map[string]any, number, line int) {
	if r.full() {
		return
	}
	name := ruleNumber(number)
	r.file.Written++
	rules, err := r.geminiRules(m, func(err error) { r.problem(line, name, err) })
	if err != nil {
		r.file.Unread++
		r.problem(line, name, err)
		verdict := permissions.Deny
		if v, ok := decisions[text(m["decision"])]; ok {
			verdict = v
		}
		tools, _ := stringsOf(m["toolName"])
		if m["mcpName"] != nil || slices.ContainsFunc(tools, func(t string) bool { return !toolName.MatchString(t) || knownTool(t) != nil || program(t) }) {
			tools = nil
		}
		r.unread(verdict, tools, line)
		return
	}
	for _, rule := range rules {
		rule.Source = strings.TrimSpace(place(r.file.Name, line) + fmt.Sprintf(" %s, priority %v of %s", name, m["priority"], tiers[r.tier]))
		r.add(rule)
	}
}

// tiers are whose rules those of a tier are.
var tiers = map[int]string{1: "the defaults", 2: "an extension", 3: "a project", 4: "a user", 5: "the owner"}

var decisions = map[string]permissions.Verdict{"allow": permissions.Allow, "ask_user": permissions.Ask, "deny": permissions.Deny}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func (r *reader) geminiRules(m map[string]any, warned func(error)) ([]permissions.Rule, error) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(geminiKeys, key) {
			return nil, bad(orNearest(key, geminiKeys, "see Gemini's policy reference for what a rule has"), "the key %q is not known", key)
		}
	}
	base, err := r.geminiBase(m, warned)
	if err != nil {
		return nil, err
	}
	out, err := geminiExpand(base, m)
	if err != nil {
		return nil, err
	}
	for _, rule := range out {
		if err := geminiNothing(rule); err != nil {
			warned(err)
		}
	}
	return out, nil
}

// geminiExpand is a rule for each tool and command that a table names.
func geminiExpand(base permissions.Rule, m map[string]any) ([]permissions.Rule, error) {
	tools, err := geminiTools(m, base.Server != "")
	if err != nil {
		return nil, err
	}
	var out []permissions.Rule
	for _, tool := range tools {
		rule := base
		rule.Tool = tool
		rules, err := geminiCommands(rule, m)
		if err != nil {
			return nil, err
		}
		out = append(out, rules...)
	}
	return out, nil
}

// geminiNothing warns of an allow rule that names too much to allow anything.
func geminiNothing(r permissions.Rule) error {
	switch {
	case r.Verdict != permissions.Allow:
		return nil
	case r.Tool == "*" && r.Server == "", r.Tool == "mcp_*":
		return nothing("name the tools", "it would allow every tool, which no rule does")
	case len(r.Argv) == 0 && r.Pattern == nil && r.Args == nil:
		return nothingNamed(r)
	}
	return nil
}

// geminiBase reads what all rules of a table have in common.
func (r *reader) geminiBase(m map[string]any, warned func(error)) (permissions.Rule, error) {
	var base permissions.Rule
	var ok bool
	if m["decision"] == nil {
		return base, bad("use allow, ask_user or deny", "it has no decision")
	}
	if base.Verdict, ok = decisions[text(m["decision"])]; !ok {
		return base, bad(orNearest(text(m["decision"]), slices.Sorted(maps.Keys(decisions)), "use allow, ask_user or deny"), "the decision %q is not known", fmt.Sprint(m["decision"]))
	}
	if m["priority"] == nil {
		return base, bad("give it a whole number from 0 to 999", "it has no priority")
	}
	priority, ok := m["priority"].(int64)
	if !ok || priority < 0 || priority > 999 {
		return base, bad("give it a whole number from 0 to 999", "the priority %v cannot be used", m["priority"])
	}
	base.List, base.Rank = "gemini", float64(r.tier)+float64(priority)/1000
	if r.file.Scope == ScopeProject {
		base.List = "gemini project"
	}
	var err error
	if v, there := m["modes"]; there {
		if base.Modes, err = geminiModes(v, base.Verdict); err != nil {
			return base, err
		}
	}
	if base.When, err = attendance(m["interactive"]); err != nil {
		return base, err
	}
	if v, there := m["mcpName"]; there {
		if base.Server = text(v); base.Server == "" {
			return base, bad(`name the server, or "*"`, "mcpName is empty or no text")
		}
	}
	if v, there := m["toolAnnotations"]; there {
		if base.Hints, err = hints(v); err != nil {
			return base, err
		}
	}
	for _, key := range []string{"denyMessage", "deny_message"} {
		if v, there := m[key]; there {
			s, ok := v.(string)
			if !ok {
				return base, bad("write a text", "%s is no text", key)
			}
			base.Message = s
		}
	}
	return base, geminiIgnored(m, base, warned)
}

// geminiIgnored reads the keys that change nothing here.
func geminiIgnored(m map[string]any, base permissions.Rule, warned func(error)) error {
	for _, key := range []string{"allowRedirection", "allow_redirection"} {
		v, there := m[key]
		if on, ok := v.(bool); there && !ok {
			return bad("write true or false", "%s is neither true nor false", key)
		} else if on {
			warned(warn("leave it out", "no rule lets a command write files by > or >>"))
		}
	}
	v, there := m["subagent"]
	if !there {
		return nil
	}
	if text(v) == "" {
		return bad("name the agent", "subagent is empty or no text")
	}
	if base.Verdict == permissions.Allow {
		return bad("leave subagent out to allow it to all", "which agent calls cannot be told here")
	}
	warned(warn("leave subagent out", "which agent calls cannot be told here, so that it holds for all"))
	return nil
}

// geminiModes reads modes. A rule that narrows in default mode also narrows in dontAsk, and autoEdit is our acceptEdits and
// auto.
func geminiModes(v any, verdict permissions.Verdict) ([]permissions.Mode, error) {
	names, ok := stringsOf(v)
	if list, empty := v.([]any); empty && len(list) == 0 {
		return nil, nil
	}
	if _, single := v.(string); !ok || single {
		return nil, bad(`write a list such as ["default", "plan"]`, "modes is no list of texts")
	}
	var out []permissions.Mode
	for _, n := range names {
		mode, err := permissions.ParseMode(n)
		if err != nil {
			return nil, unknownMode(n)
		}
		out = append(out, mode)
		switch {
		case mode == permissions.ModeAcceptEdits:
			out = append(out, permissions.ModeAuto)
		case mode == permissions.ModeDefault && verdict != permissions.Allow:
			out = append(out, permissions.ModeDontAsk)
		}
	}
	return out, nil
}

// unknownMode says which modes there are: ours, which are Claude's, and what Gemini calls two of them.
func unknownMode(name string) error {
	known := []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"}
	advice := "use default, acceptEdits, plan, auto, dontAsk or bypassPermissions (Gemini's autoEdit and yolo are acceptEdits and bypassPermissions)"
	return bad(orNearest(name, append(known, "autoEdit", "yolo"), advice), "the mode %q is not known", name)
}

func attendance(v any) (permissions.Attendance, error) {
	switch v {
	case nil:
		return permissions.Always, nil
	case true:
		return permissions.Attended, nil
	case false:
		return permissions.Unattended, nil
	}
	return permissions.Always, bad("write true or false", "%v is neither true nor false", v)
}

func hints(v any) (map[string]bool, error) {
	m, ok := v.(map[string]any)
	out := map[string]bool{}
	for name, value := range m {
		on, isBool := value.(bool)
		ok = ok && isBool
		out[name] = on
	}
	if !ok || len(out) == 0 {
		return nil, bad("write { readOnlyHint = true }", "annotations are names that are true or false")
	}
	return out, nil
}
