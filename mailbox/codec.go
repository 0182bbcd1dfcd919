package mailbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

const (
	// MaxEnvelope is the size in bytes of the largest envelope that is encoded or decoded.
	MaxEnvelope = 4 << 20
	// MaxText is how many bytes of an envelope may be something else than the bytes of a plan. Senders check it, since
	// only they know which field is a plan.
	MaxText = 256 << 10
)

// New makes an envelope of this version around body, which is encoded now. Times are kept in UTC.
// It fails when a name is none, the id is empty, or the body cannot be JSON or is null.
func New(id string, kind Kind, team, from, to string, epoch uint64, sentAt time.Time, body any) (Envelope, error) {
	raw, err := Marshal(body)
	if err != nil {
		return Envelope{}, fmt.Errorf("mailbox: new %s: body: %w", kind, err)
	}
	e := Envelope{
		V: Version, ID: id, Kind: kind, Team: team, From: from, To: to,
		Epoch: epoch, SentAt: sentAt.UTC().Round(0), Body: raw,
	}
	if err := e.check(); err != nil {
		return Envelope{}, err
	}
	return e, nil
}

// Encode returns the bytes of an envelope as they are stored. It refuses what no reader would take: another version
// ([ErrVersion]), a bad name ([ErrBadName]), no id, kind or body ([ErrMalformed]), more than [MaxEnvelope] ([ErrTooLarge]).
func Encode(e Envelope) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	data, err := Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("mailbox: encode %s %q: %w", e.Kind, e.ID, err)
	}
	if err := checkSize(data); err != nil {
		return nil, err
	}
	return data, nil
}

// check refuses an envelope that could not be delivered. A status has no recipient, so To may be empty.
func (e Envelope) check() error {
	if e.V != Version {
		return versionError(e.V)
	}
	for _, name := range []string{e.Team, e.From} {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	if e.To != "" {
		if err := CheckName(e.To); err != nil {
			return err
		}
	}
	switch {
	case e.ID == "":
		return fmt.Errorf("%w: an envelope needs an id", ErrMalformed)
	case !isKind(string(e.Kind)):
		return fmt.Errorf("%w: kind %q: use small letters and _", ErrMalformed, e.Kind)
	case noBody(e.Body):
		return fmt.Errorf("%w: a %s needs a body", ErrMalformed, e.Kind)
	}
	return nil
}

func noBody(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// Decode reads an envelope tolerantly: unknown fields are ignored. The body is not looked at; see [Body].
// Errors are [ErrTooLarge], [ErrMalformed] and, for another version than ours, [ErrVersion].
func Decode(data []byte) (Envelope, error) {
	if err := checkSize(data); err != nil {
		return Envelope{}, err
	}
	var head struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Envelope{}, fmt.Errorf("%w: envelope: %w", ErrMalformed, err)
	}
	if head.V == nil {
		return Envelope{}, fmt.Errorf("%w: envelope names no version: write \"v\":%d", ErrMalformed, Version)
	}
	if *head.V != Version {
		return Envelope{}, versionError(*head.V)
	}
	var e Envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Envelope{}, fmt.Errorf("%w: envelope: %w", ErrMalformed, err)
	}
	return e, nil
}

// Body reads the body of ordinary mail tolerantly. No body, null, and another type are [ErrMalformed].
func Body[T any](e Envelope) (T, error) {
	var body, none T
	if noBody(e.Body) {
		return none, fmt.Errorf("%w: %s %q has no body", ErrMalformed, e.Kind, e.ID)
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return none, fmt.Errorf("%w: body of %s %q: %w", ErrMalformed, e.Kind, e.ID, err)
	}
	return body, nil
}

// StrictBody reads the body of an order as [DecodeStrict] does. The order's signature must have been verified before.
func StrictBody[T any](e Envelope) (T, error) {
	var body, none T
	if noBody(e.Body) {
		return none, fmt.Errorf("%w: %s %q has no body", ErrMalformed, e.Kind, e.ID)
	}
	if err := DecodeStrict(e.Body, &body); err != nil {
		return none, fmt.Errorf("body of %s %q: %w", e.Kind, e.ID, err)
	}
	return body, nil
}

// DecodeStrict reads JSON into v, a non-nil pointer, and takes nothing that two readers could understand differently.
// It refuses, naming the field: invalid UTF-8 and lone surrogates; a name that occurs twice, also when only by case folding
// (U+017F is s, U+212A is k); a name that the type does not have, exactly as it is spelled; null for what cannot be
// absent; base64 that is not canonical; nesting deeper than [MaxDepth]; anything after the value; more than [MaxEnvelope].
// Every refusal is [ErrMalformed] or [ErrTooLarge], and leaves v untouched.
func DecodeStrict(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("mailbox: decode strictly into %T: pass a pointer", v)
	}
	if err := checkSize(data); err != nil {
		return err
	}
	if err := checkStrict(data, target.Type().Elem()); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	fresh := reflect.New(target.Type().Elem())
	if err := json.Unmarshal(data, fresh.Interface()); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	target.Elem().Set(fresh.Elem())
	return nil
}

func checkSize(data []byte) error {
	if len(data) > MaxEnvelope {
		return fmt.Errorf("%w: %d bytes, at most %d: send less in one piece", ErrTooLarge, len(data), MaxEnvelope)
	}
	return nil
}

func versionError(got int) error {
	return fmt.Errorf("%w: version %d, and this swarm reads %d: update the older one", ErrVersion, got, Version)
}

// Marshal is json.Marshal that leaves <, > and & as they are: people read these bytes too.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
