package intent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/planswarm/swarm/permissions/intent"
)

// tableFiles are the embedded tables by their names.
func tableFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("tables/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		if out[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The tables inside the program are believed: what is wrong with one would be met only by who needs it.
func TestTablesHaveNoMistake(t *testing.T) {
	for file, data := range tableFiles(t) {
		if _, err := intent.Read(data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := intent.Read([]byte(`[{"name": "x", "programs": [{"name": "y", "with": "nothing"}]}]`)); err == nil {
		t.Error("a part that does not exist is no mistake")
	}
}
