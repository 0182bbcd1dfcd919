package policyfile

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
)

// Scope is on whose behalf a file speaks.
type Scope string

// The scopes. The owner and the user may widen what their own teammates do; a project's files only narrow.
const (
	ScopeOwner   Scope = "owner"
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
)

// Format is how a file is written.
type Format string

// The formats.
const (
	FormatClaude Format = "claude" // settings.json: permissions.allow, ask and deny
	FormatGemini Format = "gemini" // policy TOML: [[rule]]
	FormatYAML   Format = "yaml"   // our own
)

// FormatOf tells a file's format by its name; it is empty for others.
func FormatOf(name string) Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return FormatClaude
	case ".toml":
		return FormatGemini
	case ".yaml", ".yml":
		return FormatYAML
	}
	return ""
}

// MaxFile is the largest file that is read, in bytes; MaxRules is how many rules it may have.
const (
	MaxFile  = 1 << 20
	MaxRules = 10_000
)

// Config says where a file comes from. The zero Config is a project's.
type Config struct {
	// Scope is whose file it is. Empty means ScopeProject, which only narrows.
	Scope Scope
	// Tier is Gemini's: 1 default, 2 extension, 3 workspace, 4 user, 5 admin. Zero means the scope's: 3, 4 or 5. A file of
	// tier 3 is always a project's.
	Tier int
}

// File is what a file of rules says.
type File struct {
	Name   string
	Format Format
	Scope  Scope
	// Rules are in force: what narrows, and of files that are not a project's also what widens.
	Rules []permissions.Rule
	// Proposals are a project's allow rules: somebody else must take them over.
	Proposals []permissions.Rule
	// Written is how many rules stand in the file, as they are written, and Unread how many of those cannot be read. Idle is
	// how many of Rules and Proposals do nothing, as a warning says.
	Written, Unread, Idle int
	// Names are those that rules have, for examples.
	Names []string
	// Problems are what could not be read, or does less than it seems. When any is no warning, the file is to be corrected.
	Problems []Problem
	Tests    []Test
}

// InForce is how many of Rules do something.
func (f File) InForce() int {
	if f.Scope == ScopeProject {
		return len(f.Rules)
	}
	return len(f.Rules) - f.Idle
}

// Errors are the problems that are no warnings.
func (f File) Errors() []Problem {
	return slices.DeleteFunc(slices.Clone(f.Problems), func(p Problem) bool { return p.Warning })
}

// Read reads a file of rules. It never fails: what cannot be read stands in Problems, and narrows as far as it could.
func Read(name string, data []byte, cfg Config) File {
	f := File{Name: name, Format: FormatOf(name), Scope: cfg.Scope}
	if f.Scope == "" || cfg.Tier == 3 {
		f.Scope = ScopeProject
	}
	r := &reader{file: &f, tier: cfg.Tier}
	if r.tier == 0 {
		r.tier = map[Scope]int{ScopeProject: 3, ScopeUser: 4, ScopeOwner: 5}[f.Scope]
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // as editors of Windows begin a file
	switch line, hidden := Misleading(data); {
	case f.Format == "":
		r.whole(0, bad("name it settings.json, *.toml or *.yaml", "its name does not say how it is written"))
	case len(data) > MaxFile:
		r.whole(0, bad("split it", "it is larger than %d MiB", MaxFile>>20))
	case !utf8.Valid(data):
		r.whole(0, bad("write it in UTF-8", "it is not UTF-8"))
	case len(bytes.TrimSpace(data)) == 0: // the rest of one that was being written, perhaps
		r.whole(0, bad("write a rule, or remove it", "it is empty"))
	case hidden != 0 && f.Format != FormatClaude:
		r.whole(line, bad("remove it", "%U "+ShowsOther, hidden))
	case f.Format == FormatClaude:
		r.claude(data)
	case f.Format == FormatGemini:
		r.gemini(data)
	default:
		r.yaml(data)
	}
	if r.full() {
		f.Rules, f.Proposals, f.Problems = nil, nil, nil
		r.whole(0, bad("split it", "it has more than %d rules", MaxRules))
	}
	return f
}

// ShowsOther is what is wrong with a character that [Misleading] finds, behind its name.
const ShowsOther = "stands in it, which shows people another text than is read"

// Misleading finds a character by which people see other lines, or another order of words, than the readers of YAML and
// TOML, and its line: a line that ends where no line seems to end hides what follows it in a comment. It is 0 when there
// is none.
func Misleading(data []byte) (line int, found rune) {
	text := string(data)
	i := strings.IndexFunc(strings.ReplaceAll(text, "\r\n", " \n"), func(r rune) bool {
		return r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
	})
	if i < 0 {
		return 0, 0
	}
	found, _ = utf8.DecodeRuneInString(text[i:])
	return lineAt(data, i), found
}

// reader collects what a file says.
type reader struct {
	file *File
	tier int
}

// full reports whether there is more than a file may have: nothing further is read.
func (r *reader) full() bool {
	return len(r.file.Rules)+len(r.file.Proposals)+len(r.file.Problems) > MaxRules
}

// add puts a rule where its scope has it.
func (r *reader) add(rule permissions.Rule) {
	switch {
	case rule.Verdict != permissions.Allow:
		r.file.Rules = append(r.file.Rules, rule)
	case r.file.Scope == ScopeProject:
		r.file.Proposals = append(r.file.Proposals, rule)
	default:
		r.file.Rules = append(r.file.Rules, rule)
	}
}

func (r *reader) problem(line int, rule string, err error) {
	p := Problem{File: r.file.Name, Line: line, Rule: rule, Reason: err.Error()}
	if f, ok := err.(*flaw); ok {
		p.Reason, p.Next, p.Warning = f.reason, f.next, f.warning
		if f.idle {
			r.file.Idle++
		}
	}
	r.file.Problems = append(r.file.Problems, p)
}

// whole says that the file as a whole cannot be read: then everything is denied that it could deny.
func (r *reader) whole(line int, err error) {
	r.problem(line, "", err)
	r.add(permissions.Rule{Verdict: permissions.Deny, Tool: "*", Source: place(r.file.Name, line), Message: "the file cannot be read, so all is denied that it could deny"})
}

// unread keeps denied or asked what a rule that cannot be read could have meant: everything that those tools do.
func (r *reader) unread(verdict permissions.Verdict, tools []string, line int) {
	if verdict == permissions.Allow {
		return
	}
	if len(tools) == 0 {
		tools = []string{"*"}
	}
	for _, tool := range tools {
		r.add(permissions.Rule{
			Verdict: verdict, Tool: tool, Source: place(r.file.Name, line), Message: "the rule cannot be read, so all is meant that it could mean",
		})
	}
}
