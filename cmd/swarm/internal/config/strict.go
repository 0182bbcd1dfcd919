package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// Problem is one thing that is wrong with a file, at a place a person can go to.
type Problem struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Path       string `json:"path"` // dotted, e.g. teammates.fixer.mode
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// String is the line that a person sees: FILE:LINE:COLUMN: what: what to do.
func (p Problem) String() string {
	s := p.Message
	if p.Suggestion != "" {
		s += ": " + p.Suggestion
	}
	switch {
	case p.Line == 0:
		return p.File + ": " + s
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, s)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, s)
}

// maxDocument is the largest file that is read, in bytes. A team document is a page or two.
const maxDocument = 1 << 20

// decoder fills Go values from YAML nodes, strictly: an unknown or repeated key, an alias, a merge key or a value of
// another type is a [Problem] with its line. It goes on after a problem, so that a person sees all of them at once.
type decoder struct {
	file     string
	problems []Problem
	at       map[string]*yaml.Node // path -> value node, for checks that come later

	tables    *permissions.Tables // the person's own
	badTables []Problem
}

func (d *decoder) problem(n *yaml.Node, path, suggestion, format string, args ...any) {
	p := Problem{File: d.file, Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	d.problems = append(d.problems, p)
}

// late reports a problem at a path that was decoded before.
func (d *decoder) late(path, suggestion, format string, args ...any) {
	d.problem(d.at[path], path, suggestion, format, args...)
}

func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string) {
	d.at[path] = n
	switch {
	case d.aliased(n, path):
	case v.Type() == reflect.TypeFor[time.Duration]():
		d.duration(n, v, path)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), path)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, path)
	case v.Kind() == reflect.Slice && keyField(v.Type().Elem()) >= 0:
		d.keyed(n, v, path)
	case v.Kind() == reflect.Slice:
		d.sequence(n, v, path)
	case v.Kind() == reflect.Map:
		d.table(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) aliased(n *yaml.Node, path string) bool {
	bad := n.Kind == yaml.AliasNode || n.Anchor != ""
	if bad {
		d.problem(n, path, "write the value out", "anchors and aliases are not used here")
	}
	return bad
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.problem(n, path, "", "%s must be one value, not %s", path, kindName(n))
		return
	}
	if v.Kind() == reflect.String {
		if n.Tag != "!!str" {
			d.problem(n, path, fmt.Sprintf("put it in quotes: %q", n.Value), "%s must be text, not %s", path, strings.TrimPrefix(n.Tag, "!!"))
			return
		}
		v.SetString(n.Value)
		return
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		d.problem(n, path, "", "%s cannot be %q: it must be a %s", path, n.Value, v.Kind())
	}
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.ScalarNode && n.Value == "off" && strings.HasPrefix(path, "deadlines.") {
		v.SetInt(0)
		return
	}
	t, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || t < 0 {
		d.problem(n, path, `write it like "90s", "30m" or "24h"`, "%s cannot be %q", path, n.Value)
		return
	}
	v.SetInt(int64(t))
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, path, "write it as [a, b]", "%s must be a list, not %s", path, kindName(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		d.decode(c, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(out)
}

func (d *decoder) table(n *yaml.Node, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())
	d.pairs(n, path, func(k, val *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		d.decode(val, e, join(path, k.Value))
		out.SetMapIndex(reflect.ValueOf(k.Value), e)
	})
	v.Set(out)
}

// keyed reads a mapping into a slice, in the order of the file: the key goes into the field tagged `yaml:",key"`.
func (d *decoder) keyed(n *yaml.Node, v reflect.Value, path string) {
	d.pairs(n, path, func(k, val *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		e.Field(keyField(e.Type())).SetString(k.Value)
		d.at[join(path, k.Value)] = k
		if d.aliased(val, join(path, k.Value)) {
			return
		}
		d.mapping(val, e, join(path, k.Value))
		v.Set(reflect.Append(v, e))
	})
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	fields := fieldsOf(v.Type())
	d.pairs(n, path, func(k, val *yaml.Node) {
		i, ok := fields[k.Value]
		if !ok {
			d.problem(k, join(path, k.Value), didYouMean(k.Value, fields), "unknown field %q", k.Value)
			return
		}
		d.decode(val, v.FieldByIndex(i), join(path, k.Value))
	})
}

// pairs calls f for each key of a mapping, and reports keys that come twice or are no plain text.
func (d *decoder) pairs(n *yaml.Node, path string, f func(k, v *yaml.Node)) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "", "%s must be a mapping, not %s", orDocument(path), kindName(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch first, twice := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Anchor != "":
			d.problem(k, path, "", "a key of %s must be plain text", orDocument(path))
		case twice:
			d.problem(k, join(path, k.Value), fmt.Sprintf("it is already on line %d", first), "field %q comes twice", k.Value)
		default:
			seen[k.Value] = k.Line
			f(k, n.Content[i+1])
		}
	}
}

// fieldsOf are the keys of a mapping, those of embedded structs among them.
func fieldsOf(t reflect.Type) map[string][]int {
	m := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name != "-" && opts != "key" {
			m[name] = f.Index
		}
	}
	return m
}

func keyField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return -1
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == ",key" {
			return i
		}
	}
	return -1
}

func didYouMean(key string, fields map[string][]int) string {
	names := make([]string, 0, len(fields))
	for f := range fields {
		names = append(names, f)
	}
	slices.Sort(names)
	if near := mailbox.Nearest(key, names); len(near) > 0 {
		return fmt.Sprintf("did you mean %q?", near[0])
	}
	return "there are " + strings.Join(names, ", ")
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		return fmt.Sprintf("%q", n.Value)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func orDocument(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}
