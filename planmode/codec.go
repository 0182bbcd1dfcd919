package planmode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// A journal line holds an event and its effects as {"type":"setMode","data":{...}}; the type is the Go name with a small
// first letter.
type tagged struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// codec reads and writes the values of one interface.
type codec[T any] struct {
	what  string
	names map[reflect.Type]string
	read  map[string]func([]byte) (T, error)
}

type entry[T any] struct {
	name string
	typ  reflect.Type
	read func([]byte) (T, error)
}

func event[E Event](name string) entry[Event] {
	return entry[Event]{name, reflect.TypeFor[E](), func(data []byte) (Event, error) { return decode[E](data) }}
}

func effect[E Effect](name string) entry[Effect] {
	return entry[Effect]{name, reflect.TypeFor[E](), func(data []byte) (Effect, error) { return decode[E](data) }}
}

func newCodec[T any](what string, entries ...entry[T]) codec[T] {
	c := codec[T]{what: what, names: map[reflect.Type]string{}, read: map[string]func([]byte) (T, error){}}
	for _, e := range entries {
		c.names[e.typ], c.read[e.name] = e.name, e.read
	}
	return c
}

// decode is strict: a journal is written by this program, so anything unexpected in it is damage, or a newer version's.
func decode[V any](data []byte) (V, error) {
	var v V
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, errors.New("more than one value")
	}
	return v, nil
}

func (c codec[T]) marshal(v T) (tagged, error) {
	name, ok := c.names[reflect.TypeOf(v)]
	if !ok {
		return tagged{}, fmt.Errorf("planmode: %T is no %s that a journal knows", v, c.what)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return tagged{}, fmt.Errorf("planmode: %s %s: %w", c.what, name, err)
	}
	return tagged{Type: name, Data: data}, nil
}

func (c codec[T]) unmarshal(t tagged) (T, error) {
	var zero T
	read, ok := c.read[t.Type]
	if !ok {
		return zero, fmt.Errorf("planmode: unknown %s %q: written by a newer swarm, or damaged", c.what, t.Type)
	}
	if len(t.Data) == 0 {
		return zero, fmt.Errorf("planmode: %s %s has no data: the journal is damaged", c.what, t.Type)
	}
	v, err := read(t.Data)
	if err != nil {
		return zero, fmt.Errorf("planmode: %s %s: %w", c.what, t.Type, err)
	}
	return v, nil
}

// MarshalEvent writes an event for the journal, with its type.
func MarshalEvent(ev Event) ([]byte, error) {
	t, err := events.marshal(ev)
	if err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// UnmarshalEvent reads what [MarshalEvent] wrote. An unknown type or field is an error.
func UnmarshalEvent(data []byte) (Event, error) {
	t, err := decode[tagged](data)
	if err != nil {
		return nil, fmt.Errorf("planmode: event: %w", err)
	}
	return events.unmarshal(t)
}

// MarshalEffects writes effects for the journal, in order, each with its type.
func MarshalEffects(all []Effect) ([]byte, error) {
	list := make([]tagged, 0, len(all))
	for _, e := range all {
		t, err := effects.marshal(e)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return json.Marshal(list)
}

// UnmarshalEffects reads what [MarshalEffects] wrote. An unknown type or field is an error.
func UnmarshalEffects(data []byte) ([]Effect, error) {
	list, err := decode[[]tagged](data)
	if err != nil {
		return nil, fmt.Errorf("planmode: effects: %w", err)
	}
	var all []Effect
	for _, t := range list {
		e, err := effects.unmarshal(t)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

var events = newCodec("event",
	event[Started]("started"), event[Entered]("entered"), event[EntryRefused]("entryRefused"), event[Submitted]("submitted"), event[Published]("published"),
	event[Decided]("decided"), event[Reissued]("reissued"), event[WithdrawAsked]("withdrawAsked"),
	event[Interrupted]("interrupted"), event[LeaveAsked]("leaveAsked"), event[ModeOrdered]("modeOrdered"),
	event[ModeObserved]("modeObserved"), event[GrantUsed]("grantUsed"), event[RevokeOrdered]("revokeOrdered"),
	event[ShutdownOrdered]("shutdownOrdered"), event[Asked]("asked"), event[AskWithdrawn]("askWithdrawn"),
	event[PermissionAnswered]("permissionAnswered"), event[CallRefused]("callRefused"), event[Ticked]("ticked"),
	event[Completed]("completed"), event[TaskMarked]("taskMarked"),
	event[CharterChanged]("charterChanged"), event[Resumed]("resumed"), event[AgentLost]("agentLost"),
	event[Fenced]("fenced"), event[Exited]("exited"),
)

var effects = newCodec("effect",
	effect[SetMode]("setMode"), effect[PublishRequest]("publishRequest"), effect[PublishAsk]("publishAsk"),
	effect[PublishWithdrawn]("publishWithdrawn"), effect[WatchDecision]("watchDecision"), effect[StopWatch]("stopWatch"),
	effect[AskLedger]("askLedger"), effect[WritePlan]("writePlan"), effect[AddGrants]("addGrants"),
	effect[EndGrants]("endGrants"), effect[Notify]("notify"), effect[SendReceipt]("sendReceipt"),
	effect[ReleaseCall]("releaseCall"), effect[ReportStatus]("reportStatus"), effect[Emit]("emit"), effect[StopAgent]("stopAgent"),
)
