package planmode_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/planmode"
)

// methodsNamed finds the types that have a method, in the package's own source: a type that the codec forgot is found
// here, and nowhere else.
func methodsNamed(t tb, method string) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the package's source is not here: %v", err)
	}
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Name.Name == method && fn.Recv != nil && len(fn.Type.Params.List) == 0 {
				names = append(names, fn.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("found %d types with a method %s: where are they?", len(names), method)
	}
	slices.Sort(names)
	return names
}

func eventNames(t tb) []string { return methodsNamed(t, "event") }

func tag(name string) string { return strings.ToLower(name[:1]) + name[1:] }

func zeroEvent(t tb, name string) planmode.Event {
	t.Helper()
	ev, err := planmode.UnmarshalEvent([]byte(fmt.Sprintf(`{"type":%q,"data":{}}`, tag(name))))
	if err != nil {
		t.Fatalf("event %s is not in the codec: %v", name, err)
	}
	return ev
}

func zeroEffect(t tb, name string) planmode.Effect {
	t.Helper()
	all, err := planmode.UnmarshalEffects([]byte(fmt.Sprintf(`[{"type":%q,"data":{}}]`, tag(name))))
	if err != nil || len(all) != 1 {
		t.Fatalf("effect %s is not in the codec: %v", name, err)
	}
	return all[0]
}

func TestEveryEventGoesThroughTheJournal(t *testing.T) {
	for _, name := range eventNames(t) {
		want := filled(zeroEvent(t, name))
		data, err := planmode.MarshalEvent(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := planmode.UnmarshalEvent(data)
		if err != nil || !reflect.DeepEqual(got, want) || reflect.TypeOf(got).Name() != name {
			t.Errorf("%s comes back as\n%+v (%v), want\n%+v", data, got, err, want)
		}
		camelCase(t, data)
	}
}

func TestEveryEffectGoesThroughTheJournal(t *testing.T) {
	var all []planmode.Effect
	for _, name := range methodsNamed(t, "effect") {
		e := filled(zeroEffect(t, name))
		if reflect.TypeOf(e).Name() != name {
			t.Errorf("effect %s is read as %T", name, e)
		}
		all = append(all, e)
	}
	data, err := planmode.MarshalEffects(all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := planmode.UnmarshalEffects(data)
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("%s comes back as\n%+v (%v), want\n%+v", data, got, err, all)
	}
	camelCase(t, data)
	if none, err := planmode.MarshalEffects(nil); err != nil || string(none) != "[]" {
		t.Errorf("MarshalEffects(nil) = %s, %v", none, err)
	}
}

func camelCase(t *testing.T, data []byte) {
	t.Helper()
	for _, key := range regexp.MustCompile(`"([A-Za-z_]+)":`).FindAllSubmatch(data, -1) {
		if k := string(key[1]); k != "Key" && (strings.ToLower(k[:1]) != k[:1] || strings.Contains(k, "_")) {
			t.Errorf("key %s is not camelCase in %s", k, data)
		}
	}
}

// filled has a value in every field.
func filled[T any](zero T) T {
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	n := 0
	fill(v, &n)
	return v.Interface().(T)
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 250))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(now.Add(time.Duration(*n) * time.Second)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("fill: " + v.Type().String())
	}
}

func TestCodecRefuses(t *testing.T) {
	for _, data := range []string{
		``, `null`, `{}`, `[]`, `{"type":"approved","data":{}}`, `{"type":"SetMode","data":{}}`, `{"type":"exited"}`,
		`{"type":"published","data":{"requestId":1}}`, `{"type":"published","data":{"request":"r1"}}`,
		`{"type":"exited","data":{}} {}`, `{"type":"exited","data":{},"more":1}`, `{"type":"started","data":[]}`,
	} {
		if ev, err := planmode.UnmarshalEvent([]byte(data)); err == nil {
			t.Errorf("UnmarshalEvent(%s) = %#v, want an error", data, ev)
		}
		if all, err := planmode.UnmarshalEffects([]byte("[" + data + "]")); err == nil && data != "" {
			t.Errorf("UnmarshalEffects([%s]) = %#v, want an error", data, all)
		}
	}
	for _, ev := range []planmode.Event{nil, &planmode.Exited{}} {
		if data, err := planmode.MarshalEvent(ev); err == nil {
			t.Errorf("MarshalEvent(%T) = %s, want an error", ev, data)
		}
	}
	if data, err := planmode.MarshalEffects([]planmode.Effect{nil}); err == nil {
		t.Errorf("MarshalEffects(nil effect) = %s, want an error", data)
	}
}

func FuzzUnmarshalEvent(f *testing.F) {
	for _, name := range eventNames(f) {
		data, _ := planmode.MarshalEvent(filled(zeroEvent(f, name)))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := planmode.UnmarshalEvent(data)
		if err != nil {
			return
		}
		once, err := planmode.MarshalEvent(ev)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", data, err)
		}
		again, err := planmode.UnmarshalEvent(once)
		if err != nil {
			t.Fatalf("%s cannot be read: %v", once, err)
		}
		if twice, _ := planmode.MarshalEvent(again); string(twice) != string(once) {
			t.Fatalf("%s becomes %s", once, twice)
		}
		for _, s := range []planmode.Session{{}, working(t), planning(t), awaiting(t), carrying(t), left(t)} {
			step(t, s, ev)
		}
	})
}

func FuzzUnmarshalEffects(f *testing.F) {
	var all []planmode.Effect
	for _, name := range methodsNamed(f, "effect") {
		all = append(all, filled(zeroEffect(f, name)))
	}
	data, _ := planmode.MarshalEffects(all)
	f.Add(data)
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		effects, err := planmode.UnmarshalEffects(data)
		if err != nil {
			return
		}
		once, err := planmode.MarshalEffects(effects)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", data, err)
		}
		again, err := planmode.UnmarshalEffects(once)
		if err != nil {
			t.Fatalf("%s cannot be read: %v", once, err)
		}
		if twice, _ := planmode.MarshalEffects(again); string(twice) != string(once) {
			t.Fatalf("%s becomes %s", once, twice)
		}
	})
}
