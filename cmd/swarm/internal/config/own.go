package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// The folders of a person's own files, below $XDG_CONFIG_HOME/swarm.
const (
	PoliciesDir = "policies" // rules: *.json of Claude, *.toml of Gemini, *.yaml of ours
	TablesDir   = "tables"   // programs that only read, and intents: *.json
)

// Bytes are what a file held when it was read. Files of rules and tables are read once a run, and judged by from then on.
type Bytes struct {
	Name  string           `json:"name"` // for people
	Scope policyfile.Scope `json:"scope"`
	Data  []byte           `json:"data"`
}

// Digest is the hex SHA-256 of the bytes.
func (b Bytes) Digest() string {
	sum := sha256.Sum256(b.Data)
	return hex.EncodeToString(sum[:])
}

// Policy is a file of rules with what it says.
type Policy struct {
	Bytes
	policyfile.File
}

// Own is what decides about calls besides the mode and the plan's grants: files of rules in the person's and the project's
// scope, and the person's own tables.
type Own struct {
	Policies []Policy
	Files    []Bytes // of the tables
	Tables   *permissions.Tables
}

// Rules are those in force: what narrows in either scope, and what widens in the person's.
func (o Own) Rules() []permissions.Rule {
	var out []permissions.Rule
	for _, p := range o.Policies {
		out = append(out, p.Rules...)
	}
	return out
}

// UserDir is $XDG_CONFIG_HOME/swarm.
func UserDir() string { return filepath.Join(baseDir("XDG_CONFIG_HOME", ".config"), "swarm") }

// ReadOwn reads a person's files of rules and tables, below dir, and those that documents name. With problems nothing is
// to begin: what a rule that cannot be read would have denied must not pass meanwhile.
func ReadOwn(dir string, docs ...*Document) (Own, []Problem) {
	files, problems := userFiles(filepath.Join(dir, PoliciesDir), ".json", ".toml", ".yaml", ".yml")
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		more, bad := doc.policyFiles()
		files, problems = append(files, more...), append(problems, bad...)
	}
	tables, bad := userFiles(filepath.Join(dir, TablesDir), ".json")
	own, more := Judge(files, tables)
	return own, slices.Concat(problems, bad, more)
}

// Judge reads files of rules, and tables, from their bytes.
func Judge(files, tables []Bytes) (Own, []Problem) {
	own := Own{Files: tables}
	var problems []Problem
	for _, b := range files {
		p := Policy{b, policyfile.Read(b.Name, b.Data, policyfile.Config{Scope: b.Scope})}
		for _, e := range p.Errors() {
			problems = append(problems, Problem{File: b.Name, Line: e.Line, Message: reasonOf(e), Suggestion: e.Next})
		}
		own.Policies = append(own.Policies, p)
	}
	read := make([]permissions.TableFile, len(tables))
	for i, t := range tables {
		read[i] = permissions.TableFile{Name: t.Name, Data: t.Data}
	}
	var bad []permissions.TableProblem
	own.Tables, bad = permissions.ReadTables(read...)
	for _, p := range bad {
		message := p.Reason
		if p.Item != "" {
			message = p.Item + ": " + message
		}
		problems = append(problems, Problem{File: p.File, Line: p.Line, Message: message, Suggestion: p.Next})
	}
	return own, problems
}

func reasonOf(p policyfile.Problem) string {
	if p.Rule != "" {
		return p.Rule + ": " + p.Reason
	}
	return p.Reason
}

// Warnings are the problems of files that are read all the same, and do less than they seem, a line for each.
func (o Own) Warnings() []string {
	var out []string
	for _, p := range o.Policies {
		for _, w := range p.Problems {
			if w.Warning {
				out = append(out, w.Error())
			}
		}
	}
	return out
}

// userFiles are the files of a folder with one of some endings, in order of their names.
func userFiles(dir string, endings ...string) (files []Bytes, problems []Problem) {
	entries, err := os.ReadDir(dir)
	if _, at := os.Lstat(dir); errors.Is(at, fs.ErrNotExist) { // a link that leads nowhere is no empty folder
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{{File: tilde(dir), Message: fmt.Sprintf("cannot be read (%v)", cause(err)), Suggestion: "check its permissions"}}
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !slices.Contains(endings, strings.ToLower(filepath.Ext(name))) {
			continue
		}
		data, err := ReadFile(name)
		if err != nil {
			problems = append(problems, Problem{File: tilde(name), Message: fmt.Sprintf("cannot be read (%v)", cause(err)), Suggestion: "check it, or take it out of the folder"})
			continue
		}
		files = append(files, Bytes{tilde(name), policyfile.ScopeUser, data})
	}
	return files, problems
}

// maxPolicyFiles is how many files of rules a document may name.
const maxPolicyFiles = 64

// policyFiles are the files that a document names, which lie in its folder.
func (doc *Document) policyFiles() (files []Bytes, problems []Problem) {
	root, err := os.OpenRoot(filepath.Dir(doc.Path))
	if err != nil {
		return nil, []Problem{{File: shortPath(doc.Path), Message: fmt.Sprintf("its folder cannot be read (%v)", cause(err))}}
	}
	defer root.Close()
	for i, pattern := range doc.Policies {
		bad := func(format string, args ...any) {
			problems = append(problems, Problem{File: shortPath(doc.Path), Path: fmt.Sprintf("policies[%d]", i), Message: fmt.Sprintf(format, args...), Suggestion: "correct policies, or the file"})
		}
		names := []string{path.Clean(pattern)}
		if _, err := root.Lstat(filepath.FromSlash(names[0])); err != nil && strings.ContainsAny(pattern, "*?[") { // else a file is called so
			if names, err = fs.Glob(root.FS(), path.Clean(pattern)); err != nil {
				bad("the pattern %q cannot be read", pattern)
				continue
			}
			if len(names) == 0 { // a rule that denies may be meant
				bad("%q names no file", pattern)
			}
		}
		for _, name := range names {
			if slices.ContainsFunc(files, func(b Bytes) bool { return b.Name == name }) {
				continue
			}
			data, err := readSmall(root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0))
			if err != nil {
				bad("%s cannot be read (%v)", name, cause(err))
				continue
			}
			files = append(files, Bytes{name, policyfile.ScopeProject, data})
		}
		if len(files) > maxPolicyFiles {
			bad("it names more than %d files", maxPolicyFiles)
			return files, problems
		}
	}
	return files, problems
}

// ReadFile reads a file of rules or tables, of at most a little more than is taken. It is an error when the name is not that
// of a file, and a pipe that nobody writes blocks nothing.
func ReadFile(name string) ([]byte, error) {
	return readSmall(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// readSmall reads a file of at most a little more than what is taken: then its reader says that it is too large.
func readSmall(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is no file"))
	}
	return io.ReadAll(io.LimitReader(f, policyfile.MaxFile+1))
}

// cause is what the system said, without the path again.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// tilde is a path of a person's own, as people write it.
func tilde(name string) string {
	home, err := os.UserHomeDir()
	if rel, e := filepath.Rel(home, name); err == nil && e == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return name
}

// checkPolicies refuses names that lie elsewhere, and formats that nobody reads.
func (d *decoder) checkPolicies(doc *Document) {
	for i, name := range doc.Policies {
		at := fmt.Sprintf("policies[%d]", i)
		switch {
		case name == "" || strings.ContainsAny(name, "\\") || path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(path.Clean(name))):
			d.late(at, "name a file in the folder of this document, with slashes", "%q is not a file of the project", name)
		case strings.Contains(name, "**"):
			d.late(at, "use * within one folder", "%q has **, which is not read here", name)
		case policyfile.FormatOf(name) == "":
			d.late(at, "name a settings.json, a .toml or a .yaml file", "the name %q does not say how it is written", name)
		}
		if _, err := path.Match(name, ""); err != nil {
			d.late(at, "correct it", "the pattern %q cannot be read", name)
		}
	}
}

// serverName reports whether s can be the name of an MCP server, as tools are called by.
func serverName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.Contains(s, "__") && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r))
	}) && !strings.HasPrefix(s, "_") && !strings.HasSuffix(s, "_")
}
