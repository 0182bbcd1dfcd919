package teammatetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// anthropic is the Messages API, as Claude Code 2.1.197 asks it: streamed, with text, tool_use and tool_result blocks. A
// message of role system between the others (measured) counts as the user's.
type anthropic struct{}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     map[string]any  `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks reads a content, which is a text or a list of blocks.
func blocks(raw json.RawMessage) ([]block, error) {
	var s string
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &s) == nil {
		return []block{{Type: "text", Text: s}}, nil
	}
	var list []block
	err := json.Unmarshal(raw, &list)
	return list, err
}

func (anthropic) read(_ string, body []byte) (Request, error) {
	var in struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: "anthropic", Model: in.Model, stream: in.Stream}
	system, err := blocks(in.System)
	if err != nil {
		return Request{}, fmt.Errorf("system: %w", err)
	}
	r.System = joined(system)
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for i, m := range in.Messages {
		content, err := blocks(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("message %d: %w", i, err)
		}
		turn, err := turnOf(m.Role, content)
		if err != nil {
			return Request{}, fmt.Errorf("message %d: %w", i, err)
		}
		r.Turns = append(r.Turns, turn)
	}
	return r, nil
}

func turnOf(role string, content []block) (Turn, error) {
	turn := Turn{Assistant: role == "assistant", Text: joined(content)}
	for _, b := range content {
		switch b.Type {
		case "tool_use":
			turn.Calls = append(turn.Calls, Call{Tool: b.Name, Input: b.Input})
		case "tool_result":
			inner, err := blocks(b.Content)
			if err != nil {
				return Turn{}, err
			}
			turn.Results = append(turn.Results, Result{ID: b.ToolUseID, Text: joined(inner), IsError: b.IsError})
		}
	}
	return turn, nil
}

func joined(list []block) string {
	var texts []string
	for _, b := range list {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (anthropic) write(w http.ResponseWriter, r Request, s Step, id string) {
	type object = map[string]any
	reason := "end_turn"
	if len(s.Call) > 0 {
		reason = "tool_use"
	}
	message := object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}
	if !r.stream {
		content := []any{object{"type": "text", "text": s.Say}}
		for i, c := range s.Call {
			content = append(content, object{"type": "tool_use", "id": toolID(id, i), "name": c.Tool, "input": c.Input})
		}
		message["content"], message["stop_reason"] = content, reason
		writeJSON(message)(w, nil)
		return
	}
	e := stream(w)
	e.send("message_start", object{"type": "message_start", "message": message})
	index := 0
	send := func(start, delta object) {
		e.send("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		e.send("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": delta})
		e.send("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if s.Say != "" || len(s.Call) == 0 {
		send(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": s.Say})
	}
	for i, c := range s.Call {
		input, _ := json.Marshal(c.Input) // it came from JSON
		send(object{"type": "tool_use", "id": toolID(id, i), "name": c.Tool, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(input)})
	}
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	e.send("message_stop", object{"type": "message_stop"})
}

func toolID(id string, i int) string { return fmt.Sprintf("toolu_%s_%d", id, i) }

func (anthropic) refuse(w http.ResponseWriter, why string) {
	w.Header().Set("X-Should-Retry", "false")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": why}})
}
