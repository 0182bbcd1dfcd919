package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	runreport "github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

var update = flag.Bool("update", false, "write the schemas of what commands print")

// A document is what one command prints with --json: one of the types.
type document struct {
	name, description string
	types             []reflect.Type
}

func typ[T any]() reflect.Type { return reflect.TypeFor[T]() }

func printedDocuments() []document {
	one := func(name, description string, types ...reflect.Type) document {
		return document{name, description, types}
	}
	return []document{
		one("report", "What swarm run writes with --report, and prints with --json", typ[runreport.Report]()),
		one("error", "What every command writes to standard error with --json when it fails", typ[map[string]problem]()),

		one("cmd/inbox", "What waits for a leader, riskiest first", typ[leader.InboxDoc]()),
		one("cmd/inbox-all", "What was settled last, and how", typ[leader.PastDoc]()),
		one("cmd/inbox-mail", "What teammates wrote to the leaders", typ[leader.MailDoc]()),
		one("cmd/inbox-watch", "One thing that happened to a request; inbox --watch prints one object a line", typ[leader.EventDoc]()),
		one("cmd/hold", "How a hold stands, when it begins and when it has ended; one object a line", typ[holdDoc]()),
		one("cmd/show", "Everything that is decided on", typ[leader.ShowDoc]()),
		one("cmd/approve", "A decision on a plan, the answer to a single call, or a signature that waits for those of others", typ[leader.DecisionDoc](), typ[leader.AnswerDoc](), typ[signedDoc]()),
		one("cmd/reject", "A decision on a plan, or the answer to a single call", typ[leader.DecisionDoc](), typ[leader.AnswerDoc]()),
		one("cmd/answer", "The answer to a question", typ[leader.ReplyDoc]()),
		one("cmd/status", "Broker, leaders and teammates", typ[statusDoc]()),
		one("cmd/grants", "What may run unasked; with --all also what might", typ[leader.GrantsDoc]()),
		one("cmd/revoke", "The orders that end grants, one for each", typ[revokeDoc]()),
		one("cmd/mode", "An order about a teammate's mode", typ[leader.OrderDoc]()),
		one("cmd/stop", "An order that ends a teammate", typ[leader.OrderDoc]()),
		one("cmd/recall", "An approval that was taken back", typ[recallDoc]()),
		one("cmd/message", "A message that is stored", typ[messageDoc]()),
		one("cmd/mail-dead-list", "Mail that its recipient could not handle", typ[deadListDoc]()),
		one("cmd/mail-dead", "One dead letter; show, retry and drop print it", typ[natsbox.DeadLetter]()),
		one("cmd/mail-mute", "A member whose mail is not taken", typ[mutedDoc]()),
		one("cmd/mail-unmute", "A member whose mail is taken again", typ[mutedDoc]()),
		one("cmd/wait", "How a request ended", typ[waitDoc]()),
		one("cmd/wait-all", "How every request ended that waited", typ[waitAllDoc]()),
		one("cmd/watch", "One change; watch prints one object a line", typ[leader.EventDoc](), typ[memberDoc]()),
		one("cmd/logs", "One line of a teammate's program; logs prints one object a line", typ[logLine]()),
		one("cmd/team-list", "Who is in the team", typ[teamDoc]()),
		one("cmd/team-invite", "An invitation, which is a secret", typ[invitationDoc]()),
		one("cmd/team-join", "The member that this machine is now", typ[joinedDoc]()),
		one("cmd/team-confirm", "Who was let in", typ[confirmedDoc]()),
		one("cmd/team-init", "A sealed owner's key, and its recovery code", typ[sealedDoc]()),
		one("cmd/team-rotate", "A member with another key", typ[rotatedDoc]()),
		one("cmd/team-seal", "How a key is kept", typ[keptDoc]()),
		one("cmd/team-unseal", "How a key is kept", typ[keptDoc]()),
		one("cmd/team-recover", "A sealed owner's key, and its recovery code", typ[sealedDoc]()),
		one("cmd/team-remove", "A member whose rights were taken", typ[removedDoc]()),
		one("cmd/trust", "What a swarm.yaml would do, and whether that is trusted", typ[app.Trust]()),
		one("cmd/audit-log", "One entry of the ledger; audit log prints one object a line", typ[auditLine]()),
		one("cmd/audit-verify", "What is wrong with a ledger", typ[app.AuditReport]()),
		one("cmd/audit-export", "A ledger that was written to a file", typ[exportedDoc]()),
		one("cmd/doctor", "What works here, and what is open to whom", typ[app.Diagnosis]()),
		one("cmd/run", "The report of a run", typ[runreport.Report]()),

		one("cmd/plan-enter", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-path", "Where the plan is to be written", typ[gate.PathResult]()),
		one("cmd/plan-submit", "The request that is open now", typ[teammate.PendingStatus]()),
		one("cmd/plan-wait", "What became of the last plan", typ[teammate.Answer]()),
		one("cmd/plan-status", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-leave", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-done", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-on", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-off", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-view", "The plan that is carried out, or what the plan file has", typ[teammate.PlanView]()),
		one("cmd/plan-clear", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/plan-guide", "When to plan, and how", typ[guideDoc]()),
		one("cmd/task-list", "The tasks of the approved plan", typ[[]planmode.TaskState]()),
		one("cmd/task-start", "The tasks of the approved plan", typ[[]planmode.TaskState]()),
		one("cmd/task-done", "The tasks of the approved plan", typ[[]planmode.TaskState]()),
		one("cmd/task-block", "The tasks of the approved plan", typ[[]planmode.TaskState]()),
		one("cmd/plan-withdraw", "How the teammate stands", typ[teammate.Status]()),
		one("cmd/check", "What the gate says of one call", typ[permissions.Decision]()),
		one("cmd/edit", "What was written", typ[gate.EditResult]()),
		one("cmd/mail-send", "A message that is stored", typ[messageDoc]()),
		one("cmd/mail-trace", "How far mail, a request or an order has come", typ[leader.TraceDoc]()),
		one("cmd/mail-recv", "The mail that was unread", typ[[]teammate.Letter]()),
		one("cmd/mail-read", "One letter", typ[teammate.Letter]()),
		one("cmd/ask", "The answer to a question, or that nobody is here", typ[gate.AskResult]()),

		one("cmd/intent", "What a prompt means", typ[intentDoc]()),
		one("cmd/intent-list", "What every prompt means that is known", typ[[]intentDoc]()),
		one("cmd/policy-test", "What became of a file of rules and of its own examples", typ[policyTestDoc](), typ[documentTestDoc]()),
		one("cmd/policy-list", "The files of rules that bind teammates in a folder", typ[policyListDoc]()),
		one("cmd/policy-explain", "What decides about each command of a line", typ[explainDoc]()),
		one("cmd/schema", "The schemas that there are", typ[[]schemaDoc]()),
		one("cmd/schema-check", "Documents that are valid", typ[checkedDoc]()),
		one("cmd/version", "The version of this program", typ[versionInfo]()),
	}
}

// The words of fields that are plain strings in Go, and those that may be empty where the type says a word.
var (
	fieldWords = map[string][]any{
		"leader.RiskDoc.Level":     {"low", "med", "high"},
		"leader.EventDoc.Event":    {leader.ChangeNew, leader.ChangeReplaced, leader.ChangeWithdrawn, leader.ChangeExpired, leader.ChangeDecided, leader.ChangeApplied, leader.ChangeGone, leader.ChangeBack},
		"leader.GrantDoc.State":    {leader.GrantActive, leader.GrantEnded},
		"leader.Advice.Outcome":    {"approve", "reject", "ask"},
		"cli.memberDoc.Event":      {"teammate"},
		"cli.invitedDoc.State":     {"open", "pending", "expired", "in"},
		"cli.waitDoc.Outcome":      {"approved", "rejected", "rejectedAndExit", "expired", "allow", "deny", "answered", "withdrawn", "superseded", "void"},
		"app.PolicyOutcome.Got":    {"approve", "reject", "ask"},
		"app.PolicyOutcome.Want":   {"approve", "reject", "ask"},
		"report.Report.Result":     {"passed", "failed"},
		"report.Refusal.By":        {"gate", "kernel", "teammate", "broker", "desk"},
		"teammate.Answer.Outcome":  {"approved", "rejected", "rejectedAndExit", "expired", "withdrawn", "superseded", "undecidable"},
		"mailbox.DecidedBy.Kind":   {"person", "agent", "policy"},
		"leader.RequestDoc.Agent":  nil, // a teammate's own word: any text
		"teammate.Status.PlanFile": nil,
	}
	// A teammate that runs no plan has no mode in its report, and a run without an end has none either.
	mayBeEmpty = []string{"report.Teammate.SavedMode", "report.Teammate.ModeAfter", "teammate.Answer.Mode"}
)

// TestSchemasOfWhatIsPrinted holds the files and the Go types together.
func TestSchemasOfWhatIsPrinted(t *testing.T) {
	src := readSource(t)
	want := map[string][]byte{}
	for _, d := range printedDocuments() {
		want[filepath.Join("schemas", filepath.FromSlash(d.name)+".json")] = generate(t, src, d)
	}
	if *update {
		if err := os.RemoveAll("schemas"); err != nil {
			t.Fatal(err)
		}
		for file, data := range want {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for file, data := range want {
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is not what the Go types say (%v): go test ./cmd/swarm/internal/cli -run Schemas -update", file, err)
		}
	}
	for _, pattern := range []string{"schemas/*.json", "schemas/cmd/*.json"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if want[file] == nil {
				t.Errorf("%s has no document: remove it", file)
			}
		}
	}
}

func generate(t *testing.T, src *source, d document) []byte {
	t.Helper()
	root := &jsonschema.Schema{}
	for _, typ := range d.types {
		s := src.schemaOf(t, typ)
		if len(d.types) == 1 {
			root = s
			break
		}
		s.Title = typ.Name()
		root.AnyOf = append(root.AnyOf, s)
	}
	root.Schema, root.ID, root.Description = "https://json-schema.org/draft/2020-12/schema", "urn:swarm:v1:"+d.name, d.description
	root.Title = d.name
	if verb, ok := strings.CutPrefix(d.name, schemaCommand); ok {
		root.Title = "swarm " + verb + " --json"
	}
	if d.name == "error" { // the map of one name
		root.Properties, root.Required, root.AdditionalProperties = map[string]*jsonschema.Schema{"error": root.AdditionalProperties}, []string{"error"}, &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	data, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range "<>&" { // they are written as escapes, which nobody needs here
		data = bytes.ReplaceAll(data, fmt.Appendf(nil, `\u%04x`, c), []byte(string(c)))
	}
	return append(layout(t, headFirst(t, data), 0), '\n')
}

// headFirst has a schema begin with what it is.
func headFirst(t *testing.T, data []byte) []byte {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, key := range []string{"$schema", "$id", "title", "description", "type", "items", "anyOf", "properties", "required", "additionalProperties"} {
		if v, ok := all[key]; ok {
			parts = append(parts, fmt.Sprintf("%q: %s", key, v))
			delete(all, key)
		}
	}
	if len(all) > 0 {
		t.Fatalf("headFirst drops %v", slices.Collect(maps.Keys(all)))
	}
	return []byte("{" + strings.Join(parts, ", ") + "}")
}

// schemaOf is the schema of a type: what the library says, with our words, comments and nulls.
func (src *source) schemaOf(t *testing.T, typ reflect.Type) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	src.refine(s, typ)
	noNull(s)
	return s
}

// refine adds what Go has in constants and comments. A list or a pointer that is not there is left out, or an empty list: never null.
func (src *source) refine(s *jsonschema.Schema, typ reflect.Type) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Time](), typ == reflect.TypeFor[json.RawMessage](), typ == reflect.TypeFor[[]byte]():
	case typ.Kind() == reflect.String && src.words[typ.String()] != nil:
		s.Enum = src.words[typ.String()]
	case typ.Kind() == reflect.Map:
		src.refine(s.AdditionalProperties, typ.Elem())
	case typ.Kind() == reflect.Slice:
		src.refine(s.Items, typ.Elem())
	case typ.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[name]; p != nil && !f.Anonymous {
				src.field(p, owner(typ, f), f)
			}
		}
	}
}

// field refines one field of a struct.
func (src *source) field(p *jsonschema.Schema, owner reflect.Type, f reflect.StructField) {
	key := owner.String() + "." + f.Name
	src.refine(p, f.Type)
	if words := fieldWords[key]; words != nil {
		p.Enum = words
	}
	if slices.Contains(mayBeEmpty, key) {
		p.Enum = append([]any{""}, p.Enum...)
	}
	if p.Description == "" {
		p.Description = src.comments[key]
	}
}

// owner is the struct that declares a field, which may be embedded.
func owner(typ reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		typ = typ.Field(i).Type
	}
	return typ
}

func noNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		noNull(p)
	}
	noNull(s.Items)
	noNull(s.AdditionalProperties)
}

// source is what the Go files say besides their types: the words of each string type, and the comments of fields.
type source struct {
	words    map[string][]any
	comments map[string]string
}

func readSource(t *testing.T) *source {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..")
	src := &source{words: map[string][]any{}, comments: map[string]string{}}
	for _, dir := range []string{
		"permissions", "plans", "planmode", "mailbox", "mailbox/charter", "leader", "teammate", "teammate/gate",
		"cmd/swarm/internal/report", "cmd/swarm/internal/app", "cmd/swarm/internal/cli",
	} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			src.read(f)
		}
	}
	return src
}

func (src *source) read(f *ast.File) {
	if strings.HasSuffix(f.Name.Name, "_test") {
		return
	}
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				src.constant(f.Name.Name, g.Tok, spec)
			case *ast.TypeSpec:
				if s, ok := spec.Type.(*ast.StructType); ok {
					src.structure(f.Name.Name+"."+spec.Name.Name, s)
				}
			}
		}
	}
}

func (src *source) constant(pkg string, tok token.Token, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if tok != token.CONST || !ok || len(spec.Values) != 1 {
		return
	}
	lit, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	if word, err := strconv.Unquote(lit.Value); err == nil && word != "" {
		src.words[pkg+"."+typ.Name] = append(src.words[pkg+"."+typ.Name], word)
	}
}

func (src *source) structure(name string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		text := f.Comment.Text()
		if text == "" {
			text = f.Doc.Text()
		}
		text, _, _ = strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
		for _, n := range f.Names {
			if text = strings.TrimSuffix(text, "."); text != "" {
				src.comments[name+"."+n.Name] = text
			}
		}
	}
}

// layout writes JSON as the other schemas are written: what fits stands on one line.
func layout(t *testing.T, data []byte, indent int) []byte {
	t.Helper()
	var flat bytes.Buffer
	if err := json.Compact(&flat, data); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	brace, ok := open.(json.Delim)
	if !ok {
		return flat.Bytes()
	}
	var fields []string
	for dec.More() {
		key := ""
		if brace == '{' {
			k, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			quoted, _ := json.Marshal(k)
			key = string(quoted) + ": "
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		fields = append(fields, key+string(layout(t, v, indent+2)))
	}
	end := map[json.Delim]string{'{': "}", '[': "]"}[brace]
	line := string(brace) + strings.Join(fields, ", ") + end
	if len(fields) > 0 && (strings.Contains(line, "\n") || utf8.RuneCountInString(line)+indent > 105 || indent == 0) {
		pad := strings.Repeat(" ", indent+2)
		line = string(brace) + "\n" + pad + strings.Join(fields, ",\n"+pad) + "\n" + strings.Repeat(" ", indent) + end
	}
	return []byte(line)
}

// Every verb that prints with --json has a schema, and every schema compiles and has a title.
func TestEveryVerbHasItsSchema(t *testing.T) {
	all := schemas()
	for name := range all {
		compile(t, name)
		if schemaTitle(all[name]) == "" {
			t.Errorf("%s has no title", name)
		}
	}
	silent := []string{"up", "exec", "teammate-script", "teammate-claude", "teammate-attach", "teammate-resume", "hook-claude", "mcp", "completion", "help", "exit-codes", "tables", "rules"} // they print no document
	root := newRoot(&shell{})
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		names := []string{c.Name()}
		if len(c.Commands()) > 0 {
			names = nil
			for _, sub := range c.Commands() {
				names = append(names, c.Name()+"-"+sub.Name())
			}
		}
		for _, name := range names {
			quiet := slices.ContainsFunc(silent, func(s string) bool { return name == s || strings.HasPrefix(name, s+"-") })
			if _, ok := all[schemaCommand+name]; !ok && !quiet {
				t.Errorf("swarm %s has no schema %s%s", strings.ReplaceAll(name, "-", " "), schemaCommand, name)
			}
		}
	}
}

func TestUnknownSchemasAreNearOnes(t *testing.T) {
	for word, want := range map[string]string{"inbox": "cmd/inbox", "confg": "config", "enveloppe": "envelope", "cmd/stats": "cmd/status"} {
		err := errUnknownSchema(word)
		if code, _ := explain(err); code != ExitNotFound || !strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), want) {
			t.Errorf("errUnknownSchema(%q) = %v, want %q", word, err, want)
		}
	}
	if err := errUnknownSchema(strings.Repeat("\x1b", 1<<17)); len(err.Error()) > 300 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("errUnknownSchema of 128 KiB of escapes: %.400s", err)
	}
}

func TestSchemasAreCompleted(t *testing.T) {
	got, _ := completeSchemas(nil, nil, "cmd/inb")
	if len(got) != 4 || !strings.HasPrefix(got[0], "cmd/inbox\t") {
		t.Errorf("completeSchemas(cmd/inb) = %q", got)
	}
}
