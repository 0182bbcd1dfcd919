//go:build !race

package crashtest

// checks is how often the property is tried when the command line says nothing.
const checks = "20"
