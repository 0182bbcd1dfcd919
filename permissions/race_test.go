//go:build race

package permissions_test

// raced is whether this is a build that looks for data races.
const raced = true
