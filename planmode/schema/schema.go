// Package schema has the JSON Schemas (draft 2020-12) of what plans and permissions say on the wire: requests, decisions,
// orders about modes and grants, status. Those of the envelope, plain mail and the charter are in mailbox/schema. They are
// for other readers and writers, and shown by `swarm schema`; a test holds them and the Go types together.
package schema

import (
	"embed"
	"strings"
)

const suffix = ".schema.json"

//go:embed *.schema.json
var files embed.FS

// All returns the schemas by kind of mail. The map and its bytes are the caller's.
func All() map[string][]byte {
	all := map[string][]byte{}
	entries, _ := files.ReadDir(".") // embedded: it is there
	for _, e := range entries {
		all[strings.TrimSuffix(e.Name(), suffix)], _ = files.ReadFile(e.Name())
	}
	return all
}
