package claudecode

import (
	"encoding/json"

	"github.com/planswarm/swarm/teammate"
)

// progress is what the client has said of its own work.
type progress struct {
	turn   string            // id of the model's last turn
	turns  int               // of the model, not of its children
	tokens int               // of all turns that have ended, with those of children
	using  map[string]string // tools that are used now, by the use's id
	last   string            // the one that began last
}

// note takes a message of the client. Messages of children are counted when the client sums them up.
func (p *progress) note(m incoming) {
	switch {
	case m.Type == "result":
		p.tokens += m.Usage.total()
		p.using, p.last = nil, ""
	case m.ParentToolUse != nil || m.Message == nil:
	case m.Type == "assistant":
		if m.Message.ID == "" || m.Message.ID != p.turn {
			p.turn = m.Message.ID
			p.turns++
		}
		for _, b := range blocksOf(m.Message.Content) {
			if b.Type == "tool_use" && len(p.using) < maxAsked {
				if p.using == nil {
					p.using = map[string]string{}
				}
				p.using[b.ID], p.last = b.Name, b.ID
			}
		}
	case m.Type == "user":
		for _, b := range blocksOf(m.Message.Content) {
			if b.Type == "tool_result" {
				delete(p.using, b.ToolUseID)
			}
		}
	}
}

// tool is the tool that is used now: the last that began, of several.
func (p *progress) tool() string {
	if name, ok := p.using[p.last]; ok {
		return name
	}
	for _, name := range p.using {
		return name
	}
	return ""
}

// usage is what a turn has cost, as the client counts it. What was read from a cache counts too.
type usage struct {
	Input         int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	Output        int `json:"output_tokens"`
}

func (u usage) total() int {
	sum := 0
	for _, n := range []int{u.Input, u.CacheCreation, u.CacheRead, u.Output} {
		sum += min(max(0, n), maxTokens)
	}
	return sum
}

// maxTokens bounds one figure of the client.
const maxTokens = 1 << 40

// Progress is how far the agent's work has come, as its client says it.
func (a *Agent) Progress() teammate.Progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	return teammate.Progress{Tool: a.done.tool(), Turns: a.done.turns, Tokens: a.done.tokens}
}

// block is a part of a message.
type block struct {
	Type, Text, ID, Name string
	ToolUseID            string `json:"tool_use_id"`
}

// blocksOf are the parts of a message's content, or none where it is a text.
func blocksOf(raw json.RawMessage) []block {
	var list []block
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
