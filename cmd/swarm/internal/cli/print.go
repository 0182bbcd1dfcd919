package cli

import (
	"encoding/json"
	"io"
)

// print writes a result: one JSON document with --json, else the text.
func (sh *shell) print(v any, text string) error {
	if !sh.json {
		_, err := io.WriteString(sh.out, text)
		return err
	}
	e := json.NewEncoder(sh.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
