package permissions

import (
	"slices"
	"strings"
)

// sameServerTool compares a rule that has wildcards or is about MCP servers with the call's tool. Servers may have the
// characters in their names that stand between them and their tools: then a narrowing rule names the tool, and a widening
// one does not.
func (v *view) sameServerTool(r Rule) bool {
	if r.Server != "" && !v.ofServer(r) {
		return false
	}
	switch {
	case r.Tool == "*":
		return r.Server != "" || r.Verdict != Allow
	case r.Tool == v.call.Tool:
		return true
	case r.Verdict == Allow && strings.Contains(r.Tool, "*") && r.Server == "" && !v.surely(r.Tool):
		return false
	}
	if r.Verdict != Allow && wildcard(strings.ReplaceAll(r.Tool, "__", "_"), strings.ReplaceAll(v.call.Tool, "__", "_")) {
		return true // in the other spelling
	}
	return slices.ContainsFunc(v.toolNames(r), func(name string) bool { return wildcard(r.Tool, name) })
}

// ofServer reports whether the call's tool is of the rule's server.
func (v *view) ofServer(r Rule) bool {
	server, sure := v.server()
	if server != "" && sure {
		return r.Server == "*" || server == r.Server
	}
	if r.Verdict == Allow {
		return false
	}
	if r.Server == "*" {
		return server != "" || strings.HasPrefix(v.call.Tool, "mcp_")
	}
	return strings.HasPrefix(v.call.Tool, "mcp__"+r.Server+"__") || strings.HasPrefix(v.call.Tool, "mcp_"+r.Server+"_")
}

// server is the name of the MCP server whose tool is called. It is sure when the client says it, or when the tool's name
// can be read in one way only.
func (v *view) server() (name string, sure bool) {
	if v.call.Server != "" {
		return v.call.Server, true
	}
	rest, ok := strings.CutPrefix(v.call.Tool, "mcp__")
	if !ok {
		return "", false
	}
	name, tool, ok := strings.Cut(rest, "__")
	return name, ok && name != "" && tool != "" && !strings.Contains(tool, "__") && !strings.HasPrefix(tool, "_") && !strings.HasSuffix(name, "_")
}

// surely reports whether a wildcard of an allow rule stands for the tools of one server, and the call's tool is one of them.
func (v *view) surely(pattern string) bool {
	server, sure := v.server()
	return sure && (pattern == "mcp__"+server+"__*" || pattern == "mcp_"+server+"_*")
}

// toolNames are the names of the call's tool in Claude's and Gemini's spelling. A widening rule is compared with those that
// can be told for sure.
func (v *view) toolNames(r Rule) []string {
	names := []string{v.call.Tool}
	server, sure := v.server()
	tool := v.call.Tool
	for _, prefix := range []string{"mcp__" + server + "__", "mcp_" + server + "_"} {
		tool = strings.TrimPrefix(tool, prefix)
	}
	if server != "" && (sure || r.Verdict != Allow) {
		names = append(names, "mcp__"+server+"__"+tool)
		if r.Verdict != Allow || v.call.Server != "" || !strings.Contains(server, "_") && !strings.Contains(r.Tool, "*") {
			names = append(names, "mcp_"+server+"_"+tool)
		}
		if r.Server != "" {
			names = append(names, tool)
		}
	}
	if r.Server != "" && r.Server != "*" {
		names = append(names, strings.TrimPrefix(v.call.Tool, "mcp_"+r.Server+"_"), strings.TrimPrefix(v.call.Tool, "mcp__"+r.Server+"__"))
	}
	return names
}

// wildcard reports whether a pattern in which * stands for anything matches a name.
func wildcard(pattern, name string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from, p = p, n, p+1
		case p < len(pattern) && pattern[p] == name[n]:
			p, n = p+1, n+1
		case star >= 0: // the last star takes one more
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// trusted reports whether the team believes what the call's server says of its tools.
func (v *view) trusted() bool {
	server, sure := v.server()
	return sure && slices.Contains(v.state.Trusted, server)
}

// ruleHints compares a rule's annotations with the tool's. Of a server that is not trusted they are not known: then a
// narrowing rule names the tool, and a widening one does not.
func (v *view) ruleHints(r Rule) bool {
	if len(r.Hints) == 0 {
		return true
	}
	if !v.trusted() {
		return r.Verdict != Allow && (v.class == classUnknown || v.call.Server != "")
	}
	for name, want := range r.Hints {
		if have, said := v.call.Hints[name]; !said || have != want {
			return false
		}
	}
	return true
}

// onlyReadsBySaying reports whether a trusted server says that its tool changes nothing.
func (v *view) onlyReadsBySaying() bool {
	return v.class == classUnknown && v.trusted() && v.call.Hints["readOnlyHint"] && !v.call.Hints["destructiveHint"]
}
