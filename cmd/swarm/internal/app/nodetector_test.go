//go:build !race

package app

// rounds is how often two leaders race.
const rounds = 200
