package intent_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
)

// What is built in is read piece by piece, when it is asked for. It is the same as what a strict reading of the whole
// files makes of them.
func TestDeferredTablesAreTheWholeOnes(t *testing.T) {
	for file, data := range tableFiles(t) {
		want, err := intent.Strict(data)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for text := range schema.Elements(data) {
			got, err := intent.Deferred(text)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if i == len(want) {
				t.Fatalf("%s: more than %d intents", file, len(want))
			}
			list, whole := intent.Prepare(&got), intent.Prepare(&want[i])
			if len(list) != len(whole) {
				t.Fatalf("%s: %s has %d programs, want %d", file, got.Name, len(list), len(whole))
			}
			for j, p := range list {
				if names := [4]any{p.Name, p.Also, p.Via, p.Only}; names != [4]any{whole[j].Name, whole[j].Also, whole[j].Via, whole[j].Only} {
					t.Errorf("%s: %s is called by %v before it is read", file, whole[j].Name, names)
				}
				p.Whole()
				if p, whole := said(t, p), said(t, whole[j]); p != whole {
					t.Errorf("%s: %s: a program is read as\n%s\nwant\n%s", file, got.Name, p, whole)
				}
			}
			if !reflect.DeepEqual(intent.Plain(got), intent.Plain(want[i])) {
				t.Errorf("%s: %s is read in another way than by itself", file, got.Name)
			}
			i++
		}
		if i != len(want) {
			t.Errorf("%s: %d intents, want %d", file, i, len(want))
		}
	}
}

func said(t *testing.T, p *schema.Program) string {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
