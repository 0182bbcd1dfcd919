//go:build linux && race

package execute_test

// runs is how often a race between processes is run: each costs more when it looks for data races too.
const runs = 8

// raced is whether this is a build that looks for data races.
const raced = true
