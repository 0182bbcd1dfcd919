package permissions_test

import (
	_ "unsafe" // for go:linkname

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
)

// The tables behind the engine, so that the mutation test can put a changed one in their place. A name that is changed
// there is changed here.

//go:linkname schemaParts github.com/planswarm/swarm/permissions/schema.parts
var schemaParts func() map[string]*schema.Program

//go:linkname schemaLaunchers github.com/planswarm/swarm/permissions/schema.launchers
var schemaLaunchers func() []*schema.Program

//go:linkname allIntents github.com/planswarm/swarm/permissions/intent.intents
var allIntents func() []intent.Intent

//go:linkname readIntents github.com/planswarm/swarm/permissions/intent.read
func readIntents(data []byte) ([]intent.Intent, error)

//go:linkname intentPrograms github.com/planswarm/swarm/permissions/intent.(*Intent).prepare
func intentPrograms(in *intent.Intent) []*schema.Program
