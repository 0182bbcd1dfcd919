package permissions

import (
	_ "embed" // the schema
	"slices"
)

//go:embed tables.schema.json
var tableSchema []byte

// TableSchema returns the JSON Schema of a file of a person's own tables. [ReadTables] is what reads one, and checks more.
// The bytes are the caller's.
func TableSchema() []byte { return slices.Clone(tableSchema) }
