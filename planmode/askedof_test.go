package planmode_test

import (
	"slices"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// One call as a charter sees it: a file tool names its file and has no intent, a line that nobody understands is of no
// known intent and of every class that a charter can reserve.
func TestAskedOfCall(t *testing.T) {
	edit := planmode.AskedOfCall("Edit", "deploy/prod.yaml", ".", nil)
	if len(edit.Intents) != 0 || len(edit.Classes) != 0 || !slices.Equal(edit.Paths, []string{"deploy/prod.yaml"}) || edit.Files != 1 {
		t.Errorf("an edit is %+v, want its file and no intent", edit)
	}
	named := planmode.AskedOfCall("Edit", "a.go", ".", []string{"a.go", "b.go"})
	if named.Files != 2 || len(named.Paths) != 2 {
		t.Errorf("an edit of two files is %+v", named)
	}
	odd := planmode.AskedOfCall("Bash", "$(x", ".", nil)
	for _, c := range []permissions.Class{permissions.ClassNetwork, permissions.ClassPublishes, permissions.ClassRootEquivalent, permissions.ClassTouchesData} {
		if !slices.Contains(odd.Classes, c) {
			t.Errorf("a line that cannot be read has classes %v, want %s among them", odd.Classes, c)
		}
	}
	if !slices.Equal(odd.Intents, []string{""}) || len(odd.Paths) != 0 {
		t.Errorf("a line that cannot be read is %+v, want the unknown intent and no file", odd)
	}
}
