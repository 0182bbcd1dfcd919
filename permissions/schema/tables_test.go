package schema_test

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/planswarm/swarm/permissions/schema"
)

// The table inside the program is believed: what is wrong with it would be met only by who needs it.
func TestReadOnlyTableHasNoMistake(t *testing.T) {
	data, err := os.ReadFile("readonly.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Read(data); err != nil {
		t.Error(err)
	}
}

// It is read program by program, when each is asked for: the same as all at once.
func TestDeferredTableIsTheWholeOne(t *testing.T) {
	for _, file := range []string{"readonly.json", "launchers.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []*schema.Program
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := schema.Deferred(data)
		if len(got) != len(want) || len(got) == 0 {
			t.Fatalf("%s: %d programs, want %d", file, len(got), len(want))
		}
		for i, p := range got {
			if p.Name != want[i].Name || p.Also != want[i].Also || p.Via != want[i].Via || p.Only != want[i].Only {
				t.Errorf("%s: %s is called %q, %q before it is read", file, want[i].Name, p.Name, p.Also)
			}
			if p.Whole(); said(t, p) != said(t, want[i]) {
				t.Errorf("%s: a program is read as\n%s\nwant\n%s", file, said(t, p), said(t, want[i]))
			}
		}
	}
	data, err := os.ReadFile("parts.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]*schema.Program
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for name, text := range schema.Members(data) {
		var p schema.Program
		if err := json.Unmarshal(text, &p); err != nil || want[string(name)] == nil || said(t, &p) != said(t, want[string(name)]) {
			t.Errorf("parts.json: %s is read as %s (%v)", name, said(t, &p), err)
		}
		delete(want, string(name))
	}
	if len(want) > 0 {
		t.Errorf("parts.json: %d parts are passed by", len(want))
	}
}

// Where a value ends depends on nothing in its strings, and what is no JSON ends all the same.
func TestPiecesOfJSON(t *testing.T) {
	got := ""
	for text := range schema.Elements([]byte(" [ {\"a]\\\\\": [1, {\"}\": \"\\\"]\"}]} , \"x\", -1.5e3,true ,[],[[]]\n] ")) {
		got += string(text) + "\n"
	}
	if want := "{\"a]\\\\\": [1, {\"}\": \"\\\"]\"}]}\n\"x\"\n-1.5e3\ntrue\n[]\n[[]]\n"; got != want {
		t.Errorf("elements:\n%swant\n%s", got, want)
	}
	for _, text := range []string{"", "[", "{", "[\"", "{\"a\"", "{\"a\":", "[{\"\\", "]", "}", "[}", "{]", "[1", "a", "[,,", "{:", "{1"} {
		for range schema.Elements([]byte(text)) {
		}
		for range schema.Members([]byte(text)) {
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

// Programs are worked out when they are asked for, by several at once.
func TestTablesAnswerSeveralAtOnce(t *testing.T) {
	table, err := schema.Read([]byte(`[{"name": "tsc", "via": "node", "flags": {"--noEmit": ""}}]`))
	if err != nil {
		t.Fatal(err)
	}
	words := argv(t, "npx tsc --noEmit")
	unknown := argv(t, "node_modules/.bin/evil")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_, known := table.Match(words)
				if _, err := table.Match(unknown); err == nil || known != nil {
					t.Errorf("Match(npx tsc --noEmit) = %v, Match(node_modules/.bin/evil) = %v", known, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
