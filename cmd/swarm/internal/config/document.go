// Package config reads what people write: the team document (swarm.yaml), the user's own configuration, and the settings
// that flags and the environment adjust. It is the one place that knows viper, and it only fills the structs of the
// packages that use them.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/planswarm/swarm/cmd/swarm/internal/events"
	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// FileName is the team document's name in a project.
const FileName = "swarm.yaml"

// Document is a swarm.yaml: what a project wishes. It narrows what its person allows, and widens nothing (invariant 15).
type Document struct {
	Version  int         `yaml:"version"`
	Team     string      `yaml:"team"`
	Settings RawSettings `yaml:"settings"`
	Caps     Caps        `yaml:"caps"`
	Leaders  []Leader    `yaml:"leaders"`
	Defaults Planning    `yaml:"defaults"` // of every teammate
	// GuidanceFor says how readily teammates plan, by the name of their agent (script, claude) or of its model.
	GuidanceFor map[string]string `yaml:"guidanceFor"`
	Teammates   []Teammate        `yaml:"teammates"`
	Policy      []policy.Rule     `yaml:"policy"`
	Deadlines   Deadlines         `yaml:"deadlines"`
	// Events are hooks that a project proposes. They run nothing and send nothing: only a person's own do.
	Events []events.Hook `yaml:"events"`
	// Policies names files of permission rules in the document's folder: Claude's settings.json, Gemini's policy TOML, our
	// YAML. What they deny or ask holds; what they allow is a proposal.
	Policies    []string     `yaml:"policies"`
	PolicyTests []PolicyTest `yaml:"policyTests"`

	Path string `yaml:"-"` // absolute
}

// Caps narrows what the team's charter allows. Zero fields say nothing.
type Caps struct {
	Mode         permissions.Mode `yaml:"mode"`
	PlanRequired *bool            `yaml:"planRequired"`
	Grants       struct {
		TTL  time.Duration `yaml:"ttl"`
		Uses int           `yaml:"uses"`
	} `yaml:"grants"`
	PersonOnly []charter.Match         `yaml:"personOnly"` // besides those that always are
	Quorum     []charter.Quorum        `yaml:"quorum"`
	Assurance  []charter.AssuranceRule `yaml:"assurance"`
}

// Teammate is one member that `swarm run` starts.
type Teammate struct {
	Name           string           `yaml:",key"`
	Run            []string         `yaml:"run"`
	Mode           permissions.Mode `yaml:"mode"` // that it has before it plans; default "default"
	AllowedPrompts []string         `yaml:"allowedPrompts"`
	Planning
	// Expect is how its run is meant to end: done, rejected, or refused, which is a teammate that attacks. Another end
	// fails the run. Empty expects nothing in particular.
	Expect string `yaml:"expect"`
	// TrustMCP names MCP servers whose annotations of their tools are believed.
	TrustMCP []string `yaml:"trustMcp"`
}

// PolicyTest is an example of what the document's policy must decide.
type PolicyTest struct {
	Given PolicyGiven `yaml:"given"`
	Want  string      `yaml:"want"` // approve, reject or ask
	By    string      `yaml:"by"`   // the rule that must decide; empty is any, or none

	Line int `yaml:"-"`
}

// PolicyGiven is a plan, or with Command or Edit a single call, as a policy sees it.
type PolicyGiven struct {
	Teammate string   `yaml:"teammate"`
	Agent    string   `yaml:"agent"`
	Intents  []string `yaml:"intents"`
	Prompts  []string `yaml:"prompts"`  // in an agent's own words
	Paths    []string `yaml:"paths"`    // files that the plan names
	Revision int      `yaml:"revision"` // default 1
	Mode     string   `yaml:"mode"`     // that comes back
	Command  string   `yaml:"command"`  // a single call that runs this
	Edit     string   `yaml:"edit"`     // a single call that edits this file
}

// User is the user's own configuration, $XDG_CONFIG_HOME/swarm/config.yaml.
type User struct {
	Version   int         `yaml:"version"`
	Settings  RawSettings `yaml:"settings"`
	Caps      Caps        `yaml:"caps"`
	Leaders   []Leader    `yaml:"leaders"`
	Deadlines Deadlines   `yaml:"deadlines"`
	Broker    Broker      `yaml:"broker"`
	Defaults  Planning    `yaml:"defaults"` // of this person's teammates; a document says more
	// Events are where what happens in teammates' sessions is told.
	Events []events.Hook `yaml:"events"`
}

// Load reads a team document. With problems the document is nil; each problem has its line.
func Load(path string) (*Document, []Problem) {
	doc := &Document{}
	d, root, problems := read(path)
	if problems != nil {
		return nil, problems
	}
	if d.version(root); len(d.problems) == 0 {
		d.decode(root, reflect.ValueOf(doc).Elem(), "")
		d.checkDocument(doc)
	}
	if len(d.problems) > 0 {
		return nil, slices.Concat(d.badTables, d.problems)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, []Problem{{File: path, Message: err.Error()}}
	}
	doc.Path = abs
	return doc, nil
}

// LoadUser reads the user's configuration. A file that does not exist is an empty one.
func LoadUser(path string) (*User, []Problem) {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return &User{Version: 1}, nil
	}
	d, root, problems := read(path)
	if problems != nil {
		return nil, problems
	}
	u := &User{}
	d.decode(root, reflect.ValueOf(u).Elem(), "")
	d.checkCaps(&u.Caps)
	d.checkLeaders(u.Leaders)
	d.checkDeadlines(u.Deadlines)
	d.checkPlanning("defaults", u.Defaults)
	d.checkEvents(u.Events)
	if len(d.problems) > 0 {
		return nil, slices.Concat(d.badTables, d.problems)
	}
	return u, nil
}

func read(path string) (*decoder, *yaml.Node, []Problem) {
	shown := shortPath(path)
	fail := func(format string, args ...any) (*decoder, *yaml.Node, []Problem) {
		return nil, nil, []Problem{{File: shown, Message: fmt.Sprintf(format, args...)}}
	}
	unreadable := func(err error) (*decoder, *yaml.Node, []Problem) {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // the path is said already
		}
		return fail("cannot be read (%v): check its folder and its rights", err)
	}
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fail("there is no such file: name a folder with a %s, or the file itself", FileName)
	case err != nil:
		return unreadable(err)
	case !info.Mode().IsRegular():
		return fail("is not a file")
	case info.Size() > maxDocument:
		return fail("has %d bytes; at most %d are read", info.Size(), maxDocument)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return unreadable(err)
	}
	if line, hidden := policyfile.Misleading(data); hidden != 0 { // who reads it before trusting it would see another text
		return nil, nil, []Problem{{File: shown, Line: line, Message: fmt.Sprintf("%U %s", hidden, policyfile.ShowsOther), Suggestion: "remove it"}}
	}
	if !utf8.Valid(data) {
		return fail("is not UTF-8: write it so")
	}
	var n, more yaml.Node
	docs := yaml.NewDecoder(bytes.NewReader(data))
	if err := docs.Decode(&n); err != nil && !errors.Is(err, io.EOF) {
		return fail("is not YAML: %v", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch err := docs.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return fail("is not YAML: %v", strings.TrimPrefix(err.Error(), "yaml: "))
	default: // what it says would be lost: a stricter cap, a rule that rejects
		return nil, nil, []Problem{{File: shown, Line: more.Line, Message: "there is a second document: write one, without ---"}}
	}
	if len(n.Content) == 0 {
		return fail(`is empty: begin with "version: 1"`)
	}
	return &decoder{file: shown, at: map[string]*yaml.Node{}}, n.Content[0], nil
}

// shortPath is the path as a person would write it from here.
func shortPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// version comes first: a newer document is not read by guessing.
func (d *decoder) version(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		d.problem(root, "", `begin with "version: 1"`, "the document must be a mapping, not %s", kindName(root))
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "version" {
			continue
		}
		if v := root.Content[i+1]; v.Value != "1" {
			d.problem(v, "version", "this swarm reads version 1; a newer one may be needed", "unknown version %q", v.Value)
		}
		return
	}
	d.problem(root, "version", `begin with "version: 1"`, "the version is missing")
}

func (d *decoder) checkDocument(doc *Document) {
	d.readTables()
	if doc.Team == "" {
		d.problem(nil, "team", "add \"team: NAME\"", "the team has no name")
	} else if err := mailbox.CheckMember(doc.Team); err != nil {
		d.late("team", "", "%s", plain(err))
	}
	d.checkCaps(&doc.Caps)
	d.checkLeaders(doc.Leaders)
	d.checkDeadlines(doc.Deadlines)
	d.checkProjectDeadlines(doc.Deadlines)
	for _, key := range []string{"server", "state", "as"} { // what redirects something is the person's to say (invariant 15)
		if path := "settings." + key; d.at[path] != nil {
			d.late(path, "use a flag, SWARM_"+strings.ToUpper(key)+", or your own config.yaml", "a project cannot set %q", key)
		}
	}
	d.checkPlanning("defaults", doc.Defaults)
	d.checkGuidanceFor(doc.GuidanceFor)
	d.checkEvents(doc.Events)
	for i := range doc.Teammates {
		d.checkTeammate(&doc.Teammates[i])
	}
	d.checkPlanFolders(doc.Teammates)
	if len(doc.Teammates) == 0 && d.at["teammates"] != nil {
		d.late("teammates", "", "there are no teammates")
	}
	d.checkPolicies(doc)
	d.checkPolicyTests(doc)
	for _, p := range policy.Check(doc.Policy, d.ownIntents()...) {
		d.late(policyPath(d, p.Rule, p.Field), p.Suggestion, "%s", p.Message)
	}
}

// policyPath is the place of a rule's field, or the nearest one that stands in the file.
func policyPath(d *decoder, rule int, field string) string {
	path := fmt.Sprintf("policy[%d]", rule)
	if field != "" && d.at[path+"."+field] != nil {
		return path + "." + field
	}
	return path
}

func (d *decoder) checkTeammate(t *Teammate) {
	path := "teammates." + t.Name
	if err := mailbox.CheckMember(t.Name); err != nil {
		d.late(path, "", "%s", plain(err))
	}
	if len(t.Run) == 0 || slices.Contains(t.Run[:1], "") {
		d.late(path, "add run: [PROGRAM, ARGUMENT, ...]", "teammate %q has nothing to run", t.Name)
	}
	t.Mode = d.mode(path+".mode", t.Mode)
	switch t.Mode {
	case "":
		t.Mode = permissions.ModeDefault
	case permissions.ModePlan:
		d.late(path+".mode", "name the mode that comes back after approval; it plans first anyway", `mode "plan" cannot be restored`)
	}
	if expect := []string{report.ExpectDone, report.ExpectRefused, report.ExpectRejected}; t.Expect != "" && !slices.Contains(expect, t.Expect) {
		suggestion := "use " + strings.Join(expect[:2], ", ") + " or " + expect[2]
		if near := mailbox.Nearest(t.Expect, expect); len(near) > 0 {
			suggestion = fmt.Sprintf("did you mean %q?", near[0])
		}
		d.late(path+".expect", suggestion, "unknown end %q", t.Expect)
	}
	d.checkPlanning(path, t.Planning)
	for i, s := range t.TrustMCP {
		if !serverName(s) {
			d.late(fmt.Sprintf("%s.trustMcp[%d]", path, i), "name it as in mcp__NAME__tool", "%q cannot be the name of an MCP server", s)
		}
	}
	for i, p := range t.AllowedPrompts {
		if d.tables.ResolvePrompt("Bash", p).Intent == "" {
			d.late(fmt.Sprintf("%s.allowedPrompts[%d]", path, i), `for example "run tests"`, "prompt %q is not recognised", p)
		}
	}
}

// readTables reads the person's own tables: a project may ask for what they have. What is wrong with them is told with
// what is not known then, and where they are used.
func (d *decoder) readTables() {
	files, _ := userFiles(filepath.Join(UserDir(), TablesDir), ".json")
	o, bad := Judge(nil, files)
	d.tables, d.badTables = o.Tables, bad
}

func (d *decoder) ownIntents() []string {
	var names []string
	for _, in := range d.tables.Intents() {
		names = append(names, in.Name)
	}
	return names
}

// checkPolicyTests checks each example by itself; what the policy decides is for swarm policy test.
func (d *decoder) checkPolicyTests(doc *Document) {
	outcomes := []string{policy.ThenApprove, policy.ThenReject, policy.ThenAsk}
	for i := range doc.PolicyTests {
		t, at := &doc.PolicyTests[i], fmt.Sprintf("policyTests[%d]", i)
		if n := d.at[at]; n != nil {
			t.Line = n.Line
		}
		late := func(field, suggestion, format string, args ...any) {
			if d.at[at+"."+field] == nil {
				d.late(at, suggestion, format, args...)
				return
			}
			d.late(at+"."+field, suggestion, format, args...)
		}
		if !slices.Contains(outcomes, t.Want) {
			late("want", "use approve, reject or ask", "it does not say what it wants, or %q is not known", t.Want)
		}
		if t.By != "" && !slices.ContainsFunc(doc.Policy, func(r policy.Rule) bool { return r.Name == t.By }) {
			late("by", "name a rule of policy:", "there is no rule %q", t.By)
		}
		g := t.Given
		if g.Teammate == "" || mailbox.CheckMember(g.Teammate) != nil {
			late("given", "add teammate: NAME", "it is not said which teammate asks")
		}
		if g.Command != "" && g.Edit != "" || (g.Command != "" || g.Edit != "") && (g.Intents != nil || g.Prompts != nil || g.Paths != nil || g.Revision != 0) {
			late("given", "write two examples", "it is a plan, a command or an edit, not several")
		}
		if g.Revision < 0 {
			late("given.revision", "the first is 1", "the revision cannot be %d", g.Revision)
		}
		for k, name := range g.Intents {
			if _, _, known := d.tables.Intent(name); !known {
				late(fmt.Sprintf("given.intents[%d]", k), `for example "run tests"; other words go into prompts`, "unknown intent %q", name)
			}
		}
		if g.Mode != "" {
			if m, err := permissions.ParseMode(g.Mode); err != nil || m == permissions.ModePlan {
				late("given.mode", "use default, acceptEdits, auto, dontAsk or bypassPermissions", "mode %q cannot come back", g.Mode)
			}
		}
	}
}

func (d *decoder) checkCaps(c *Caps) {
	c.Mode = d.mode("caps.mode", c.Mode)
	if c.Mode == permissions.ModePlan {
		d.late("caps.mode", "use default or wider", `a cap of "plan" would let nobody out of plan mode`)
	}
	if c.Grants.Uses < 0 {
		d.late("caps.grants.uses", "0 is any number", "uses cannot be %d", c.Grants.Uses)
	}
	d.checkClasses(c)
}

// mode reads a mode with its aliases; "" stays "".
func (d *decoder) mode(path string, m permissions.Mode) permissions.Mode {
	if m == "" {
		return ""
	}
	parsed, err := permissions.ParseMode(string(m))
	if err != nil {
		suggestion := "use default, acceptEdits, auto, dontAsk or bypassPermissions"
		names := make([]string, 0, 6)
		for _, k := range permissions.Modes() {
			names = append(names, string(k))
		}
		if near := mailbox.Nearest(string(m), names); len(near) > 0 {
			suggestion = fmt.Sprintf("did you mean %q?", near[0])
		}
		d.late(path, suggestion, "unknown mode %q", m)
	}
	return parsed
}

// plain is an error's text without its package.
func plain(err error) string {
	s := err.Error()
	if _, rest, ok := strings.Cut(s, ": "); ok {
		return rest
	}
	return s
}
