package schema

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Guards of a program that a grant lets run: what its arguments may not be, whatever their kind. Every one of them also
// refuses what a program takes for something else than the path that it looks like.
const (
	GuardPlain = "plain" // a script of the project is given no words of its own
	GuardFiles = "files" // it may be given files
	GuardTests = "tests" // and source files only when their names say that they are tests
)

// guarded says why a value of a program with a guard may be more than its kind.
func (m *matcher) guarded(kind string, w shellcmd.Word, text string) string {
	reach, isPath := pathKinds[kind]
	switch {
	case m.p.Tame && namesEffect(text):
		return "names another effect than the grant's"
	case !isPath && kind != "word":
		return ""
	case strings.HasPrefix(text, "@"):
		return "may be read as a file of further arguments: write ./" + text
	case !isPath || reach == Rev || reach == Package:
		return ""
	}
	text = place(kind, text)
	switch {
	case text == "-" && kind != "input" && m.p.Guard != GuardFiles:
		return "is the standard input, which the line feeds"
	case isAddress(text):
		return "is an address"
	case slices.ContainsFunc([]string{"|", "@(", "+(", "?(", "*(", "!("}, func(s string) bool { return strings.Contains(text, s) }):
		return "is a pattern that only the program reads"
	case kind == "aim" && (m.p.Guard == GuardPlain || text == "true" || text == "false" || !strings.ContainsAny(text, "/.") && namesEffect(text)):
		return "is handed to a script, which may take it for an order"
	case kind == "suite" && !sayTest(text), m.p.Guard == GuardTests && !isTest(text):
		return "does not say in its name that it is a test"
	}
	return m.expanded(w, text, reach)
}

// expanded looks at what braces and commas in a path stand for: programs expand them, the shell does not.
func (m *matcher) expanded(w shellcmd.Word, text string, reach Reach) string {
	wild := strings.ContainsAny(text, "*?[{")
	if !strings.Contains(text, "{") {
		switch {
		case wild && slices.Contains(strings.Split(text, "/"), ".."):
			return "is a pattern that climbs"
		case strings.Contains(text, ","):
			return "may be several paths"
		}
		return ""
	}
	all, ok := braces(text)
	if !ok {
		return "is a pattern that only the program reads"
	}
	for _, p := range all {
		switch {
		case strings.ContainsAny(p, ",{}"):
			return "may be several paths"
		case strings.ContainsAny(p, "*?["):
			if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || slices.Contains(strings.Split(p, "/"), "..") {
				return "is a pattern that climbs"
			}
		default:
			m.use.Paths = append(m.use.Paths, Path{Word: w, Text: p, Reach: reach})
		}
	}
	return ""
}

const maxBraces = 64

// braces expands {a,b}. It is false for more than a person writes.
func braces(s string) ([]string, bool) {
	out := []string{s}
	for len(out) <= maxBraces {
		i := slices.IndexFunc(out, func(s string) bool { return strings.Contains(s, "{") })
		if i < 0 {
			return out, true
		}
		s := out[i]
		from := strings.LastIndexByte(s, '{')
		n := strings.IndexByte(s[from:], '}')
		if n < 0 || strings.Contains(s[from:from+n], "..") {
			return nil, false
		}
		var each []string
		for part := range strings.SplitSeq(s[from+1:from+n], ",") {
			each = append(each, s[:from]+part+s[from+n+1:])
		}
		out = slices.Concat(out[:i], each, out[i+1:])
	}
	return nil, false
}

// address begins like a place elsewhere: some programs read http:/x as http://x, and others npm: and data: as code.
var address = regexp.MustCompile(`^(?i:https?|ftps?|file|data|blob|npm|jsr|node|git|ssh|s3|gs|gcs|oci|http2|docker-image|javascript|git\+[a-z]+|github|gitlab|bitbucket|gist|phar|php|expect|zip|ext|target):|^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:`)

func isAddress(s string) bool { return address.MatchString(s) }

// effect matches names of what is another intent's, or nobody's: to publish, to deliver, to take back, to delete.
var effect = regexp.MustCompile(`deploy|publish|release|upload|pypi|migrat|rollback|destroy|uninstall|(^|[^a-z])(push|drop|reset|undo|revert|down|prune|purge|wipe|truncate|apply|delete|remove|seed|seeds|seeder|prod|production|ship|sign|install|live|eject|fix|backup|restore)([^a-z]|$)`)

func namesEffect(s string) bool { return effect.MatchString(strings.ToLower(s)) }

// sayTest reports whether a path says that tests lie there.
func sayTest(s string) bool {
	s = strings.ToLower(s)
	if first, _, _ := strings.Cut(strings.TrimPrefix(s, "./"), "/"); first == "t" || first == "xt" { // Perl's
		return true
	}
	return slices.ContainsFunc([]string{"test", "spec", "bench", "check", "e2e", "feature", "suite"}, func(word string) bool { return strings.Contains(s, word) })
}

// isTest accepts folders and data, and source files whose path says that they are tests: a runner of tests executes every
// source file that it is given by name.
func isTest(s string) bool {
	switch strings.ToLower(path.Ext(s)) {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".py", ".rb", ".php", ".dart", ".ex", ".exs", ".sh", ".bash", ".pl", ".zig", ".scala", ".cr", ".bats", ".nim", ".jl", ".r", ".clj", ".hs", ".ml", ".groovy", ".lua", ".ps1":
		return sayTest(s)
	}
	return true
}

// isWarning is a filter of Python's warnings that imports nothing.
var isWarning = regexp.MustCompile(`^(error|ignore|default|always|all|once|module)(:[^:]*(:[A-Za-z]*(:[A-Za-z0-9_.]*(:[0-9]+)?)?)?)?$`).MatchString

// isPushed is a branch that is no more than one branch: no tag, no note, no change for review.
func isPushed(s string) bool {
	if rest, ok := strings.CutPrefix(s, "refs/heads/"); ok {
		s = rest
	}
	for _, other := range []string{"refs", "tags", "notes", "heads", "remotes"} {
		if s == other || strings.HasPrefix(s, other+"/") {
			return false
		}
	}
	return isBranch(s) && !version.MatchString(s)
}

var version = regexp.MustCompile(`^[vV]?[0-9]+(\.[0-9]+)*([-.+](alpha|beta|rc|pre|dev|snapshot)[A-Za-z0-9.-]*)?$`)

// isCompose is a file of docker compose by its usual names, below the folder that it runs in or above.
var isCompose = regexp.MustCompile(`^(\./|(\.\./)+)?([A-Za-z0-9_-]+/)*[A-Za-z0-9_.-]*compose[A-Za-z0-9_.-]*\.ya?ml$`).MatchString

// isRuntime is an interpreter by its version, which is looked for among those that are installed.
var isRuntime = regexp.MustCompile(`^(python|pypy|cpython)?@?[23](\.[0-9]{1,2}){0,2}$`).MatchString
