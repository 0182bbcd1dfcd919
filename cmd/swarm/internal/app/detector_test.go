//go:build race

package app

// rounds is how often two leaders race: the detector takes ten times as long for each.
const rounds = 40
