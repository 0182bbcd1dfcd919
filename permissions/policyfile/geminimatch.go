package policyfile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// geminiTools reads toolName: a name, a list, with wildcards for the tools of servers.
func geminiTools(m map[string]any, ofServer bool) ([]string, error) {
	v, there := m["toolName"]
	if !there && ofServer {
		return []string{"*"}, nil
	}
	names, ok := stringsOf(v)
	if !ok {
		return nil, bad(`name a tool, a list of tools, or "*"`, "toolName is missing or no text")
	}
	for _, n := range names {
		switch {
		case n == "*" || ofServer && wildName.MatchString(n) || strings.HasPrefix(n, "mcp_") && wildName.MatchString(n):
		case strings.Contains(n, "*"):
			return nil, bad(`write "*", "mcp_*" or "mcp_server_*"`, "the wildcard in %q is not known", n)
		case !toolName.MatchString(n):
			return nil, bad(`name a tool, a list of tools, or "*"`, "%q is not the name of a tool", n)
		default:
			switch err := knownTool(n); {
			case ofServer:
			case program(n) && knownProgram(n):
				return nil, bad(`write Bash(`+n+`:*), or in TOML toolName = "run_shell_command" and commandPrefix = "`+n+`"`, "%s is a program, and no tool", n)
			case err != nil:
				return nil, err
			}
		}
	}
	return names, nil
}

var wildName = regexp.MustCompile(`^[A-Za-z0-9_.*-]+$`)

// geminiCommands adds what a rule names of the arguments.
func geminiCommands(rule permissions.Rule, m map[string]any) ([]permissions.Rule, error) {
	prefix, hasPrefix := m["commandPrefix"]
	regex, hasRegex := m["commandRegex"]
	args, hasArgs := m["argsPattern"]
	isCommand := permissions.ToolClass(rule.Tool) == "run"
	_, single := m["toolName"].(string)
	names, _ := stringsOf(m["toolName"])
	switch {
	case (hasPrefix || hasRegex) && (!isCommand || !single):
		return nil, bad(`use toolName = "run_shell_command"`, "commandPrefix and commandRegex are for commands, and toolName is %s", cmp.Or(strings.Join(names, ", "), "missing"))
	case hasPrefix && hasRegex, hasPrefix && hasArgs, hasRegex && hasArgs:
		return nil, bad("use one of them", "a rule has only one of commandPrefix, commandRegex and argsPattern")
	case hasPrefix:
		return geminiPrefixes(rule, prefix)
	case hasRegex:
		return commandPattern(rule, text(regex))
	case hasArgs:
		return argsPattern(rule, text(args), isCommand)
	}
	return []permissions.Rule{rule}, nil
}

func geminiPrefixes(rule permissions.Rule, v any) ([]permissions.Rule, error) {
	prefixes, ok := stringsOf(v)
	if !ok {
		return nil, bad("give it a text, or a list of texts", "commandPrefix is no text")
	}
	var out []permissions.Rule
	for _, p := range prefixes {
		if err := unseen(p); err != nil {
			return nil, err
		}
		one := rule
		argv, err := commandWords(p)
		switch {
		case err == nil:
			one.Argv, one.Prefix = argv, true
		case rule.Verdict == permissions.Allow || strings.TrimSpace(p) == "":
			return nil, err
		default:
			one.Pattern = regexp.MustCompile(`(?s)` + regexp.QuoteMeta(p) + `(?:[\s"]|$)`)
		}
		out = append(out, one)
	}
	return out, nil
}

const maxPattern = 2048

// compile reads a regular expression as Gemini's users write it. What only JavaScript has (such as lookahead) is an error.
func compile(pattern, what string) (*regexp.Regexp, error) {
	if pattern == "" || len(pattern) > maxPattern {
		return nil, bad(fmt.Sprintf("write a pattern of at most %d bytes", maxPattern), "%s is empty, too long or no text", what)
	}
	if err := unseen(pattern); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, bad("write it without lookaround and back references", "%s cannot be read (%s)", what, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// anyCommand are commands that no sensible pattern allows: one that matches them allows everything.
var anyCommand = []string{"zq-unlikely --x=1 y", "zq-unlikely"}

// wrapped is a pattern between two others. It is an error where the pattern reaches out of its place.
func wrapped(before, pattern, after, what string) (*regexp.Regexp, error) {
	if _, err := compile(pattern, what); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(before + "(?:" + pattern + ")" + after)
	if err != nil {
		return nil, bad("write it more simply", "%s cannot be read (%s)", what, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// commandPattern adds a regular expression over a command: an allow rule's must match all of it, another's its begin.
func commandPattern(rule permissions.Rule, pattern string) ([]permissions.Rule, error) {
	const what = "commandRegex"
	var err error
	if rule.Verdict == permissions.Allow {
		if rule.Pattern, err = wrapped("^", pattern, "$", what); err == nil && slices.ContainsFunc(anyCommand, rule.Pattern.MatchString) {
			err = bad("begin it with the name of a program", "the pattern %q would allow every command", pattern)
		}
		return []permissions.Rule{rule}, err
	}
	byText, byArgs := rule, rule
	if byText.Pattern, err = wrapped("(?s)", pattern, "", what); err != nil || !strings.Contains(pattern, `"`) {
		return []permissions.Rule{byText}, err
	}
	byArgs.Args, err = wrapped(`(?s)"command":"`, pattern, "", what)
	return []permissions.Rule{byText, byArgs}, err
}

// argsPattern adds a regular expression over the arguments. An allow rule's begins at a key of the call itself, and for
// commands must match all of it.
func argsPattern(rule permissions.Rule, pattern string, isCommand bool) ([]permissions.Rule, error) {
	const what = "argsPattern"
	var err error
	switch {
	case rule.Verdict != permissions.Allow:
		rule.Args, err = compile(pattern, what)
	case isCommand:
		rule.Args, err = wrapped(`^\{?\x00?`, pattern, `\x00?\}?$`, what)
		if err == nil && slices.ContainsFunc(anyCommand, func(c string) bool { return rule.Args.MatchString("{\x00\"command\":\"" + c + "\"\x00}") }) {
			err = bad("begin it with the name of a program", "the pattern %q would allow every command", pattern)
		}
	case strings.HasPrefix(pattern, `"`) && !strings.Contains(pattern, "|"):
		rule.Args, err = wrapped(`\x00`, pattern, "", what)
	case !strings.HasPrefix(pattern, `\0"`) && !strings.HasPrefix(pattern, `\x00"`) || strings.Contains(pattern, "|"):
		err = bad(`begin it with a key, as in "file_path":"docs/, and use no |`, "an argument could hold anything that the pattern %q matches", pattern)
	default:
		rule.Args, err = compile(pattern, what)
	}
	return []permissions.Rule{rule}, err
}

// stringsOf reads a text, or a list of texts that is not empty.
func stringsOf(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, v != ""
	case []any:
		var out []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok || s == "" {
				return nil, false
			}
			out = append(out, s)
		}
		return out, len(out) > 0
	}
	return nil, false
}
