package policyfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/planswarm/swarm/permissions"
)

// Test is one of a file's own examples: a call, and what must be said of it.
type Test struct {
	Line   int
	Call   permissions.Call
	Mode   permissions.Mode
	Grants []string // prompts
	Want   permissions.Verdict
	By     string // the name of the rule that must decide; empty is any
}

// The keys of our YAML.
var (
	topKeys  = []string{"version", "rules", "tests"}
	ruleKeys = []string{"name", "allow", "ask", "deny", "message", "modes", "attended", "priority"}
	specKeys = []string{"tool", "server", "command", "prefix", "regex", "args", "path", "domain", "hints"}
	testKeys = []string{"tool", "command", "path", "mode", "grants", "want", "by"}
)

// yaml reads our own format. It is decoded from nodes, so that each problem has its line.
func (r *reader) yaml(data []byte) {
	root, err := decodeYAML(data)
	if err != nil {
		line := 0
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ = strconv.Atoi(m[1])
		}
		r.whole(line, bad("correct the YAML", "it cannot be read (%s)", strings.TrimPrefix(err.Error(), "yaml: ")))
		return
	}
	m, err := mapping(root, topKeys)
	if err != nil {
		r.whole(root.Line, err)
		return
	}
	if v := m["version"]; v == nil || v.Value != "1" {
		r.whole(root.Line, bad("write version: 1 at its begin", "the version is missing or not 1"))
		return
	}
	if list := m["rules"]; list != nil {
		if list.Kind != yaml.SequenceNode {
			r.whole(list.Line, bad("write a list", "rules is no list"))
			return
		}
		for i, n := range list.Content {
			r.yamlRule(n, i+1)
		}
	}
	if list := m["tests"]; list != nil {
		r.yamlTests(list)
	}
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

func decodeYAML(data []byte) (root *yaml.Node, err error) {
	defer func() { // the parser is not ours, and a panic from outside input must not pass
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("the parser gave up (%v)", p)
		}
	}()
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, cmp.Or(err, fmt.Errorf("line %d: there is a second document in it", more.Line))
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("the file is empty")
	}
	return doc.Content[0], nil
}

// mapping reads a mapping with known keys, each once. Of a key that is not known the error names a near one.
func mapping(n *yaml.Node, known []string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, bad("write key: value", "it is no mapping")
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || !slices.Contains(known, k.Value):
			return nil, bad(orNearest(k.Value, known, "use "+strings.Join(known, ", ")), "the key %q is not known", k.Value)
		case out[k.Value] != nil:
			return nil, bad("leave one of them out", "the key %q stands twice", k.Value)
		case v.Kind == yaml.AliasNode || v.Anchor != "":
			return nil, bad("write it out", "anchors and aliases are not read")
		}
		out[k.Value] = v
	}
	return out, nil
}

// verdictNodes are the parts of a rule that say what it decides, also when its other parts cannot be read.
func verdictNodes(n *yaml.Node) (verdict permissions.Verdict, spec *yaml.Node) {
	verdict = permissions.Allow
	if n.Kind != yaml.MappingNode {
		return permissions.Deny, nil
	}
	found := 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		v := permissions.Verdict(n.Content[i].Value)
		if !slices.Contains(verdicts, v) {
			v = permissions.Verdict(nearest(n.Content[i].Value, []string{"allow", "ask", "deny"}))
		}
		if v == "" {
			continue
		}
		if found++; v == permissions.Deny || v == permissions.Ask && verdict == permissions.Allow {
			verdict = v
		}
		spec = n.Content[i+1]
	}
	switch found {
	case 0:
		return permissions.Deny, nil
	case 1:
		return verdict, spec
	}
	return verdict, nil
}

func (r *reader) yamlRule(n *yaml.Node, number int) {
	if r.full() {
		return
	}
	name := ruleNumber(number)
	r.file.Written++
	rules, err := r.yamlRules(n, func(err error) { r.problem(n.Line, name, err) })
	if err != nil {
		r.file.Unread++
		r.problem(n.Line, name, err)
		verdict, spec := verdictNodes(n)
		r.unread(verdict, yamlTools(spec), n.Line)
		return
	}
	for _, rule := range rules {
		r.add(rule)
	}
}

// yamlTools are the tools that a rule could be about.
func yamlTools(spec *yaml.Node) []string {
	if spec == nil {
		return nil
	}
	var out []string
	switch spec.Kind {
	case yaml.ScalarNode:
		return specTools(spec.Value)
	case yaml.SequenceNode:
		for _, e := range spec.Content {
			tools := yamlTools(e)
			if tools == nil {
				return nil
			}
			out = append(out, tools...)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(spec.Content); i += 2 {
			if spec.Content[i].Value == "tool" {
				tools, ok := texts(spec.Content[i+1])
				if !ok || len(out) > 0 {
					return nil
				}
				for _, t := range tools {
					out = append(out, specTools(t)...)
				}
			}
		}
	}
	return out
}

func (r *reader) yamlRules(n *yaml.Node, warned func(error)) ([]permissions.Rule, error) {
	m, err := mapping(n, ruleKeys)
	if err != nil {
		return nil, err
	}
	var base permissions.Rule
	var spec *yaml.Node
	for _, v := range verdicts {
		if s := m[string(v)]; s != nil {
			if spec != nil {
				return nil, bad("write two rules", "a rule has only one of allow, ask and deny")
			}
			base.Verdict, spec = v, s
		}
	}
	if spec == nil {
		return nil, bad("say what it decides, as in deny: Bash(git push:*)", "it has none of allow, ask and deny")
	}
	if err := r.yamlConditions(&base, m, n.Line); err != nil {
		return nil, err
	}
	return yamlSpecs(base, spec, warned)
}

// yamlConditions reads what all parts of a rule have in common.
func (r *reader) yamlConditions(base *permissions.Rule, m map[string]*yaml.Node, line int) error {
	base.Source = place(r.file.Name, line)
	if n := m["name"]; n != nil {
		if n.Kind != yaml.ScalarNode || strings.TrimSpace(n.Value) == "" {
			return bad("write a text", "the name is no text")
		}
		base.Source += ` "` + n.Value + `"`
		r.file.Names = append(r.file.Names, n.Value)
	}
	if n := m["message"]; n != nil {
		if n.Kind != yaml.ScalarNode {
			return bad("write a text", "the message is no text")
		}
		base.Message = n.Value
	}
	if n := m["modes"]; n != nil {
		names, ok := texts(n)
		if !ok {
			return bad("write a list such as [default, plan]", "modes is no list of texts")
		}
		list := make([]any, len(names))
		for i, name := range names {
			list[i] = name
		}
		modes, err := geminiModes(list, base.Verdict)
		if err != nil {
			return err
		}
		base.Modes = modes
	}
	if n := m["attended"]; n != nil {
		base.When = map[string]permissions.Attendance{"true": permissions.Attended, "false": permissions.Unattended}[n.Value]
		if n.Tag != "!!bool" || base.When == permissions.Always {
			return bad("write true or false", "attended is neither true nor false")
		}
	}
	if n := m["priority"]; n != nil {
		p, err := strconv.Atoi(n.Value)
		if err != nil || p < 0 || p > 999 {
			return bad("give it a whole number from 0 to 999", "the priority %q cannot be used", n.Value)
		}
		base.List, base.Rank = string(r.file.Scope)+" "+r.file.Name, float64(p)/1000
	}
	return nil
}

// yamlSpecs reads what a rule names: a text in Claude's spelling, a list of them, or a mapping.
func yamlSpecs(base permissions.Rule, n *yaml.Node, warned func(error)) ([]permissions.Rule, error) {
	switch n.Kind {
	case yaml.ScalarNode, yaml.SequenceNode:
		specs, ok := texts(n)
		if !ok {
			return nil, bad(specForm, "it is no text, and no list of texts")
		}
		var out []permissions.Rule
		for _, s := range specs {
			rule, err := parseSpec(base.Verdict, s)
			if err != nil && !IsWarning(err) {
				return nil, err
			}
			if err != nil {
				warned(err)
			}
			rule.Modes, rule.When, rule.List, rule.Rank, rule.Message, rule.Source = base.Modes, base.When, base.List, base.Rank, base.Message, base.Source
			out = append(out, rule)
		}
		return out, nil
	case yaml.MappingNode:
		rules, err := yamlMapping(base, n)
		for _, rule := range rules {
			if len(rule.Argv) == 0 && rule.Pattern == nil && rule.Args == nil {
				if err := geminiNothing(rule); err != nil {
					warned(err)
				}
			}
		}
		return rules, err
	}
	return nil, bad(specForm, "it is no text, no list and no mapping")
}

// yamlMapping reads what a rule names piece by piece.
func yamlMapping(base permissions.Rule, n *yaml.Node) ([]permissions.Rule, error) {
	m, err := mapping(n, specKeys)
	if err != nil {
		return nil, err
	}
	asTOML := map[string]any{}
	for ours, theirs := range map[string]string{"tool": "toolName", "prefix": "commandPrefix", "regex": "commandRegex", "args": "argsPattern", "server": "mcpName"} {
		if m[ours] == nil {
			continue
		}
		list, ok := texts(m[ours])
		if !ok {
			return nil, bad("write a text", "%s is no text", ours)
		}
		if asTOML[theirs] = list[0]; m[ours].Kind == yaml.SequenceNode {
			all := make([]any, len(list))
			for i, s := range list {
				all[i] = s
			}
			asTOML[theirs] = all
		}
	}
	base.Server = text(asTOML["mcpName"])
	if m["server"] != nil && base.Server == "" {
		return nil, bad("name one server", "server is no text")
	}
	if m["hints"] != nil {
		var v map[string]any
		if err := m["hints"].Decode(&v); err != nil {
			return nil, bad("write {readOnlyHint: true}", "hints cannot be read")
		}
		if base.Hints, err = hints(v); err != nil {
			return nil, err
		}
	}
	out, err := geminiExpand(base, asTOML)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if err := yamlNames(&out[i], m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// yamlNames adds a command, a file or a domain.
func yamlNames(rule *permissions.Rule, m map[string]*yaml.Node) error {
	class, named := permissions.ToolClass(rule.Tool), 0
	for _, part := range []struct{ key, class string }{{"command", "run"}, {"path", "read edit"}, {"domain", "network"}} {
		n := m[part.key]
		switch {
		case n == nil:
			continue
		case n.Kind != yaml.ScalarNode || n.Value == "":
			return bad("write a text", "%s is no text", part.key)
		case !slices.Contains(strings.Fields(part.class), class):
			return bad("leave it out, or name another tool", "%s says nothing about %s", part.key, rule.Tool)
		}
		spec := n.Value
		if part.key == "domain" {
			spec = "domain:" + spec
		}
		if part.key == "command" {
			argv, err := commandWords(spec)
			if err != nil {
				return err
			}
			rule.Argv = argv
		} else if err := fill(rule, spec); err != nil {
			return err
		}
		named++
	}
	for _, key := range []string{"prefix", "regex", "args"} {
		if m[key] != nil {
			named++
		}
	}
	if named > 1 {
		return bad("write two rules", "a rule has only one of command, prefix, regex, args, path and domain")
	}
	return nil
}

// texts reads a text, or a list of texts that is not empty.
func texts(n *yaml.Node) ([]string, bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		return []string{n.Value}, n.Value != "" && n.Tag == "!!str"
	case yaml.SequenceNode:
		var out []string
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode || e.Value == "" || e.Tag != "!!str" {
				return nil, false
			}
			out = append(out, e.Value)
		}
		return out, len(out) > 0
	}
	return nil, false
}

func (r *reader) yamlTests(list *yaml.Node) {
	if list.Kind != yaml.SequenceNode {
		r.problem(list.Line, "tests", bad("write a list", "it is no list"))
		return
	}
	for i, n := range list.Content {
		t, err := yamlTest(n)
		if err != nil {
			r.problem(n.Line, fmt.Sprintf("test %d", i+1), err)
			continue
		}
		r.file.Tests = append(r.file.Tests, t)
	}
}

func yamlTest(n *yaml.Node) (Test, error) {
	t := Test{Line: n.Line, Call: permissions.Call{Tool: "Bash"}, Mode: permissions.ModeDefault}
	m, err := mapping(n, testKeys)
	if err != nil {
		return t, err
	}
	mode, want := "", ""
	for key, to := range map[string]*string{"tool": &t.Call.Tool, "command": &t.Call.Command, "path": &t.Call.Path, "mode": &mode, "want": &want, "by": &t.By} {
		if v := m[key]; v != nil {
			if v.Kind != yaml.ScalarNode || v.Value == "" {
				return t, bad("write a text", "%s is no text", key)
			}
			*to = v.Value
		}
	}
	if v := m["grants"]; v != nil {
		var ok bool
		if t.Grants, ok = texts(v); !ok {
			return t, bad(`write a list such as [run tests]`, "grants is no list of texts")
		}
	}
	if mode != "" {
		if t.Mode, err = permissions.ParseMode(mode); err != nil {
			return t, unknownMode(mode)
		}
	}
	if want == "" {
		return t, bad("write want: allow, ask or deny", "it does not say what it wants")
	}
	if t.Want = permissions.Verdict(want); !slices.Contains(verdicts, t.Want) {
		return t, bad(orNearest(want, []string{"allow", "ask", "deny"}, "write want: allow, ask or deny"), "what it wants is not known: %q", want)
	}
	if t.Call.Command == "" && t.Call.Path == "" && permissions.ToolClass(t.Call.Tool) == "run" {
		return t, bad("write command: or path:", "it names no call")
	}
	return t, nil
}
