//go:build linux && !race

package execute_test

// runs is how often a race between processes is run.
const runs = 40

// raced is whether this is a build that looks for data races.
const raced = false
