package config

import (
	"fmt"

	"github.com/planswarm/swarm/cmd/swarm/internal/events"
)

func (d *decoder) checkEvents(hooks []events.Hook) {
	if len(hooks) > events.MaxHooks {
		d.late("events", "name several events in on:", "there are %d hooks, and at most %d are told", len(hooks), events.MaxHooks)
	}
	for i, h := range hooks {
		at := fmt.Sprintf("events[%d]", i)
		for _, f := range h.Check() {
			path := at
			if f.Field != "" && d.at[at+"."+f.Field] != nil {
				path += "." + f.Field
			}
			d.late(path, f.Suggestion, "%s", f.Message)
		}
	}
}

// Proposed are the hooks of a document, a line each: what a person may copy, and nothing does by itself.
func (d *Document) Proposed() (lines []string) {
	if d == nil {
		return nil
	}
	for _, h := range d.Events {
		lines = append(lines, fmt.Sprintf("%s proposes to tell %q of events: only hooks of your own config.yaml are told", FileName, h.Name()))
	}
	return lines
}
