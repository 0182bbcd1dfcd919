//go:build !race

package permissions_test

const raceDetector = false
