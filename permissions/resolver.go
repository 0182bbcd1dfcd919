package permissions

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// A Resolver tells what the engine may not look up itself. Its methods must not follow what they read: no program is
// started and no configuration is obeyed. It must be safe for as many calls at once as the engine gets.
type Resolver interface {
	// EvalSymlinks returns the absolute path that the kernel would reach: links are followed, also the last one and
	// dangling ones, and ".." is taken after the links before it. What does not exist keeps its name below the part that
	// does. An error (a loop, a folder that cannot be read) makes the engine ask.
	EvalSymlinks(path string) (string, error)
	// GitConfig describes the repository that git finds from the absolute directory dir, with its worktree's and its
	// checked-out submodules' configuration and info/attributes. An error makes the engine ask.
	GitConfig(dir string) (GitInfo, error)
	// Digest returns the lower hex SHA-256 of the regular file, of at most 1 MiB, that a program would read at that
	// absolute path, and "" when it would find none. An error makes the engine ask.
	Digest(path string) (string, error)
}

// A Globber is a [Resolver] that can also expand a pattern, as path.Match has them, with an absolute beginning. Without
// it every glob asks. No match is no error.
type Globber interface {
	Glob(pattern string) ([]string, error)
}

// GitInfo is what the engine needs to know about a repository before git may read it.
type GitInfo struct {
	Repository bool     // git finds one
	ExecKeys   []string // keys of its own configuration for which [ExecBearingGitKey] is true
}

// Lexical returns a Resolver that consults nothing: names are what they say, every directory is a repository without
// configuration, and no glob matches. For scores that are the same on every machine.
func Lexical() Resolver { return lexical{} }

type lexical struct{}

func (lexical) EvalSymlinks(p string) (string, error) { return path.Clean(p), nil }
func (lexical) GitConfig(string) (GitInfo, error)     { return GitInfo{Repository: true}, nil }
func (lexical) Glob(string) ([]string, error)         { return nil, nil }
func (lexical) Digest(string) (string, error)         { return "", nil }

// nothing is the Resolver that knows nothing.
type nothing struct{}

var errNoResolver = errors.New("permissions: no resolver: set Config.Resolver")

func (nothing) EvalSymlinks(string) (string, error) { return "", errNoResolver }
func (nothing) GitConfig(string) (GitInfo, error)   { return GitInfo{}, errNoResolver }
func (nothing) Digest(string) (string, error)       { return "", errNoResolver }

// ExecBearingGitKey reports whether a git configuration key ("section.name" or "section.subsection.name", in any case)
// makes git run a program, load further configuration, read another working tree, or fetch on its own what is missing. It
// is the one list of them.
func ExecBearingGitKey(key string) bool {
	key = strings.ToLower(key)
	section, rest, ok := strings.Cut(key, ".")
	if !ok {
		return false
	}
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	sub := len(name) < len(rest)
	switch section {
	case "filter", "alias", "credential", "include", "includeif", "pager", "pretty", "guitool", "difftool", "mergetool", "browser", "man", "hook", "trailer", "instaweb":
		return true
	case "core":
		return slices.Contains(coreExecKeys, name)
	case "diff":
		return name == "external" || sub && (name == "textconv" || name == "command")
	case "merge":
		return sub && name == "driver"
	case "gpg":
		return name == "program" || strings.HasSuffix(name, "command")
	case "remote":
		return sub && (slices.Contains([]string{"uploadpack", "receivepack", "vcs", "proxy", "promisor", "partialclonefilter"}, name) || runsByName(name))
	case "annex":
		return runsByName(name)
	case "lfs": // a filter that the user has for every repository asks these for programs of its own
		return strings.HasPrefix(rest, "extension.") || strings.HasPrefix(rest, "customtransfer.") || name == "standalonetransferagent"
	case "protocol":
		return name == "allow"
	case "uploadpack", "receive", "gc":
		return runsByName(name)
	case "submodule":
		return sub && name == "update"
	case "sequence", "web", "interactive", "sendemail", "init", "url", "extensions", "format", "imap", "help", "svn", "gitcvs":
		return execNames[section+"."+name]
	case "tar":
		return sub && name == "command"
	}
	return false
}

// runsByName reports whether a variable's own name says that it holds a program.
func runsByName(name string) bool {
	return strings.HasSuffix(name, "hook") || strings.HasSuffix(name, "program") || strings.HasSuffix(name, "command")
}

var coreExecKeys = []string{
	"fsmonitor", "sshcommand", "hookspath", "alternaterefscommand", "editor", "pager", "askpass", "gitproxy", "worktree", "attributesfile",
}

var execNames = map[string]bool{
	"sequence.editor": true, "web.browser": true, "interactive.difffilter": true, "sendemail.smtpserver": true, "sendemail.tocmd": true,
	"sendemail.cccmd": true, "sendemail.sendmailcmd": true, "sendemail.headercmd": true, "imap.tunnel": true, "help.browser": true,
	"svn.authorsprog": true, "gitcvs.dbdriver": true, "init.templatedir": true,
	"url.insteadof": true, "url.pushinsteadof": true, "extensions.partialclone": true, "format.pretty": true,
}
