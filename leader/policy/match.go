package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
)

// matches reports whether every given key holds, and the words that say so.
func (m Match) matches(r leader.Row) (string, bool) {
	var why []string
	for _, key := range []func(leader.Row) (string, bool, bool){m.who, m.agent, m.intents, m.lacks, m.paths, m.revision, m.commands} {
		said, given, holds := key(r)
		if given && !holds {
			return "", false
		}
		if given {
			why = append(why, said)
		}
	}
	if len(why) == 0 {
		return "it is about everything", true
	}
	return strings.Join(why, "; "), true
}

// Each key says what it found, whether the rule has it, and whether it holds.

func (m Match) who(r leader.Row) (said string, given, holds bool) {
	names := m.Teammates
	if m.Teammate != "" {
		names = []string{m.Teammate}
	}
	return "from " + r.From, names != nil, slices.Contains(names, r.From)
}

func (m Match) agent(r leader.Row) (said string, given, holds bool) {
	name, _, _ := strings.Cut(r.Agent, " ")
	return "agent " + name, m.Agents != nil, name != "" && slices.Contains(m.Agents, name)
}

func (m Match) intents(r leader.Row) (said string, given, holds bool) {
	asked := make([]string, 0, len(r.Prompts))
	for _, p := range r.Prompts {
		if p.Intent == "" || !slices.Contains(m.Intents, p.Intent) {
			return "", m.Intents != nil, false
		}
		asked = append(asked, p.Intent)
	}
	if len(asked) == 0 {
		return "it asks for nothing", m.Intents != nil, true
	}
	return "it asks for " + strings.Join(asked, ", "), m.Intents != nil, true
}

func (m Match) lacks(r leader.Row) (said string, given, holds bool) {
	for _, p := range r.Prompts {
		if p.Intent != "" && slices.Contains(m.Lacks, p.Intent) {
			return "", true, false
		}
	}
	return "it does not ask for " + strings.Join(m.Lacks, ", "), m.Lacks != nil, true
}

func (m Match) paths(r leader.Row) (said string, given, holds bool) {
	named, complete := r.FilesNamed()
	if r.Kind == leader.RowRun {
		named, complete = edited(r)
	}
	for _, f := range named {
		inside := func(pattern string) bool { return charter.MatchPath(pattern, f) }
		if !slices.ContainsFunc(m.Paths, inside) {
			return "", m.Paths != nil, false
		}
	}
	return "it names only " + strings.Join(m.Paths, ", "), m.Paths != nil, complete && len(named) > 0
}

func (m Match) revision(r leader.Row) (said string, given, holds bool) {
	return fmt.Sprintf("revision %d", m.Revision), m.Revision > 0, r.Revision == m.Revision
}

// edited is the file that a single call wants to write, as a path inside the working tree. Other calls name none.
func edited(r leader.Row) (named []string, complete bool) {
	p := r.Permission
	if p == nil || !slices.Contains([]string{"Edit", "Write", "MultiEdit"}, p.Tool) || !filepath.IsLocal(p.Input) {
		return nil, false
	}
	return []string{path.Clean(p.Input)}, true
}

// commands are run at the top of the working tree: elsewhere the same words may start another program.
func (m Match) commands(r leader.Row) (said string, given, holds bool) {
	if m.Commands == nil || r.Permission == nil {
		return "", m.Commands != nil, false
	}
	call := r.Permission.Input
	same := func(line string) bool { return slices.Equal(strings.Fields(line), strings.Fields(call)) }
	return "it is " + call, true, r.Permission.Tool == "Bash" && r.Permission.Cwd == "." && plain(call) && slices.ContainsFunc(m.Commands, same)
}

// plain reports whether a line has only words that every shell reads as they are: no quotes, expansions, redirections,
// second commands or variables before it.
func plain(line string) bool {
	for _, c := range []byte(line) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(" ._/:@%+,-", c) >= 0:
		default:
			return false
		}
	}
	return true
}
