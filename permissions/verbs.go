package permissions

import (
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// ownVerbs are the verbs of swarm that a teammate may use or that only inform. Every other verb, also one that does not
// exist yet, belongs to a leader or an owner and is denied in every mode.
var ownVerbs = []string{"plan", "check", "exec", "edit", "mail", "task", "ask", "hook", "status", "version", "help", "intent", "schema", "doctor", "completion"}

// leaderVerbs are the verbs that are looked for where swarm may only be mentioned: after an unknown wrapper, in the text
// that an interpreter gets.
var leaderVerbs = []string{
	"approve", "reject", "answer", "grants", "revoke", "mode", "recall", "console", "team", "policy", "trust", "init", "up", "stop", "run", "teammate", "mcp",
	"inbox", "show", "wait", "watch", "logs", "message", "demo", "audit", "bench",
}

// decidingVerbs are those that no other program's first argument is likely to be.
var decidingVerbs = []string{"approve", "reject", "revoke", "recall"}

// natsVerbs are the commands of the nats program that are looked for where it may only be mentioned.
var natsVerbs = []string{
	"pub", "publish", "sub", "subscribe", "req", "request", "reply", "stream", "str", "st", "consumer", "con", "obs", "kv", "object", "obj", "context", "ctx",
	"account", "server", "srv", "service", "micro", "auth", "bench", "rtt", "backup", "restore", "events", "trace",
}

// identityFlags choose on whose behalf and against which team swarm acts: never a teammate's choice.
var identityFlags = []string{"--as", "--state", "--server", "--team"}

var identityEnv = []string{"SWARM_AS", "SWARM_STATE", "SWARM_SERVER", "SWARM_TEAM"}

const (
	reasonVerb = "this is a verb of swarm that only leaders and owners use, in no mode a teammate: wait for their decision"
	reasonNATS = "teammates reach the team's broker only through swarm: use swarm mail"
)

// swarmVerb denies a command whose own name is swarm, unless its verb is a teammate's.
func swarmVerb(c *shellcmd.Command) string {
	for _, a := range c.Env {
		if slices.Contains(identityEnv, a.Name) {
			return reasonVerb
		}
	}
	args := c.Argv[1:]
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") && !args[0].Unknown {
		name, _, attached := strings.Cut(args[0].Text, "=")
		switch {
		case slices.Contains([]string{"--color", "--timeout"}, name) && !attached && len(args) > 1:
			args = args[2:]
		case slices.Contains([]string{"--json", "--help", "-h", "--version", "--color", "--timeout"}, name):
			args = args[1:]
		default:
			return reasonVerb // identityFlags; and one that cannot be read may take the next word: then the verb is another
		}
	}
	if len(args) == 0 {
		return ""
	}
	if args[0].Unknown || args[0].Pattern != "" || !slices.Contains(ownVerbs, args[0].Text) {
		return reasonVerb
	}
	for _, w := range args[1:] {
		if w.Text == "--" {
			break
		}
		if name, _, _ := strings.Cut(w.Text, "="); slices.Contains(identityFlags, name) {
			return reasonVerb
		}
	}
	return ""
}

// namedLike reports whether a word, as a path or a package, may end in the program called name: with folders before it,
// a version after it, another case, a suffix of Windows, or unknown parts inside it.
func namedLike(w shellcmd.Word, name string) bool {
	text := strings.TrimRight(w.Text, "/")
	text, _, _ = strings.Cut(text, "@")
	base := strings.ToLower(path.Base(text))
	if w.Unknown || w.Pattern != "" {
		pattern := wildcards(base)
		ok, err := path.Match(pattern, name) // bash reads a pattern that is none by its letters
		return strings.Trim(pattern, "*?") != "" && ok && err == nil
	}
	return base == name || base == name+".exe"
}

// wildcards replaces every ${NAME} by a *: whatever it stands for.
func wildcards(s string) string {
	for {
		from := strings.Index(s, "${")
		if from < 0 {
			return s
		}
		to := strings.IndexByte(s[from:], '}')
		if to < 0 {
			return s[:from] + "*"
		}
		s = s[:from] + "*" + s[from+to+1:]
	}
}

// goSource reports whether w is a source file or package of swarm's program.
func goSource(w shellcmd.Word, dirs []string) bool {
	if w.Text == "." || w.Text == "./" {
		return slices.ContainsFunc(dirs, func(d string) bool { return path.Base(d) == "swarm" })
	}
	return strings.HasSuffix(w.Text, ".go") && (path.Base(path.Dir(w.Text)) == "swarm" ||
		!strings.Contains(w.Text, "/") && slices.ContainsFunc(dirs, func(d string) bool { return path.Base(d) == "swarm" }))
}

// leaderCommand denies a command that is, or that wraps, a leader's verb or the nats program.
func (v *view) leaderCommand(c *shellcmd.Command, dirs []string) string {
	if len(c.Argv) == 0 {
		return ""
	}
	name := c.Argv[0]
	if namedLike(name, "swarm") {
		if r := swarmVerb(c); r != "" {
			return r
		}
	}
	if namedLike(name, "nats") {
		return reasonNATS
	}
	why := wrapped(c, dirs)
	if why != "" && v.reading(c).inTables() {
		return "" // it only prints or searches for the words
	}
	return why
}

// wrapped denies a command that may hand one of those verbs on to swarm or nats.
func wrapped(c *shellcmd.Command, dirs []string) string {
	name := c.Argv[0]
	container := namedLike(name, "docker") || namedLike(name, "podman")
	isGo := namedLike(name, "go")
	for i, w := range c.Argv {
		if i == 0 {
			continue
		}
		rest := c.Argv[i+1:]
		switch {
		case container && i == 1: // docker swarm init
		case isGo && goSource(w, dirs), mayName(w) && namedLike(w, "swarm"):
			if followedBy(rest, leaderVerbs) || fedByWrapper(name, rest) {
				return reasonVerb
			}
		case mayName(w) && namedLike(w, "nats") && followedBy(rest, natsVerbs):
			return reasonNATS
		}
	}
	return ""
}

// mayName reports whether a word may be like swarm or nats at all: most words have no s, or can be told and are shorter.
func mayName(w shellcmd.Word) bool {
	return w.Unknown || w.Pattern != "" || len(w.Text) >= len("nats") && strings.ContainsAny(w.Text, "sS")
}

// followedBy reports whether the first word of rest that is no flag, or the one after it when it may belong to a flag,
// is one of verbs.
func followedBy(rest []shellcmd.Word, verbs []string) bool {
	flags := 0
	for i, w := range rest {
		if strings.HasPrefix(w.Text, "-") {
			flags++
			continue
		}
		if slices.Contains(verbs, w.Text) {
			return true
		}
		if flags == 0 || i > 8 {
			return false
		}
		flags = 0
	}
	return false
}

// fedByWrapper reports whether a program that adds words of its own ends with swarm.
func fedByWrapper(name shellcmd.Word, rest []shellcmd.Word) bool {
	adds := namedLike(name, "xargs") || namedLike(name, "parallel") || namedLike(name, "find")
	return adds && !slices.ContainsFunc(rest, func(w shellcmd.Word) bool {
		return slices.Contains(ownVerbs, w.Text)
	})
}

// mentions reports whether text, once its quotes are gone, names swarm or nats and soon after it one of the verbs: what
// an interpreter may be about to run.
func mentions(text string) bool {
	if len(text) < len("nats") {
		return false
	}
	text = strings.ToLower(text)
	if !strings.Contains(text, "swarm") && !strings.Contains(text, "nats") {
		return false
	}
	var words []shellcmd.Word
	for _, t := range strings.FieldsFunc(unquoted.Replace(text), notName) {
		words = append(words, shellcmd.Word{Text: t})
	}
	for i, w := range words {
		rest := words[i+1 : min(len(words), i+9)]
		switch {
		case i > 0 && words[i-1].Text == "docker":
		case namedLike(w, "swarm") && (followedBy(rest, leaderVerbs) || slices.ContainsFunc(rest[:min(3, len(rest))], decides)),
			namedLike(w, "nats") && followedBy(rest, natsVerbs):
			return true
		}
	}
	return false
}

var unquoted = strings.NewReplacer(`'`, "", `"`, "", `\`, "", "`", " ")

func notName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./@", r)
}

func decides(w shellcmd.Word) bool { return slices.Contains(decidingVerbs, w.Text) }

func containsFold(s, lower string) bool { return strings.Contains(strings.ToLower(s), lower) }
