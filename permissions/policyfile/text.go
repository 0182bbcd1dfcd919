package policyfile

import (
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// Text is a rule in one line, for people: as Claude spells it where that can be, else its tool and its pattern.
func Text(r permissions.Rule) string {
	tool := r.Tool
	if r.Server != "" {
		tool = "mcp__" + r.Server + "__" + tool
	}
	words := strings.Join(r.Argv, " ")
	switch {
	case len(r.Argv) > 0 && r.Prefix && permissions.ToolClass(r.Tool) == "run":
		words += ":*"
	case len(r.Argv) > 0 && r.Prefix:
		words = strings.TrimPrefix(words+"/**", "./")
	case r.Glob != "":
		words = r.Glob
	case r.Domain != "":
		words = "domain:" + r.Domain
	case r.Pattern != nil:
		words = "/" + r.Pattern.String() + "/"
	case r.Args != nil:
		words = "args /" + strings.ReplaceAll(r.Args.String(), "\x00", "") + "/"
	}
	if words != "" {
		tool += "(" + words + ")"
	}
	if r.Verdict != permissions.Allow {
		return string(r.Verdict) + ":" + tool
	}
	return tool
}
