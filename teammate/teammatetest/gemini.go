package teammatetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// gemini is the Generative Language API: generateContent, and streamGenerateContent as server-sent events.
type gemini struct{}

type part struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	FunctionCall *struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func (gemini) read(path string, body []byte) (Request, error) {
	model, method, ok := strings.Cut(path, ":")
	if !ok || method != "generateContent" && method != "streamGenerateContent" {
		return Request{}, fmt.Errorf("the method %q is not played", method)
	}
	var in struct {
		SystemInstruction struct{ Parts []part } `json:"systemInstruction"`
		Contents          []struct {
			Role  string
			Parts []part
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct{ Name string } `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: "gemini", Model: model, stream: method == "streamGenerateContent"}
	r.System = partTurn("user", in.SystemInstruction.Parts).Text
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	for _, c := range in.Contents {
		r.Turns = append(r.Turns, partTurn(c.Role, c.Parts))
	}
	return r, nil
}

func partTurn(role string, parts []part) Turn {
	turn := Turn{Assistant: role == "model"}
	var texts []string
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			turn.Calls = append(turn.Calls, Call{Tool: p.FunctionCall.Name, Input: p.FunctionCall.Args})
		case p.FunctionResponse != nil:
			turn.Results = append(turn.Results, Result{ID: p.FunctionResponse.ID, Text: readable(p.FunctionResponse.Response)})
		case !p.Thought && p.Text != "":
			texts = append(texts, p.Text)
		}
	}
	turn.Text = strings.Join(texts, "\n")
	return turn
}

// readable is the text of an answer of a tool: its output or error, or its JSON.
func readable(raw json.RawMessage) string {
	var known struct{ Output, Error string }
	if json.Unmarshal(raw, &known) == nil && known.Output+known.Error != "" {
		return known.Output + known.Error
	}
	return string(raw)
}

func (gemini) write(w http.ResponseWriter, r Request, s Step, id string) {
	type object = map[string]any
	var parts []any
	if s.Say != "" || len(s.Call) == 0 {
		parts = append(parts, object{"text": s.Say})
	}
	for i, c := range s.Call {
		parts = append(parts, object{"functionCall": object{"id": toolID(id, i), "name": c.Tool, "args": c.Input}})
	}
	answer := object{
		"responseId": id, "modelVersion": r.Model,
		"candidates":    []any{object{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	}
	if r.stream {
		stream(w).send("", answer)
		return
	}
	writeJSON(answer)(w, nil)
}

func (gemini) refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 400, "status": "INVALID_ARGUMENT", "message": why}})
}
