package plandir_test

import (
	"os"
	"testing"
)

// childTask names what a re-executed test process does instead of testing.
const childTask = "PLANDIR_TEST_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		os.Exit(runChild(task, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}
