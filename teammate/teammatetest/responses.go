package teammatetest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responses is the OpenAI Responses API, streamed, as Codex asks it. Items of the assistant that follow one another are
// one turn.
type responses struct{}

type item struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Name    string          `json:"name"`
	Args    string          `json:"arguments"`
	Input   string          `json:"input"`
	CallID  string          `json:"call_id"`
	Output  json.RawMessage `json:"output"`
}

func (responses) read(_ string, body []byte) (Request, error) {
	var in struct {
		Model        string `json:"model"`
		Stream       bool   `json:"stream"`
		Instructions string `json:"instructions"`
		Tools        []struct{ Type, Name string }
		Input        json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: "responses", Model: in.Model, System: in.Instructions, stream: in.Stream}
	for _, t := range in.Tools {
		if t.Name == "" {
			t.Name = t.Type // such as local_shell
		}
		r.Tools = append(r.Tools, t.Name)
	}
	var said string
	if json.Unmarshal(in.Input, &said) == nil {
		r.Turns = []Turn{{Text: said}}
		return r, nil
	}
	var items []item
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return Request{}, fmt.Errorf("input: %w", err)
	}
	for i, it := range items {
		turn, err := it.turn()
		if err != nil {
			return Request{}, fmt.Errorf("input %d: %w", i, err)
		}
		r.add(turn)
	}
	return r, nil
}

// add appends a turn, or joins it to the last one when both are the assistant's.
func (r *Request) add(t Turn) {
	if n := len(r.Turns); n > 0 && t.Assistant && r.Turns[n-1].Assistant {
		last := &r.Turns[n-1]
		last.Text += t.Text
		last.Calls = append(last.Calls, t.Calls...)
		return
	}
	r.Turns = append(r.Turns, t)
}

func (it item) turn() (Turn, error) {
	switch it.Type {
	case "function_call", "custom_tool_call":
		call := Call{Tool: it.Name, Input: map[string]any{"input": it.Input}}
		if it.Type == "function_call" {
			call.Input = nil
			if err := json.Unmarshal([]byte(it.Args), &call.Input); err != nil {
				return Turn{}, err
			}
		}
		return Turn{Assistant: true, Calls: []Call{call}}, nil
	case "function_call_output", "custom_tool_call_output":
		text, err := said(it.Output)
		return Turn{Results: []Result{{ID: it.CallID, Text: text}}}, err
	case "reasoning":
		return Turn{Assistant: true}, nil
	default:
		text, err := said(it.Content)
		return Turn{Assistant: it.Role == "assistant", Text: text}, err
	}
}

// said is the text of a content: a text, a list of parts with a text, or an object as JSON.
func said(raw json.RawMessage) (string, error) {
	list, err := blocks(raw)
	if err != nil {
		return string(raw), nil //nolint:nilerr // an object: it is shown as it is
	}
	for i := range list {
		list[i].Type = "text" // input_text, output_text
	}
	return joined(list), nil
}

func (responses) write(w http.ResponseWriter, r Request, s Step, id string) {
	type object = map[string]any
	var output []any
	if s.Say != "" || len(s.Call) == 0 {
		output = append(output, object{
			"type": "message", "role": "assistant", "id": "msg_" + id, "status": "completed",
			"content": []any{object{"type": "output_text", "text": s.Say, "annotations": []any{}}},
		})
	}
	for i, c := range s.Call {
		args, _ := json.Marshal(c.Input) // it came from JSON
		output = append(output, object{"type": "function_call", "id": "fc_" + toolID(id, i), "call_id": toolID(id, i), "name": c.Tool, "arguments": string(args), "status": "completed"})
	}
	whole := object{
		"id": "resp_" + id, "object": "response", "model": r.Model, "status": "completed", "output": output,
		"usage": object{"input_tokens": 1, "input_tokens_details": nil, "output_tokens": 1, "output_tokens_details": nil, "total_tokens": 2},
	}
	if !r.stream {
		writeJSON(whole)(w, nil)
		return
	}
	e := stream(w)
	e.send("response.created", object{"type": "response.created", "response": object{"id": "resp_" + id}})
	for i, o := range output {
		e.send("response.output_item.done", object{"type": "response.output_item.done", "output_index": i, "item": o})
	}
	e.send("response.completed", object{"type": "response.completed", "response": whole})
}

func (responses) refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": why}})
}
