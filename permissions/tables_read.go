package permissions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
)

// TableFile is a file of a person's own tables: {"version": 1, "readonly": [PROGRAM...], "intents": [INTENT...]}, with
// programs as permissions/schema has them, and intents as permissions/intent has them.
type TableFile struct {
	Name string // for people
	Data []byte
}

// TableProblem is one thing that is wrong with such a file.
type TableProblem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0 when it cannot be told
	Item   string `json:"item,omitempty"` // the program or intent
	Reason string `json:"reason"`
	Next   string `json:"next"` // what to do
}

// Error is the problem in one line: file, line, what it is about, the reason, and what to do.
func (p TableProblem) Error() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	for _, part := range []string{p.Item, p.Reason, p.Next} {
		if part != "" {
			s += ": " + part
		}
	}
	return s
}

// MaxTables is the largest file of tables that is read, in bytes; maxOwn is how many programs and intents there may be.
const (
	MaxTables = 256 << 10
	maxOwn    = 500
)

// ReadTables reads a person's own tables. With problems it returns no tables: nothing is added that is half understood.
// Nothing in them weakens what is built in: no name is replaced, and no shell, interpreter, wrapper or program that is
// known to change something, to run something or to use the network has a table of a person's own.
func ReadTables(files ...TableFile) (*Tables, []TableProblem) {
	r := &tablesReader{tables: &Tables{}}
	var programs []*schema.Program
	for _, f := range files {
		r.file, r.data = f.Name, f.Data
		programs = append(programs, r.read()...)
	}
	if len(r.problems) == 0 {
		t, err := schema.New(programs)
		if err != nil {
			r.problem(0, "", flawOf(err))
		}
		r.tables.reads = t
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return r.tables, nil
}

type tablesReader struct {
	tables   *Tables
	file     string
	data     []byte
	problems []TableProblem
}

// tableFlaw is what is wrong, before it is known where.
type tableFlaw struct{ reason, next string }

func (f tableFlaw) Error() string { return f.reason + ": " + f.next }

func flawed(next, format string, args ...any) error {
	return tableFlaw{fmt.Sprintf(format, args...), next}
}

// flawOf is an error of a table's reader, as a person needs it.
func flawOf(err error) error {
	var f tableFlaw
	if errors.As(err, &f) {
		return f
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "intent: "), "schema: ")
	what, next, ok := cutLast(strings.Replace(text, "see the package comment", "swarm help tables lists the kinds", 1), ": ")
	if !ok {
		next = "correct it"
	}
	return tableFlaw{strings.TrimPrefix(what, "json: "), next}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (r *tablesReader) problem(offset int, item string, err error) {
	p := TableProblem{File: r.file, Item: item, Reason: err.Error(), Next: "see swarm help tables"}
	var f tableFlaw
	if errors.As(err, &f) {
		p.Reason, p.Next = f.reason, f.next
	}
	if offset >= 0 && len(r.data) > 0 {
		p.Line = r.line(offset)
	}
	r.problems = append(r.problems, p)
}

var tableKeys = []string{"version", "readonly", "intents"}

// read reads one file, and returns its programs.
func (r *tablesReader) read() (programs []*schema.Program) {
	if len(r.data) > MaxTables {
		r.problem(-1, "", flawed("split it", "it is larger than %d KiB", MaxTables>>10))
		return nil
	}
	if offset, err := checkJSON(r.data); err != nil {
		r.problem(offset, "", err)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(r.data))
	version := ""
	_, _ = d.Token() // it is an object
	for d.More() {
		t, _ := d.Token()
		at := int(d.InputOffset())
		switch key := t.(string); key {
		case "version":
			var v json.RawMessage
			_ = d.Decode(&v) // it is JSON
			version = string(v)
		case "readonly":
			r.each(d, func(offset int, data []byte) { programs = append(programs, r.program(offset, data)) })
		case "intents":
			r.each(d, r.intent)
		default:
			r.problem(at, key, flawed("use "+strings.Join(tableKeys, ", "), "the key is not known"))
			var skip json.RawMessage
			_ = d.Decode(&skip) // it is JSON
		}
	}
	if version != "1" {
		r.problem(0, "", flawed(`write "version": 1 at its begin`, "the version is missing or not 1"))
	}
	if len(r.tables.programs)+len(r.tables.intents) > maxOwn {
		r.problem(0, "", flawed("remove some", "there are more than %d programs and intents", maxOwn))
	}
	return programs
}

// each calls f for each object of a list, with where it begins.
func (r *tablesReader) each(d *json.Decoder, f func(offset int, data []byte)) {
	from := int(d.InputOffset())
	var list []json.RawMessage
	if err := d.Decode(&list); err != nil {
		r.problem(from, "", flawed("write a list: [{...}]", "it is no list"))
		return
	}
	at := from
	for _, data := range list {
		if i := bytes.Index(r.data[at:], data); i >= 0 {
			at += i
		}
		f(at, data)
		at += len(data)
	}
}

// builtInKeys are read in the tables inside the program alone: they say, or loosen, how those are guarded.
var builtInKeys = set([]string{"guard", "production", "tame", "greedy"})

// checkJSON finds what is no JSON object, keys that stand twice in one object, of which it is not obvious which counts, keys
// that are not a person's to set, and null in a list, which is no program, no intent and no text.
func checkJSON(data []byte) (offset int, err error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			offset = int(syntax.Offset)
		}
		if err == nil {
			err = errors.New("null")
		}
		return offset, flawed("correct the JSON", "it is no JSON object (%s)", strings.TrimPrefix(err.Error(), "json: "))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	type level struct {
		keys map[string]bool
		key  bool // the next token is a key
	}
	var stack []level
	for {
		t, err := d.Token()
		if err != nil {
			return 0, nil // the end: it is JSON
		}
		top := len(stack) - 1
		if name, ok := t.(string); ok && top >= 0 && stack[top].key {
			if stack[top].keys[name] {
				return int(d.InputOffset()), flawed("leave one of them out", "the key %q stands twice", name)
			}
			if builtInKeys[strings.ToLower(name)] {
				return int(d.InputOffset()), flawed("leave it out", "the key %q is only for what is built in", name)
			}
			stack[top].keys[name], stack[top].key = true, false
			continue
		}
		switch t {
		case nil:
			if top >= 0 && stack[top].keys == nil {
				return int(d.InputOffset()), flawed("leave it out", "there is null in a list")
			}
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			stack = append(stack, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
		}
		if top = len(stack) - 1; top >= 0 && stack[top].keys != nil {
			stack[top].key = true
		}
	}
}

// decodeFlaw is what a strict reading of an object says, and where.
func decodeFlaw(offset int, data []byte, err error) (int, error) {
	var typ *json.UnmarshalTypeError
	switch text := err.Error(); {
	case errors.As(err, &typ):
		return offset + int(typ.Offset), flawed("see swarm help tables", "%s must be %s, not %s", typ.Field, kindWord(typ.Type.Kind().String()), typ.Value)
	case strings.HasPrefix(text, "json: unknown field "):
		name := strings.TrimPrefix(text, "json: unknown field ")
		return offset + max(bytes.Index(data, []byte(name)), 0), flawed("see swarm help tables", "the key %s is not known", name)
	}
	return offset, flawOf(err)
}

func kindWord(kind string) string {
	switch kind {
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "slice":
		return "a list"
	}
	return "an object"
}

// line is the line of an offset, from 1.
func (r *tablesReader) line(offset int) int {
	return bytes.Count(r.data[:min(offset, len(r.data))], []byte("\n")) + 1
}

func (r *tablesReader) source(offset int) string { return fmt.Sprintf("%s:%d", r.file, r.line(offset)) }
