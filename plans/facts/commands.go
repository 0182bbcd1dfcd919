package facts

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/plans"
)

// pattern is a kind of command that a plan's text may have.
type pattern struct {
	name string
	word string // in lower case, in whatever expr finds: a line without it costs no more than looking for it
	expr string
}

// destructive are commands that destroy data, rewrite history, or run what was never read. They are looked for in every
// line, prose too: a first, simple set.
var destructive = []pattern{
	{"rm -r", "rm", `\brm\s+(?:-\S+\s+)*(?:-[a-z]*r|--recursive)`},
	{"find -delete", "find", `\bfind\b[^|;]*\s-(?:delete|exec\s+rm)\b`},
	{"git push --force", "push", `\bgit\b[^|;&]*\bpush\b[^|;&]*\s(?:--force|--mirror|--delete|-[a-z]*[fd]\b|\+\S)`},
	{"git reset --hard", "reset", `\bgit\b[^|;&]*\breset\s+(?:\S+\s+)*--hard`},
	{"git clean -f", "clean", `\bgit\b[^|;&]*\bclean\s+(?:\S+\s+)*-[a-z]*f`},
	{"git branch -D", "branch", `\bgit\b[^|;&]*\bbranch\s+(?:\S+\s+)*(?-i:-D)\b`},
	{"git filter-branch", "filter-", `\bgit\b[^|;&]*\bfilter-(?:branch|repo)\b`},
	{"DROP", "drop", `\bdrop\s+(?:table|database|schema|column|keyspace)\b`},
	{"TRUNCATE", "truncate", `\btruncate\s+table\b`},
	{"DELETE FROM", "delete", `(?-i:\bDELETE\s+FROM)\s+\S|\bdelete\s+from\s+[\w.]+\s*(?:;|\swhere\b)`},
	{"dropdb", "dropdb", `\bdropdb\b`},
	{"flush", "flush", `\bflush(?:all|db)\b`},
	{"piped to a shell", "|", `\b(?:curl|wget)\b.*\|\s*(?:sudo\s+)?(?:\S*/)?(?:(?:ba|z|k|da)?sh|python3?|node|perl|ruby)\b`},
	{"piped to a shell", "(", `(?:sh|eval|source|\.)\s+(?:-c\s+)?["']?(?:<|\$)\(\s*(?:curl|wget)\b`},
	{"disk", "mkfs", `\bmkfs\b`},
	{"disk", "/dev/", `\bdd\b.*\bof=/dev/|>\s*/dev/(?:sd|nvme|disk|hd|vd)`},
	{"chmod 777", "chmod", `\bchmod\s+(?:-\S+\s+)*(?:0?777|a\+rwx)\b`},
	{"terraform destroy", "destroy", `\b(?:terraform|tofu|pulumi)\s+(?:\S+\s+)*destroy\b`},
	{"kubectl delete", "kubectl", `\bkubectl\s+(?:\S+\s+)*delete\b`},
	{"helm uninstall", "helm", `\bhelm\s+(?:uninstall|delete)\b`},
	{"docker prune", "docker", `\bdocker\s+(?:system|volume|image|container|network|builder)\s+(?:prune|rm)\b|\bcompose\s+down\s+(?:\S+\s+)*(?:-v\b|--volumes)`},
	{"aws s3 rm", "aws", `\baws\s+s3\s+r[mb]\b`},
}

// asRoot are commands that leave the rights of the user. They are looked for in code only.
var asRoot = []pattern{{"sudo", "sudo", `\bsudo\s`}, {"doas", "doas", `\bdoas\s`}}

// network are commands that talk to other machines. They are looked for in code only.
var network = []pattern{
	{"curl", "curl", `\bcurl\s`},
	{"wget", "wget", `\bwget\s`},
	{"ssh", "ssh", `\bssh\s`},
	{"scp", "scp", `\bscp\s`},
	{"rsync", "rsync", `\brsync\s`},
	{"npm", "", `\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add|ci|publish|update)\b`},
	{"pip", "", `\b(?:pip3?|uv|poetry)\s+(?:\S+\s+)?(?:install|add|sync|publish)\b`},
	{"go", "go ", `\bgo\s+(?:get|install)\b|\bgo\s+mod\s+(?:download|tidy)\b`},
	{"cargo", "cargo", `\bcargo\s+(?:add|install|publish|update)\b`},
	{"git", "git", `\bgit\b[^|;&]*\b(?:clone|fetch|pull|push)\b`},
	{"gh", "gh ", `\bgh\s+[a-z]+\s+[a-z]`},
	{"docker", "docker", `\bdocker\s+(?:pull|push|login)\b`},
	{"packages", "", `\b(?:apt|apt-get|brew|yum|dnf|apk)\s+(?:\S+\s+)*(?:install|add|update|upgrade)\b`},
}

// matcher finds which patterns a line has.
type matcher []struct {
	pattern
	re *regexp.Regexp
}

func newMatcher(list []pattern) func() matcher {
	return sync.OnceValue(func() matcher {
		m := make(matcher, len(list))
		for i, p := range list {
			m[i].pattern, m[i].re = p, regexp.MustCompile("(?i)"+p.expr)
		}
		return m
	})
}

// Compiled at the first plan: a thin client that never looks at one does not pay for it.
var (
	destructiveMatcher = newMatcher(destructive)
	rootMatcher        = newMatcher(asRoot)
	networkMatcher     = newMatcher(network)
)

// find lists the names of the patterns that text has, each once.
func (m matcher) find(text string) (names []string) {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lower := strings.ToLower(text)
	for _, p := range m {
		if strings.Contains(lower, p.word) && !slices.Contains(names, p.name) && p.re.MatchString(text) {
			names = append(names, p.name)
		}
	}
	return names
}

// commands lists what a line would destroy, and where it talks to other machines.
func (c *collector) commands(line plans.Line) {
	code := line.Text
	if !line.Code {
		code = strings.Join(plans.CodeSpans(line.Text), " \n ")
	}
	c.match(line, RuleDestructive, "could destroy", destructiveMatcher(), line.Text)
	c.match(line, RuleDestructive, "as root", rootMatcher(), code+" ")
	c.match(line, RuleNetwork, "network call", networkMatcher(), code+" ")
}

// match lists the patterns that text has, until there is enough of a rule to know that there is too much.
func (c *collector) match(line plans.Line, rule, what string, m matcher, text string) {
	if c.count[rule] >= 10*maxPerRule {
		return
	}
	for _, name := range m.find(text) {
		shown := strings.Join(strings.Fields(plans.Shorten(line.Text, maxText)), " ")
		c.add(plans.Fact{Rule: rule, Line: line.Number, Value: name, Text: what + " (" + name + "): " + shown})
	}
}
