package policyfile

import (
	_ "embed" // the schema
	"slices"
)

//go:embed rules.schema.json
var rulesSchema []byte

// Schema returns the JSON Schema of a file of rules in our YAML. [Read] is what reads one, and checks more. The bytes are
// the caller's.
func Schema() []byte { return slices.Clone(rulesSchema) }
