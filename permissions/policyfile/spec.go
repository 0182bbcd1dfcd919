package policyfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// ParseRule reads one rule as Claude spells it: Tool, Tool(words), Bash(words:*), with "deny:" or "ask:" before it when it
// narrows. The error says what is wrong and what to write instead; see also [IsWarning].
func ParseRule(text string) (permissions.Rule, error) {
	verdict, spec := permissions.Allow, text
	for _, v := range verdicts {
		if rest, ok := strings.CutPrefix(text, string(v)+":"); ok {
			verdict, spec = v, rest
			break
		}
	}
	r, err := parseSpec(verdict, spec)
	if err != nil && !IsWarning(err) {
		return permissions.Rule{}, err
	}
	return r, err
}

var verdicts = []permissions.Verdict{permissions.Deny, permissions.Ask, permissions.Allow}

const specForm = `write it as Tool, Tool(words) or Bash(words:*)`

var (
	toolName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	serverTool = regexp.MustCompile(`^mcp__[A-Za-z0-9_.-]+?(__(\*|[A-Za-z0-9_.-]+\*?))?$`)
)

// specTools are the tools that a text could be about, however little of it can be read.
func specTools(text string) []string {
	name, _, _ := strings.Cut(strings.TrimSpace(text), "(")
	name = strings.TrimSpace(name)
	switch {
	case serverTool.MatchString(name):
		return []string{name, name + "__*"}
	case !toolName.MatchString(name):
		return nil
	}
	tools := []string{name}
	if program(name) {
		tools = append(tools, "Bash")
	}
	if near := nearest(name, permissions.KnownTools()); near != "" && !slices.Contains(permissions.KnownTools(), name) {
		tools = append(tools, near)
	}
	return tools
}

// parseSpec reads Tool or Tool(spec).
func parseSpec(verdict permissions.Verdict, text string) (permissions.Rule, error) {
	r := permissions.Rule{Verdict: verdict}
	name, spec, hasSpec := strings.Cut(text, "(")
	switch {
	case text == "":
		return r, bad(specForm, "the rule is empty")
	case hasSpec && !strings.HasSuffix(spec, ")"):
		return r, bad("close it with )", "the rule has no )")
	case strings.HasPrefix(name, "mcp__"):
		return serverSpec(r, name, hasSpec)
	case !toolName.MatchString(name):
		return r, bad(specForm, "%q is not the name of a tool", name)
	}
	r.Tool = name
	if err := toolOf(verdict, name); err != nil {
		return r, err
	}
	if !hasSpec {
		return r, nothingNamed(r)
	}
	return r, fill(&r, strings.TrimSuffix(spec, ")"))
}

// serverSpec reads mcp__server, mcp__server__* and mcp__server__tool.
func serverSpec(r permissions.Rule, name string, hasSpec bool) (permissions.Rule, error) {
	switch {
	case hasSpec:
		return r, bad("leave the parentheses away", "a rule about a server's tool names nothing in parentheses")
	case !serverTool.MatchString(name):
		return r, bad("write mcp__server, mcp__server__tool or mcp__server__*", "%q is no tool of a server", name)
	}
	if r.Tool = name; !strings.Contains(strings.TrimPrefix(name, "mcp__"), "__") {
		r.Tool += "__*"
	}
	return r, nil
}

// otherTools are names that agents have for tools that the engine does not class: they are no misspellings.
var otherTools = []string{
	"Skill", "SlashCommand", "KillBash", "LSP", "Monitor", "ToolSearch", "ListMcpResources", "ReadMcpResource", "PowerShell", "save_memory", "activate_skill", "get_internal_docs",
	"write_stdin", "exec", "SendDMail",
}

// knownTool refuses a name that is close to one that is known. Others are tools of clients that are not.
func knownTool(name string) error {
	if slices.Contains(permissions.KnownTools(), name) || slices.Contains(otherTools, name) {
		return nil
	}
	if near := nearest(name, permissions.KnownTools()); near != "" {
		return bad(`did you mean "`+near+`"?`, "there is no tool %q", name)
	}
	return nil
}

// toolOf checks a name that stands where that of a tool belongs. That of a program is none: such a rule would be about
// nothing.
func toolOf(verdict permissions.Verdict, name string) error {
	err := knownTool(name)
	switch {
	case !program(name):
		return err
	case verdict == permissions.Allow && err == nil:
		return nothing("write Bash("+name+":*)", "%s is a program, and no tool", name)
	case err == nil || knownProgram(name) && !slices.ContainsFunc(permissions.KnownTools(), func(t string) bool { return strings.EqualFold(t, name) }):
		return bad("write Bash("+name+":*)", "%s is a program, and no tool", name)
	}
	return err
}

// program reports whether a name that no tool has is written as programs are: in lower case, and not as a server's tool.
func program(name string) bool {
	return !slices.Contains(permissions.KnownTools(), name) && !slices.Contains(otherTools, name) && !strings.HasPrefix(name, "mcp_") && strings.ToLower(name) == name
}

// knownProgram reports whether a name is that of a program in one of the tables.
func knownProgram(name string) bool {
	argv := []shellcmd.Word{{Source: name, Text: name}}
	return schema.ReadOnly().Closeness(argv) > 0 || schema.Effect(argv) != ""
}

// nothingNamed refuses to allow every command there is.
func nothingNamed(r permissions.Rule) error {
	if r.Verdict == permissions.Allow && permissions.ToolClass(r.Tool) == "run" {
		return nothing("name the command, as in "+r.Tool+"(make lint)", "it would allow every command, which no rule does")
	}
	return nil
}

// fill reads what stands between the parentheses.
func fill(r *permissions.Rule, spec string) error {
	if spec == "" {
		return bad("leave the parentheses away, or name something in them", "there is nothing in the parentheses")
	}
	switch permissions.ToolClass(r.Tool) {
	case "run":
		return fillCommand(r, spec)
	case "read", "edit":
		return fillPath(r, spec)
	case "network":
		domain, ok := strings.CutPrefix(spec, "domain:")
		if !ok || !domainName.MatchString(domain) {
			return bad("write domain:example.com", "%q is no domain", spec)
		}
		r.Domain = domain
		return nil
	case "agent":
		if !toolName.MatchString(spec) {
			return bad("name one kind of agent", "%q is not the name of an agent", spec)
		}
		r.Args = regexp.MustCompile(`\x00"(?:subagent_type|agent_name|name|agent_type)":"` + regexp.QuoteMeta(spec) + `"\x00`)
		return nil
	}
	return bad("name the tool alone", "what stands in parentheses is not known for %s", r.Tool)
}

var domainName = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// fillPath reads a file, a folder as folder/**, or a pattern: from the tree, from / as //, from the home as ~/.
func fillPath(r *permissions.Rule, spec string) error {
	if err := unseen(spec); err != nil {
		return err
	}
	p := spec
	switch {
	case strings.HasPrefix(p, "//"):
		p = p[1:]
	case strings.HasPrefix(p, "/"):
		p = p[1:] // from where the settings are, which is the tree
	}
	p = strings.TrimPrefix(p, "./")
	switch folder, below := strings.CutSuffix(p, "/**"); {
	case p == "" || p == "**" || p == "*" && r.Verdict != permissions.Allow:
		r.Argv, r.Prefix = []string{"."}, true
	case strings.ContainsAny(p, "{}[]\\"):
		return bad("use * and ** alone", "braces, brackets and backslashes are not read in a pattern of files")
	case strings.Contains("/"+p+"/", "/../"):
		return bad("name it from the tree, from / as //, or from the home as ~/", "it leads upwards")
	case !strings.ContainsAny(folder, "*?"):
		r.Argv, r.Prefix = []string{folder}, below
		if r.Verdict != permissions.Allow && !strings.Contains(p, "/") { // at any depth, as git's ignore files have it
			r.Argv, r.Prefix, r.Glob = nil, false, "**/"+p
		}
	default:
		if r.Verdict != permissions.Allow && !strings.Contains(p, "/") {
			p = "**/" + p
		}
		r.Glob = p
	}
	return nil
}

// unseen finds a character that nobody sees, such as a NUL or a byte order mark, or half of one: what has one by mistake
// names nothing.
func unseen(text string) error {
	i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError })
	if i < 0 {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return bad("type it again", "%q holds %U, which people cannot see or type", text, r)
}

func fillCommand(r *permissions.Rule, spec string) error {
	if err := unseen(spec); err != nil {
		return err
	}
	if spec == "*" || spec == ":*" {
		return nothingNamed(*r)
	}
	words, prefix := strings.CutSuffix(spec, ":*")
	if !prefix {
		words, prefix = strings.CutSuffix(spec, " *")
	}
	if strings.Contains(words, "*") && r.Verdict != permissions.Allow {
		return fillWildcard(r, words, prefix)
	}
	argv, err := commandWords(words)
	if err != nil {
		return err
	}
	r.Argv, r.Prefix = argv, prefix
	return nil
}

// fillWildcard reads a narrowing rule with a * inside: it stands for anything.
func fillWildcard(r *permissions.Rule, words string, prefix bool) error {
	switch {
	case strings.TrimLeft(words, "* ") == "":
		return nil
	case strings.ContainsAny(words, "()") || strings.Contains(words, ":*"):
		return bad("write one rule for each command", "%q is not one command", words)
	}
	end := "$"
	if prefix {
		end = `(?:\s|$)`
	}
	re, err := regexp.Compile(`(?s)` + strings.ReplaceAll(regexp.QuoteMeta(words), `\*`, `.*`) + end)
	if err != nil {
		return bad("write it in UTF-8", "%q is no text", words)
	}
	r.Pattern = re
	return nil
}

// commandWords splits the words of one simple command as bash does. Nothing in them may depend on where they run.
func commandWords(text string) ([]string, error) {
	line, err := shellcmd.Parse(text, "/")
	if err != nil || len(line.Refused) > 0 || len(line.Commands) != 1 {
		return nil, bad("write the words of one command, without ; | & < > or $", "%q is not one plain command", text)
	}
	c := line.Commands[0]
	if len(c.Argv) == 0 || len(c.Env) > 0 || len(c.Redirs) > 0 || c.Feeds || c.Piped {
		return nil, bad("write the words of one command, without variables before it or files after it", "%q is not one plain command", text)
	}
	var argv []string
	rest := text
	for _, w := range c.Argv {
		if !w.Literal() {
			return nil, bad("quote it, or end the rule before it with :*", "%s can only be told by running it", w.Source)
		}
		argv = append(argv, w.Text)
		rest = strings.TrimPrefix(strings.TrimSpace(rest), w.Source)
	}
	if strings.HasPrefix(strings.TrimSpace(rest), "#") { // what follows would count for nothing
		return nil, bad("quote the #, or leave out what follows it", "%q holds a comment", text)
	}
	return argv, nil
}

// IsWarning reports whether a rule that err is about was read all the same, and only does less than it seems.
func IsWarning(err error) bool {
	var f *flaw
	return errors.As(err, &f) && f.warning
}
