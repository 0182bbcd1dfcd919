package mailbox

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may be nested in what is read strictly.
const MaxDepth = 64

// checkStrict reports the first thing in data that a strict reader of type t does not take. What it lets through still has
// to pass json.Unmarshal, which checks the types of numbers, texts and times.
func checkStrict(data []byte, t reflect.Type) error {
	if !utf8.Valid(data) {
		return errors.New("invalid UTF-8: send text as UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil { // syntax, and that nothing follows
		return err
	}
	w := walker{data: data, fields: map[reflect.Type]fieldSet{}}
	return w.value(t, 0)
}

// walker goes through JSON whose syntax is known to be right, beside the type that it is for.
type walker struct {
	data   []byte
	pos    int
	fields map[reflect.Type]fieldSet // of the structs met so far
}

// value checks one value. A nil type is one that takes anything: then only the names within each object must differ.
func (w *walker) value(t reflect.Type, depth int) error {
	t, nullable := settle(t)
	switch w.skipSpace(); w.data[w.pos] {
	case '{':
		return w.object(t, depth+1)
	case '[':
		return w.array(t, depth+1)
	case '"':
		return w.text(t)
	case 'n':
		w.pos += len("null")
		if !nullable {
			return errors.New("null is no value here: leave the field out or give it one")
		}
		return nil
	default: // number, true, false
		for w.pos < len(w.data) && !strings.ContainsRune(" \t\r\n,]}", rune(w.data[w.pos])) {
			w.pos++
		}
		return nil
	}
}

func (w *walker) object(t reflect.Type, depth int) error {
	if depth > MaxDepth {
		return errTooDeep
	}
	names := w.namesOf(t)
	seen := map[string]bool{}
	for w.next('{', '}') {
		name, err := w.name()
		if err != nil {
			return err
		}
		elem, err := names(name)
		if err != nil {
			return at(name, err)
		}
		folded := fold(name)
		if seen[folded] {
			return at(name, errors.New("the name occurs twice: write each field once"))
		}
		seen[folded] = true
		w.skipSpace()
		w.pos++ // the colon
		if err := w.value(elem, depth); err != nil {
			return at(name, err)
		}
	}
	return nil
}

// namesOf returns what an object of type t allows: the type of each name, or an error for a name it does not have.
func (w *walker) namesOf(t reflect.Type) func(string) (reflect.Type, error) {
	switch {
	case t == nil || t.Kind() != reflect.Struct && t.Kind() != reflect.Map:
		return func(string) (reflect.Type, error) { return nil, nil }
	case t.Kind() == reflect.Map:
		return func(string) (reflect.Type, error) { return t.Elem(), nil }
	}
	fields, ok := w.fields[t]
	if !ok {
		fields = fieldsOf(t)
		w.fields[t] = fields
	}
	return fields.lookup
}

func (w *walker) array(t reflect.Type, depth int) error {
	if depth > MaxDepth {
		return errTooDeep
	}
	var elem reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		elem = t.Elem()
	}
	if isBytes(t) {
		return errors.New("bytes are written as base64 text, not as an array")
	}
	n := 0
	for ; w.next('[', ']'); n++ {
		if err := w.value(elem, depth); err != nil {
			return at("["+strconv.Itoa(n)+"]", err)
		}
	}
	if t != nil && t.Kind() == reflect.Array && n != t.Len() {
		return fmt.Errorf("%d elements, want %d", n, t.Len())
	}
	return nil
}

// next moves to the next member of an object or array, over its opening bracket or the comma before it, and reports
// whether there is one. At the end it moves over the closing bracket.
func (w *walker) next(open, end byte) bool {
	w.skipSpace()
	switch w.data[w.pos] {
	case end:
		w.pos++
		return false
	case open, ',':
		first := w.data[w.pos] == open // this one's own bracket: a member that begins with one stands behind a comma or it
		w.pos++
		w.skipSpace()
		if first && w.data[w.pos] == end {
			w.pos++
			return false
		}
		return true
	}
	return false
}

// name reads an object's name. A name with escapes is refused: it would not be found by its spelling.
func (w *walker) name() (string, error) {
	w.skipSpace()
	raw := string(w.quoted())
	name := raw[1 : len(raw)-1]
	if strings.ContainsRune(name, '\\') {
		return "", at(name, errors.New("the name is written with escapes: write it plainly"))
	}
	return name, nil
}

func (w *walker) text(t reflect.Type) error {
	raw := w.quoted()
	if loneSurrogate(raw) {
		return errors.New("half a surrogate pair: send text as UTF-8")
	}
	if isBytes(t) && !canonicalBase64(raw) {
		return errors.New("not canonical base64: use the standard alphabet with padding and no line ends")
	}
	return nil
}

// quoted returns the text literal at the present position, with its quotes, and moves behind it.
func (w *walker) quoted() []byte {
	start := w.pos
	for w.pos++; w.data[w.pos] != '"'; w.pos++ {
		if w.data[w.pos] == '\\' {
			w.pos++
		}
	}
	w.pos++
	return w.data[start:w.pos]
}

func (w *walker) skipSpace() {
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawMessage  = reflect.TypeFor[json.RawMessage]()
)

// settle follows pointers, and says whether null may stand for a value of t. Types that read themselves (times) and those
// that take anything become nil.
func settle(t reflect.Type) (reflect.Type, bool) {
	nullable := false
	for t != nil {
		switch {
		case t == rawMessage:
			return nil, true
		case reflect.PointerTo(t).Implements(jsonDecoder), reflect.PointerTo(t).Implements(textDecoder):
			return nil, nullable
		case t.Kind() == reflect.Pointer:
			t, nullable = t.Elem(), true
		case t.Kind() == reflect.Interface:
			return nil, true
		default:
			return t, nullable || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
		}
	}
	return nil, true
}

func isBytes(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// canonicalBase64 reports whether a quoted text is exactly what encoding its bytes gives. encoding/json also takes line
// ends and stray bits at the end.
func canonicalBase64(quoted []byte) bool {
	var s string
	if json.Unmarshal(quoted, &s) != nil || strings.ContainsAny(s, "\r\n") {
		return false
	}
	_, err := base64.StdEncoding.Strict().DecodeString(s)
	return err == nil
}

// loneSurrogate reports whether a quoted text escapes half of a surrogate pair, which encoding/json replaces silently.
func loneSurrogate(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++
		if quoted[i] != 'u' {
			continue
		}
		r := hexRune(quoted[i+1 : i+5])
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		rest := quoted[i+1:]
		if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' ||
			utf16.DecodeRune(r, hexRune(rest[2:6])) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

func hexRune(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits), 16, 16) // four hex digits: the syntax was checked
	return rune(n)
}

var errTooDeep = fmt.Errorf("nested deeper than %d", MaxDepth)

// at puts the name of a field in front of what is wrong with it: a.b[2].c.
func at(name string, err error) error {
	var inner *fieldError
	if !errors.As(err, &inner) {
		return &fieldError{path: name, what: err.Error()}
	}
	sep := "."
	if strings.HasPrefix(inner.path, "[") {
		sep = ""
	}
	return &fieldError{path: name + sep + inner.path, what: inner.what}
}

// fieldError says what is wrong with which field.
type fieldError struct{ path, what string }

func (e *fieldError) Error() string { return strconv.Quote(e.path) + ": " + e.what }
