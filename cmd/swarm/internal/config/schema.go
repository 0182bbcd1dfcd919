package config

import (
	_ "embed" // the schema
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed config.schema.json
var schema []byte

// Schema returns the JSON Schema of a team document, for editors and `swarm schema config`. The bytes are the caller's.
func Schema() []byte { return slices.Clone(schema) }

// Values returns what stands in a YAML file as the values of JSON: for the schema, which knows no lines. [Load] is what
// reads a document, and says more about what is wrong.
func Values(path string) (any, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("config: %s: %w", path, err)
	}
	return v, nil
}
