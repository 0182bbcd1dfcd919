package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/plans"
)

// badInput is the error of an input that is not valid, at a place in it.
func badInput(file, place, what, next string) error {
	if place != "" {
		file += ": " + place
	}
	return &leader.Error{Code: ExitUsage, Name: "invalid", Message: plans.VisibleLine(file) + ": " + what, Next: next}
}

func openChecked(file string) (*os.File, error) {
	if file == "" {
		return nil, usage("--check needs a file: name one, or - for standard input")
	}
	info, err := os.Stat(file)
	if err == nil && info.IsDir() {
		return nil, badInput(file, "", "is a folder", "name a file in it")
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that nobody writes is empty, and blocks nothing
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, badInput(cutPath(file), "", "there is no such file", "name a file with JSON documents, or - for standard input")
	case err != nil:
		return nil, badInput(cutPath(file), "", fmt.Sprintf("cannot be read (%v)", rootCause(err)), "name another file")
	}
	return f, nil
}

// cutPath is a path that an error can hold.
func cutPath(file string) string {
	if len(file) > 200 {
		return file[:200] + "..."
	}
	return file
}

// rootCause is what the system said, without the path again.
func rootCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// checkConfig reads a team document as every command does, and then has the schema say the same.
func checkConfig(file string) error {
	switch file {
	case "":
		return usage("--check needs a file: name one")
	case "-":
		return usage("a swarm.yaml is not checked from standard input: name the file, so that errors can name its lines")
	}
	if _, problems := config.Load(file); problems != nil {
		return app.ConfigError(problems)
	}
	v, err := config.Values(file)
	if err != nil {
		return badInput(file, "", err.Error(), "see swarm schema config")
	}
	return validate(schemaConfig, v, func(place, what, next string) error { return badInput(file, place, what, next) })
}

// checkJSON checks each JSON document of an input. Without a name, a document must say itself what it is.
func checkJSON(name, file string, data []byte) (checkedDoc, error) {
	out := checkedDoc{File: file, Schema: name}
	if i := invalidUTF8(data); i >= 0 {
		return out, badInput(file, position(data, i), "is not UTF-8", "write it as UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		begin := dec.InputOffset()
		var v any
		err := dec.Decode(&v)
		switch {
		case errors.Is(err, io.EOF) && out.Documents == 0:
			return out, badInput(file, "", "is empty", "there must be at least one JSON document in it")
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, notJSON(file, data, dec.InputOffset(), err)
		}
		out.Documents++
		kind := name
		if kind == "" {
			if kind = recognised(v); kind == "" {
				return out, usage("%s does not say what it is: name its schema: swarm schema NAME --check FILE", plans.VisibleLine(file))
			}
			out.Schema = kind
		}
		at := func(place, what, next string) error {
			if more := out.Documents > 1 || dec.More(); more {
				place = fmt.Sprintf("document %d (line %d), %s", out.Documents, lineOf(data, begin), place)
			}
			return badInput(file, place, what, next)
		}
		if err := checkValue(kind, v, at); err != nil {
			return out, err
		}
	}
}

// notJSON says where a document ends to be JSON.
func notJSON(file string, data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(offset, syntax.Offset-1)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return badInput(file, position(data, len(data)), "ends inside a JSON document", "check whether it was cut off")
	}
	return badInput(file, position(data, int(offset)), "is not JSON ("+plans.VisibleLine(err.Error())+")", "each document must be JSON")
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// position is a place in an input as line and column, each from 1.
func position(data []byte, offset int) string {
	before := data[:min(max(offset, 0), len(data))]
	return fmt.Sprintf("line %d column %d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

// lineOf is the line of the first character after offset that is no blank.
func lineOf(data []byte, offset int64) int {
	rest := data[min(int(offset), len(data)):]
	return bytes.Count(data[:len(data)-len(bytes.TrimLeft(rest, " \t\r\n"))], []byte("\n")) + 1
}

// recognised is the schema of a document that says itself what it is.
func recognised(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	for _, field := range []string{"kind", "team", "body"} {
		if _, ok := m[field]; !ok {
			return ""
		}
	}
	return schemaEnvelope
}

// checkValue checks one document; an envelope's body is checked by the schema of its kind.
func checkValue(name string, v any, at func(place, what, next string) error) error {
	if place, n, ok := hugeNumber(v, ""); ok {
		return at(pointerText(place), "the number "+shown(n)+" is too large", "no field of ours needs it")
	}
	if err := validate(name, v, at); err != nil || name != schemaEnvelope {
		return err
	}
	m := v.(map[string]any)
	kind, _ := m["kind"].(string) // the schema has said that it is one of the kinds
	return validate(kind, m["body"], func(place, what, next string) error {
		return at(strings.Replace(place, "at ", "in the body, at ", 1), what, next)
	})
}

// hugeNumber finds a number that a reader may not hold, or takes long to read.
func hugeNumber(v any, place string) (string, string, bool) {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		return place, v.String(), err != nil || len(v) > 400 || len(strings.TrimLeft(exponent, "+-0")) > 3
	case []any:
		for i, e := range v {
			if p, n, ok := hugeNumber(e, fmt.Sprintf("%s/%d", place, i)); ok {
				return p, n, ok
			}
		}
	case map[string]any:
		for k, e := range v {
			if p, n, ok := hugeNumber(e, place+"/"+escapePointer(k)); ok {
				return p, n, ok
			}
		}
	}
	return "", "", false
}
