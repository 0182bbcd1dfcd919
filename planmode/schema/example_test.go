package schema_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// wireTypes is every schema and the Go type that is the same thing.
var wireTypes = map[string]reflect.Type{
	"envelope":          reflect.TypeFor[mailbox.Envelope](),
	"receipt":           reflect.TypeFor[mailbox.Receipt](),
	"message":           reflect.TypeFor[mailbox.Message](),
	"question":          reflect.TypeFor[mailbox.Question](),
	"answer":            reflect.TypeFor[mailbox.Answer](),
	"endorsement":       reflect.TypeFor[mailbox.Endorsement](),
	"shutdown_request":  reflect.TypeFor[mailbox.ShutdownRequest](),
	"shutdown_response": reflect.TypeFor[mailbox.ShutdownResponse](),
	"task_assignment":   reflect.TypeFor[mailbox.TaskAssignment](),
	"task_update":       reflect.TypeFor[mailbox.TaskUpdate](),
	"charter":           reflect.TypeFor[charter.Charter](),
	"signed_charter":    reflect.TypeFor[charter.Signed](),
	"added_member":      reflect.TypeFor[charter.AddedMember](),

	"plan_approval_request":  reflect.TypeFor[planmode.ApprovalRequest](),
	"plan_approval_response": reflect.TypeFor[planmode.Decision](),
	"plan_withdrawn":         reflect.TypeFor[planmode.Withdrawn](),
	"permission_request":     reflect.TypeFor[permissions.PermissionRequest](),
	"permission_response":    reflect.TypeFor[planmode.PermissionAnswer](),
	"mode_set_request":       reflect.TypeFor[planmode.ModeSet](),
	"mode_changed":           reflect.TypeFor[planmode.ModeChanged](),
	"grant_revoked":          reflect.TypeFor[planmode.GrantRevoked](),
	"status":                 reflect.TypeFor[planmode.Status](),
}

// byType has a value of each type that is not any text.
var byType = map[reflect.Type]any{
	reflect.TypeFor[permissions.Mode]():        permissions.ModeAcceptEdits,
	reflect.TypeFor[permissions.Class]():       permissions.ClassNetwork,
	reflect.TypeFor[permissions.Verdict]():     permissions.Ask,
	reflect.TypeFor[permissions.Behavior]():    permissions.BehaviorAllow,
	reflect.TypeFor[permissions.Scope]():       permissions.ScopePlan,
	reflect.TypeFor[planmode.RequestKind]():    planmode.AskPlan,
	reflect.TypeFor[planmode.Outcome]():        planmode.OutcomeApproved,
	reflect.TypeFor[planmode.WithdrawReason](): planmode.WithdrawnByAgent,
	reflect.TypeFor[planmode.State]():          planmode.Planning,
	reflect.TypeFor[mailbox.Kind]():            mailbox.KindMessage,
	reflect.TypeFor[mailbox.ReceiptState]():    mailbox.Applied,
	reflect.TypeFor[charter.Role]():            charter.RoleTeammate,
	reflect.TypeFor[charter.Kind]():            charter.KindPerson,
	reflect.TypeFor[charter.Assurance]():       charter.Sealed,
	reflect.TypeFor[time.Time]():               time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
	reflect.TypeFor[json.RawMessage]():         json.RawMessage(`{"text":"x"}`),
	reflect.TypeFor[[]byte]():                  []byte("# Plan\n"),
}

const (
	aKey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
	aSig = "gKzZ9S3vZ4o9n0o4Jk1l2m3n4o5p6q7r8s9t0u1v2w3x4y5z6A7B8C9D0E1F2G3H4I5J6K7L8M9N0O1P2Q3R4A"
	aReq = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b-7k2m0000000000000000000000"
)

var aHash = strings.Repeat("0f", 32)

// byName has a value of each plain text that must look like something.
var byName = map[string]string{
	"requestId": aReq, "request": aReq, "teamId": aHash, "digest": aHash, "planDigest": aHash, "approvedDigest": aHash,
	"key": aKey, "enrolKey": aKey, "sig": aSig, "name": "api", "to": "api", "from": "api", "team": "shop", "teammate": "api",
	"of": "api", "kind": "person", "assurance": "plain", "status": "inProgress", "mode": "default",
}

// example returns a value of t. A full one has everything set, and one element in each list; else what may be left out is.
func example(t reflect.Type, name string, full bool) reflect.Value {
	v := reflect.New(t).Elem()
	if known, ok := byType[t]; ok {
		v.Set(reflect.ValueOf(known))
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(example(t.Elem(), name, full))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(example(t.Elem(), name, full))
	case reflect.String:
		text := "x"
		if special, ok := byName[name]; ok {
			text = special
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			if full || f.required {
				v.FieldByIndex(f.index).Set(example(f.t, f.name, full))
			}
		}
	}
	return v
}

// exampleOf is the example of one schema's type, as JSON and as a value.
func exampleOf(t testing.TB, kind string, full bool) (any, []byte) {
	t.Helper()
	v := example(wireTypes[kind], kind, full)
	if kind == "endorsement" {
		v.FieldByName("Sig").SetString(aKey + "." + aSig)
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return v.Interface(), data
}

// field is one JSON field of a Go struct.
type field struct {
	name     string
	t        reflect.Type
	index    []int
	required bool
}

// fieldsOf lists the JSON fields of a struct in order, with those of embedded structs where they stand.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
		case name != "-" && f.IsExported():
			fields = append(fields, field{name, f.Type, []int{i}, !strings.Contains(options, "omitempty")})
		}
	}
	return fields
}

func kinds() []string {
	var all []string
	for kind := range maps.Keys(wireTypes) {
		all = append(all, kind)
	}
	return all
}
