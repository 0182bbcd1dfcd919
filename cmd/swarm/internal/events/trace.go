package events

import (
	"context"
	"slices"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// scope names this program's spans.
const scope = "github.com/planswarm/swarm"

// trace records an event as a span without length. Without a provider, which this program does not bring along, that is
// nothing: whoever builds one in, or instruments the process from outside, sees them.
func trace(e Event) {
	attributes := []attribute.KeyValue{
		attribute.String("swarm.team", e.Team), attribute.String("swarm.teammate", e.Teammate), attribute.Int64("swarm.seq", int64(e.Seq)),
	}
	for name, value := range e.Fields {
		attributes = append(attributes, attribute.String("swarm."+name, value))
	}
	slices.SortFunc(attributes, func(a, b attribute.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	_, span := otel.Tracer(scope).Start(context.Background(), e.Event, oteltrace.WithTimestamp(e.At), oteltrace.WithAttributes(attributes...))
	span.End(oteltrace.WithTimestamp(e.At))
}
