package mailbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
)

// order has one field of every shape that orders have.
type order struct {
	mailbox.OrderHead
	*Terms
	Outcome  string            `json:"outcome"`
	Grants   []grant           `json:"grants,omitempty"`
	Deadline *time.Time        `json:"deadline,omitempty"`
	Edited   []byte            `json:"edited,omitempty"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Any      any               `json:"any,omitempty"`
	Labels   map[string]grant  `json:"labels,omitempty"`
	Pair     *[2]int           `json:"pair,omitempty"`
	Count    *int              `json:"count,omitempty"`
	Deep     *order            `json:"deep,omitempty"`
	Untagged string            // under its own name
	Hidden   string            `json:"-"`
	Notes    map[string]string `json:"notes,omitempty"`
}

type Terms struct {
	Scope   string `json:"scope,omitempty"`
	Outcome int    `json:"outcome"` // deeper than order's own, which wins
}

type grant struct {
	Prompt string `json:"prompt"`
	Task   string `json:"task,omitempty"` // has s and k, which U+017F and U+212A fold to
	Uses   int    `json:"uses"`
}

var orderNames = []string{
	"teamId", "charterSerial", "epoch", "decidedBy", "decidedAt", "name", "kind", "via", "assurance", "scope", "outcome",
	"grants", "deadline", "edited", "raw", "any", "labels", "pair", "count", "deep", "Untagged", "notes",
	"prompt", "task", "uses",
}

func TestDecodeStrictTakes(t *testing.T) {
	in := `{"teamId":"t","charterSerial":3,"epoch":18446744073709551615,
		"decidedBy":{"name":"anna","kind":"person","via":"web","assurance":"plain"},"decidedAt":"2026-03-01T08:30:00Z",
		"outcome":"approved","grants":[{"prompt":"run \"tests\" \ud83d\ude00","uses":2},{"prompt":"","task":"x","uses":0}],
		"deadline":null,"edited":"AAE=","raw":{"a":[1,{"b":null}]},"any":{"x":[{}]},"labels":{"a":{"prompt":"","uses":1}},
		"pair":[1,2],"count":0,"deep":{"outcome":"","grants":null},"Untagged":"u"}`
	var o order
	if err := mailbox.DecodeStrict([]byte(in), &o); err != nil {
		t.Fatal(err)
	}
	if o.Outcome != "approved" || o.DecidedBy.Name != "anna" || o.Grants[0].Prompt != "run \"tests\" 😀" ||
		o.Deadline != nil || !bytes.Equal(o.Edited, []byte{0, 1}) || o.Labels["a"].Uses != 1 || o.Deep == nil || *o.Count != 0 {
		t.Errorf("DecodeStrict = %+v", o)
	}
	for _, c := range []struct {
		in string
		v  any
	}{{`7`, new(int)}, {`"x"`, new(string)}, {`[null,[]]`, new(any)}, {`{"a":1}`, new(json.RawMessage)}, {`null`, new(*grant)}, {`null`, new([]string)}} {
		if err := mailbox.DecodeStrict([]byte(c.in), c.v); err != nil {
			t.Errorf("DecodeStrict(%s) into %T: %v", c.in, c.v, err)
		}
	}
}

func TestDecodeStrictRefuses(t *testing.T) {
	deep := func(n int) string { return `{"raw":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for name, c := range map[string]struct{ in, names string }{
		"twice":                       {`{"outcome":"rejected","outcome":"approved"}`, "outcome"},
		"other case":                  {`{"Outcome":"approved"}`, `"outcome"`},
		"other case beside":           {`{"outcome":"rejected","OUTCOME":"approved"}`, "OUTCOME"},
		"long s":                      {`{"grantſ":[]}`, `"grants"`},
		"long s beside":               {`{"grants":[],"grantſ":[]}`, `"grants"`},
		"kelvin":                      {`{"grants":[{"prompt":"","tas` + "\u212a" + `":""}]}`, `grants[0].tas`},
		"long s in the head":          {`{"deciſedBy":{}}`, "deci"},
		"case in an embedded struct":  {`{"teamID":"x"}`, `"teamId"`},
		"twice in an embedded one":    {`{"teamId":"x","teamId":"y"}`, "teamId"},
		"case in an embedded pointer": {`{"SCOPE":"plan"}`, `"scope"`},
		"unknown":                     {`{"approve":true}`, "approve"},
		"unknown, near":               {`{"outcom":""}`, `is it "outcome"`},
		"unknown deeper":              {`{"decidedBy":{"name":"a","role":"leader"}}`, "decidedBy.role"},
		"unknown in a slice":          {`{"grants":[{"prompt":"a"},{"maxUses":1}]}`, "grants[1].maxUses"},
		"unknown in a map":            {`{"labels":{"a":{"x":1}}}`, "labels.a.x"},
		"unknown behind a pointer":    {`{"deep":{"deep":{"x":1}}}`, "deep.deep.x"},
		"hidden field":                {`{"Hidden":"x"}`, "Hidden"},
		"no field name of Go":         {`{"Grants":[]}`, "Grants"},
		"escaped name":                {`{"\u006futcome":"approved"}`, "escapes"},
		"escaped quote in a name":     {`{"a\"":1}`, "escapes"},
		"empty name":                  {`{"":1}`, "unknown name"},
		"map key twice":               {`{"notes":{"a":"1","a":"2"}}`, "notes.a"},
		"map key folded":              {`{"notes":{"k":"1","` + "\u212a" + `":"2"}}`, "notes."},
		"raw twice":                   {`{"raw":{"a":[{"b":1,"b":2}]}}`, "raw.a[0].b"},
		"raw folded":                  {`{"raw":{"a":1,"A":2}}`, "raw.A"},
		"any twice":                   {`{"any":[{"b":1,"b":2}]}`, "any[0].b"},
		"trailing object":             {`{} {}`, "after top-level"},
		"trailing text":               {`{}x`, "after top-level"},
		"two values":                  {`{}{}`, "after top-level"},
		"not closed":                  {`{"outcome":"approved"`, "unexpected end"},
		"empty":                       {``, "unexpected end"},
		"null":                        {`null`, "null"},
		"null text":                   {`{"outcome":null}`, "outcome"},
		"null in a struct":            {`{"decidedBy":null}`, "decidedBy"},
		"null time":                   {`{"decidedAt":null}`, "decidedAt"},
		"null in a slice":             {`{"grants":[null]}`, "grants[0]"},
		"too deep":                    {deep(64), "deeper"},
		"far too deep":                {deep(20000), ""},
		"objects too deep":            {strings.Repeat(`{"deep":`, 65) + "{}" + strings.Repeat("}", 65), "deeper"},
		"invalid UTF-8":               {"{\"outcome\":\"a\xff\"}", "UTF-8"},
		"invalid UTF-8 name":          {"{\"outcome\xff\":\"a\"}", "UTF-8"},
		"byte order mark":             {"\ufeff{}", "invalid character"},
		"high surrogate":              {`{"outcome":"\ud83d"}`, "outcome"},
		"low surrogate":               {`{"outcome":"\ude00x"}`, "outcome"},
		"swapped surrogates":          {`{"outcome":"\ude00\ud83d"}`, "outcome"},
		"surrogate, then text":        {`{"outcome":"\ud83d\u0041"}`, "outcome"},
		"surrogate in raw":            {`{"raw":["\ud83d"]}`, "raw[0]"},
		"base64 bits":                 {`{"edited":"AAF="}`, "edited"},
		"base64 line end":             {`{"edited":"AA\nE="}`, "edited"},
		"base64 without padding":      {`{"edited":"AAE"}`, "edited"},
		"base64 for URLs":             {`{"edited":"_-8="}`, "edited"},
		"bytes as an array":           {`{"edited":[0,1]}`, "edited"},
		"bytes as a number":           {`{"edited":1}`, "edited"},
		"object for a text":           {`{"outcome":{"approved":true}}`, "outcome"},
		"text for an object":          {`{"decidedBy":"anna"}`, "decidedBy"},
		"fraction":                    {`{"grants":[{"uses":1.0}]}`, "uses"},
		"overflow":                    {`{"epoch":18446744073709551616}`, "epoch"},
		"negative":                    {`{"epoch":-1}`, "epoch"},
		"bad time":                    {`{"decidedAt":"yesterday"}`, "yesterday"},
		"array too long":              {`{"pair":[1,2,3]}`, "pair"},
		"array too short":             {`{"pair":[1]}`, "pair"},
	} {
		o := order{Untagged: "as before"}
		err := mailbox.DecodeStrict([]byte(c.in), &o)
		if !errors.Is(err, mailbox.ErrMalformed) || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: DecodeStrict(%.80s) = %v, want malformed, naming %s", name, c.in, err, c.names)
		}
		if !reflect.DeepEqual(o, order{Untagged: "as before"}) {
			t.Errorf("%s: a refused order left %+v", name, o)
		}
	}
	if err := mailbox.DecodeStrict([]byte(deep(63)), &order{}); err != nil {
		t.Errorf("DecodeStrict(64 deep) = %v, want nil", err)
	}
	if err := mailbox.DecodeStrict(bigText(mailbox.MaxEnvelope), &mailbox.Message{}); !errors.Is(err, mailbox.ErrTooLarge) {
		t.Errorf("DecodeStrict(5 MiB) = %v, want %v", err, mailbox.ErrTooLarge)
	}
}

func TestDecodeStrictWantsAPointer(t *testing.T) {
	for _, v := range []any{nil, order{}, (*order)(nil)} {
		if err := mailbox.DecodeStrict([]byte(`{}`), v); err == nil {
			t.Errorf("DecodeStrict into %T = nil, want an error", v)
		}
	}
}

type (
	ambiguous struct {
		left
		right
		deeper
	}
	deeper  struct{ deepest }
	deepest struct{ X int }
	left    struct{ X, Y int }
	right   struct {
		X int
		Z int `json:"Y"`
	}
)

func TestDecodeStrictNamesAreThoseOfEncodingJSON(t *testing.T) {
	if err := mailbox.DecodeStrict([]byte(`{"X":1}`), &ambiguous{}); err == nil {
		t.Error("DecodeStrict(ambiguous name) = nil: encoding/json would drop it silently")
	}
	var a ambiguous
	if err := mailbox.DecodeStrict([]byte(`{"Y":1}`), &a); err != nil || a.Z != 1 {
		t.Errorf("DecodeStrict(tagged name wins) = %+v, %v", a, err)
	}
}

// Whatever a Go value looks like, its own encoding is taken, and gives the value back.
func TestDecodeStrictTakesWhatWeWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := mailbox.ShutdownRequest{
			OrderHead: mailbox.OrderHead{
				TeamID: text.Draw(t, "team"), CharterSerial: rapid.Uint64().Draw(t, "serial"), Epoch: rapid.Uint64().Draw(t, "epoch"),
				DecidedBy: mailbox.DecidedBy{Name: text.Draw(t, "name"), Via: text.Draw(t, "via")},
				DecidedAt: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0).UTC(),
			},
			Counter: rapid.Uint64().Draw(t, "counter"), Reason: text.Draw(t, "reason"),
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got mailbox.ShutdownRequest
		if err := mailbox.DecodeStrict(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("DecodeStrict(%s) = %+v, %v, want %+v", data, got, err, want)
		}
	})
}

// A name doubled, in whatever case, refuses an order that is taken without the second one.
func TestDecodeStrictRefusesEveryDoubledName(t *testing.T) {
	for name, value := range map[string]string{
		"teamId": `"t"`, "charterSerial": `1`, "decidedBy": `{}`, "decidedAt": `"2026-03-01T08:30:00Z"`, "outcome": `"approved"`,
		"grants": `[]`, "scope": `"once"`, "raw": `1`, "edited": `"AAE="`, "deadline": `null`,
	} {
		once := `"` + name + `":` + value
		if err := mailbox.DecodeStrict([]byte(`{`+once+`}`), &order{}); err != nil {
			t.Errorf("DecodeStrict({%s}) = %v, want nil", once, err)
		}
		for _, other := range []string{
			name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:],
			strings.ReplaceAll(name, "s", "ſ"), strings.ReplaceAll(name, "k", "\u212a"),
		} {
			twice := `"` + other + `":` + value
			for _, in := range []string{`{` + once + `,` + twice + `}`, `{` + twice + `,` + once + `}`} {
				if err := mailbox.DecodeStrict([]byte(in), &order{}); !errors.Is(err, mailbox.ErrMalformed) {
					t.Errorf("DecodeStrict(%s) = %v, want it refused", in, err)
				}
			}
		}
	}
}

func FuzzDecodeStrict(f *testing.F) {
	for _, s := range []string{
		`{"outcome":"approved","grants":[{"prompt":"run tests","uses":2}],"decidedBy":{"name":"anna"},"edited":"AAE="}`,
		`{"outcome":"a","Outcome":"b"}`, `{"grantſ":[]}`, `{"raw":{"a":1},"any":[1.5e3,null,true],"labels":{"x":{}},"notes":{"a":"b"}}`,
		`{"deep":{"deep":{"pair":[1,2]}},"decidedAt":"2026-03-01T08:30:00+01:00","Untagged":"\ud83d\ude00"}`,
		`{} `, `{}{}`, `{"count":-0}`, `{"scope":"x","deadline":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o order
		if mailbox.DecodeStrict(data, &o) != nil {
			return
		}
		checkNames(t, data)
		again, err := json.Marshal(o)
		if err != nil {
			t.Fatalf("accepted %s, and cannot encode it: %v", data, err)
		}
		var back order
		if err := mailbox.DecodeStrict(again, &back); err != nil {
			t.Fatalf("accepted %s, encoded as %s: %v", data, again, err)
		}
		if third, _ := json.Marshal(back); !bytes.Equal(third, again) {
			t.Fatalf("accepted %s; %s came back as %s", data, again, third)
		}
		var plain order
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatalf("accepted %s, which encoding/json refuses: %v", data, err)
		}
	})
}

// checkNames fails when an object has two names that fold to one another, or, outside of raw, any and maps, a name that is
// not one of an order's. It reads tokens, and knows nothing of the walker.
func checkNames(t *testing.T, data []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	checkTokens(t, data, dec, false)
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("accepted %s with something behind", data)
	}
}

func checkTokens(t *testing.T, data []byte, dec *json.Decoder, free bool) {
	tok, err := dec.Token()
	if err != nil {
		t.Fatalf("accepted %s: %v", data, err)
	}
	switch tok {
	case json.Delim('{'):
		var names []string
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				t.Fatalf("accepted %s: %v", data, err)
			}
			name := key.(string)
			if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
				t.Fatalf("accepted %q twice in %s", name, data)
			}
			if !free && !slices.Contains(orderNames, name) {
				t.Fatalf("accepted unknown name %q in %s", name, data)
			}
			names = append(names, name)
			checkTokens(t, data, dec, free || slices.Contains([]string{"raw", "any", "labels", "notes"}, name))
		}
		_, _ = dec.Token()
	case json.Delim('['):
		for dec.More() {
			checkTokens(t, data, dec, free)
		}
		_, _ = dec.Token()
	}
}
