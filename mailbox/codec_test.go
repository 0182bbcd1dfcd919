package mailbox_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

var at = time.Date(2026, 3, 1, 9, 30, 0, 5, time.FixedZone("CET", 3600))

func newMessage(t testing.TB) mailbox.Envelope {
	t.Helper()
	e, err := mailbox.New("m1", mailbox.KindMessage, "shop", "api", mailbox.Lead, 3, at, mailbox.Message{Text: "a < b"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEncodeDecode(t *testing.T) {
	want := newMessage(t)
	want.InReplyTo = "m0"
	data, err := mailbox.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "a < b") || !strings.Contains(string(data), `"2026-03-01T08:30:00.000000005Z"`) {
		t.Errorf("Encode = %s, want < as it is and the time in UTC", data)
	}
	got, err := mailbox.Decode(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("Decode(Encode(e)) = %+v, %v, want %+v", got, err, want)
	}
	msg, err := mailbox.Body[mailbox.Message](got)
	if err != nil || msg.Text != "a < b" {
		t.Errorf("Body = %+v, %v", msg, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*mailbox.Envelope)
		want   error
	}{
		"version":            {func(e *mailbox.Envelope) { e.V = 2 }, mailbox.ErrVersion},
		"no version":         {func(e *mailbox.Envelope) { e.V = 0 }, mailbox.ErrVersion},
		"team":               {func(e *mailbox.Envelope) { e.Team = "a.b" }, mailbox.ErrBadName},
		"from":               {func(e *mailbox.Envelope) { e.From = "" }, mailbox.ErrBadName},
		"to":                 {func(e *mailbox.Envelope) { e.To = "*" }, mailbox.ErrBadName},
		"id":                 {func(e *mailbox.Envelope) { e.ID = "" }, mailbox.ErrMalformed},
		"kind":               {func(e *mailbox.Envelope) { e.Kind = "a b" }, mailbox.ErrMalformed},
		"no body":            {func(e *mailbox.Envelope) { e.Body = nil }, mailbox.ErrMalformed},
		"null body":          {func(e *mailbox.Envelope) { e.Body = json.RawMessage(" null ") }, mailbox.ErrMalformed},
		"too large":          {func(e *mailbox.Envelope) { e.Body = bigText(mailbox.MaxEnvelope) }, mailbox.ErrTooLarge},
		"status needs no to": {func(e *mailbox.Envelope) { e.Kind, e.To = mailbox.KindStatus, "" }, nil},
	} {
		e := newMessage(t)
		c.change(&e)
		if _, err := mailbox.Encode(e); !errors.Is(err, c.want) {
			t.Errorf("%s: Encode = %v, want %v", name, err, c.want)
		}
	}
	e := newMessage(t)
	e.Body = json.RawMessage(`{`)
	if _, err := mailbox.Encode(e); err == nil {
		t.Error("Encode(body that is no JSON) = nil, want an error")
	}
	if _, err := mailbox.New("m", mailbox.KindMessage, "shop", "api", "lead", 0, at, nil); !errors.Is(err, mailbox.ErrMalformed) {
		t.Errorf("New(nil body) = %v, want %v", err, mailbox.ErrMalformed)
	}
	if _, err := mailbox.New("m", mailbox.KindMessage, "shop", "api", "lead", 0, at, func() {}); err == nil {
		t.Error("New(a func as body) = nil, want an error")
	}
}

func bigText(n int) json.RawMessage {
	return json.RawMessage(`{"text":"` + strings.Repeat("x", n) + `"}`)
}

func TestDecodeRefuses(t *testing.T) {
	for in, want := range map[string]error{
		`{"v":2,"id":"m"}`:         mailbox.ErrVersion,
		`{"v":1,"V":3}`:            mailbox.ErrVersion,
		`{"v":2,"body":[],"id":7}`: mailbox.ErrVersion, // what another version means by id is not ours to judge
		`{"id":"m"}`:               mailbox.ErrMalformed,
		`{"v":null}`:               mailbox.ErrMalformed,
		`{"v":"1"}`:                mailbox.ErrMalformed,
		`{"v":1,"id":7}`:           mailbox.ErrMalformed,
		`{"v":1} {}`:               mailbox.ErrMalformed,
		``:                         mailbox.ErrMalformed,
		`null`:                     mailbox.ErrMalformed,
		`{"v":1,"body":` + string(bigText(mailbox.MaxEnvelope)) + `}`: mailbox.ErrTooLarge,
	} {
		if _, err := mailbox.Decode([]byte(in)); !errors.Is(err, want) {
			t.Errorf("Decode(%.60s) = %v, want %v", in, err, want)
		}
	}
	_, err := mailbox.Decode([]byte(`{"v":7}`))
	if err == nil || !strings.Contains(err.Error(), "version 7") || !strings.Contains(err.Error(), "reads 1") {
		t.Errorf("Decode(version 7) = %v, want both versions named", err)
	}
}

func TestBodyIsTolerant(t *testing.T) {
	e := newMessage(t)
	e.Body = json.RawMessage(`{"text":"hi","later":{"x":1}}`)
	if m, err := mailbox.Body[mailbox.Message](e); err != nil || m.Text != "hi" {
		t.Errorf("Body(unknown field) = %+v, %v, want it ignored", m, err)
	}
	if m, err := mailbox.StrictBody[mailbox.Message](e); !errors.Is(err, mailbox.ErrMalformed) || m != (mailbox.Message{}) {
		t.Errorf("StrictBody(unknown field) = %+v, %v, want it refused", m, err)
	}
	for _, body := range []string{"", "null", "[]", `{"text":1}`, `"approved"`} {
		e.Body = json.RawMessage(body)
		if m, err := mailbox.Body[mailbox.Message](e); !errors.Is(err, mailbox.ErrMalformed) || m != (mailbox.Message{}) {
			t.Errorf("Body(%q) = %+v, %v, want nothing and %v", body, m, err, mailbox.ErrMalformed)
		}
		if _, err := mailbox.StrictBody[mailbox.Message](e); !errors.Is(err, mailbox.ErrMalformed) {
			t.Errorf("StrictBody(%q) = %v, want %v", body, err, mailbox.ErrMalformed)
		}
	}
}

func TestKinds(t *testing.T) {
	answers, orders := 0, 0
	for _, k := range mailbox.Kinds() {
		if !k.Known() {
			t.Errorf("%s is not known", k)
		}
		if k.Answers() {
			answers++
		}
		if k.Orders() {
			orders++
		}
	}
	if len(mailbox.Kinds()) != 18 || answers != 2 || orders != 3 {
		t.Errorf("%d kinds, %d answers, %d orders, want 18, 2, 3", len(mailbox.Kinds()), answers, orders)
	}
	if mailbox.Kind("set_plan_mode").Known() {
		t.Error("set_plan_mode is known")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"m","kind":"message","team":"shop","from":"api","to":"lead","epoch":1,"sentAt":"2026-03-01T08:30:00Z","body":{"text":"x"}}`))
	f.Add([]byte(`{"v":1,"V":2}`))
	f.Add([]byte(`{"v":1,"body":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := mailbox.Decode(data)
		if err != nil {
			return
		}
		_, _ = mailbox.Body[mailbox.Message](e)
		_, _ = mailbox.StrictBody[mailbox.ShutdownRequest](e)
		again, err := mailbox.Encode(e)
		if err != nil {
			return // tolerantly read, but nothing that we would send
		}
		got, err := mailbox.Decode(again)
		if err != nil {
			t.Fatalf("Decode(Encode(e)) = %v for %s", err, again)
		}
		if !got.SentAt.Equal(e.SentAt) {
			t.Fatalf("sentAt %v came back as %v", e.SentAt, got.SentAt)
		}
		if third, _ := mailbox.Encode(got); string(third) != string(again) {
			t.Fatalf("encoded again:\n%s\n%s", again, third)
		}
	})
}
