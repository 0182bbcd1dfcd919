package permissions

import "slices"

// Offered lists the tools that are worth declaring to an agent in a mode, in order and each once: those of which a call
// could be allowed or asked. Nobody is told of a tool that a deny rule names whole, of plan mode's entry while planning or
// its exit otherwise, and in dontAsk of what no rule allows. Edits stay while planning: they write the plan file.
// An unknown mode is plan mode.
func (e *Engine) Offered(mode Mode, tools []string, rules ...Rule) []string {
	var out []string
	for _, tool := range tools {
		v := e.look(Call{Tool: tool}, State{Mode: mode, Rules: rules})
		if !slices.Contains(out, tool) && v.offered() {
			out = append(out, tool)
		}
	}
	return out
}

func (v *view) offered() bool {
	if slices.ContainsFunc(v.rules, v.deniesWhole) {
		return false
	}
	switch v.class {
	case classEnter:
		return v.mode != ModePlan
	case classLeave:
		return v.mode == ModePlan
	case classEdit, classNetwork, classUnknown:
		return v.mode != ModeDontAsk || slices.ContainsFunc(v.rules, func(r Rule) bool { return r.Verdict == Allow && v.sameTool(r) })
	}
	return true
}

// deniesWhole reports whether a rule denies every call of the tool, whoever can be asked.
func (v *view) deniesWhole(r Rule) bool {
	narrow := len(r.Argv) > 0 || r.Pattern != nil || r.Args != nil || r.Glob != "" || r.Domain != "" || len(r.Hints) > 0 || r.When != Always
	return r.Verdict == Deny && !narrow && v.sameTool(r) && !v.lifted(r, v.sameTool)
}
