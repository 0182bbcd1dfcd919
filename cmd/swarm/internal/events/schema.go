package events

import (
	_ "embed" // the schema
	"slices"
)

//go:embed event.schema.json
var schema []byte

// Schema returns the JSON Schema of an [Event]. The bytes are the caller's.
func Schema() []byte { return slices.Clone(schema) }
