// Package events hands what happens in a teammate's session to the programs and addresses that the person has named, and
// to OpenTelemetry. Nothing waits for them: each has a queue of its own, and what does not fit into it is left out, counted
// and said. An event is delivered once or not at all. It is data, as one line of JSON on standard input or as the body of a
// POST: no word of it, whoever wrote it, is ever part of a command.
package events

import (
	"strconv"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
)

// Event is one transition of a teammate's session.
type Event struct {
	V        int       `json:"v"`
	At       time.Time `json:"at"`
	Team     string    `json:"team"`
	Teammate string    `json:"teammate"`
	Event    string    `json:"event"` // plan.submitted, plan.approved, grant.used, ...
	// Seq is the line of the session's journal that has it: it grows with each step, whose events share it.
	Seq uint64 `json:"seq,omitempty"`
	// Fields say more, by the event: digest, revision, mode, by, reason. A request is named by its handle, as the leader's
	// commands take it, and never by its id.
	Fields map[string]string `json:"fields,omitempty"`
	// Dropped is how many events this hook did not get since the last one that it got.
	Dropped int `json:"dropped,omitempty"`
}

// maxField bounds one field, in bytes: a reason is an agent's own words.
const maxField = 2 << 10

// New is an event of a session as hooks get it.
func New(team, teammate string, at time.Time, e planmode.Emit) Event {
	out := Event{V: 1, At: at.UTC(), Team: team, Teammate: teammate, Event: e.Event, Fields: make(map[string]string, len(e.Fields))}
	out.Seq, _ = strconv.ParseUint(e.Fields["seq"], 10, 64) // empty: it is of no line
	for name, value := range e.Fields {
		switch name {
		case "seq":
		case "requestId", "supersedes", "again", "grantId":
			id, rest, part := strings.Cut(value, "/")
			if value = mailbox.Handle(teammate, id, 4); part {
				value += "/" + rest
			}
			out.Fields[nameOf(name)] = value
		default:
			out.Fields[name] = cut(value)
		}
	}
	return out
}

func nameOf(field string) string {
	if field == "requestId" {
		return "request"
	}
	return strings.TrimSuffix(field, "Id")
}

func cut(s string) string {
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) <= maxField {
		return s
	}
	return strings.ToValidUTF8(s[:maxField], "") + "…"
}
