package teammatetest

import (
	"slices"
	"testing"
)

// Each promise is tried in exactly one scene, and a scene tries nothing else.
func TestEachPromiseHasAScene(t *testing.T) {
	var tried []Promise
	for _, s := range scenes {
		tried = append(tried, s.promises...)
	}
	slices.Sort(tried)
	want := slices.Clone(Promises)
	slices.Sort(want)
	if !slices.Equal(tried, want) {
		t.Errorf("tried are %q, want %q", tried, want)
	}
}
