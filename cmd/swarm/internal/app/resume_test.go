package app

import (
	"path/filepath"
	"testing"
)

// --takeover is said once, of a runner that was there then: whoever goes on with the teammate later takes the name from nobody.
func TestResumeDoesNotTakeOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), waitingFile)
	if err := writeJSON(path, waiting{V: version, Options: ScriptOptions{Name: "api", Takeover: true, Unattended: true, Claude: &ClaudeOptions{}}}); err != nil {
		t.Fatal(err)
	}
	var w waiting
	if err := readJSON(path, &w); err != nil {
		t.Fatal(err)
	}
	if o := w.resumed(true); o.Takeover || !o.Claude.Watch || !o.Unattended || o.Name != "api" {
		t.Errorf("goes on with %+v, want no takeover, and the rest as it was", o)
	}
}
