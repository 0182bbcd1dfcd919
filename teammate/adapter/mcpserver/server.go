package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planswarm/swarm/teammate/gate"
)

// maxFrame bounds one message of the client, in bytes.
const maxFrame = 1 << 20

// Config is what [Serve] runs with.
type Config struct {
	// In and Out are the client's. Closing In ends the server.
	In  io.ReadCloser
	Out io.WriteCloser
	// Call asks the gate, as [gate.CallAnd] does.
	Call func(ctx context.Context, verb gate.Verb, args any, hand func(gate.Answer) error) (gate.Answer, error)
	// Within is how long a question may keep a tool's call open. Zero means 50 seconds: clients give up after minutes.
	Within time.Duration
	// Version is that of this program.
	Version string
}

// Serve answers a client until it closes its end, or ctx ends.
func Serve(ctx context.Context, c Config) error {
	if c.Within <= 0 {
		c.Within = 50 * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := mcp.NewServer(&mcp.Implementation{Name: Name, Version: c.Version}, nil)
	q := &questions{cfg: c, ctx: ctx, open: map[string]chan reply{}}
	defer q.wait() // after the client is gone nobody reads an answer
	defer cancel()
	for _, t := range Tools {
		s.AddTool(&mcp.Tool{
			Name: t.Name, Description: t.Description, InputSchema: json.RawMessage(t.Schema),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly},
		}, c.handler(t, q))
	}
	err := s.Run(ctx, &mcp.IOTransport{Reader: c.In, Writer: c.Out, MaxLineLength: maxFrame})
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("mcpserver: the client's message cannot be read: %w", err)
}

func (c Config) handler(t Tool, q *questions) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := t.Arguments(r.Params.Arguments)
		if err != nil {
			return failed(err), nil
		}
		if ask, ok := args.(gate.AskArgs); ok {
			return q.ask(ctx, ask), nil
		}
		// What a call that was cancelled meanwhile was given, such as letters, counts as not handed over.
		a, err := c.Call(ctx, t.verb, args, func(gate.Answer) error { return ctx.Err() })
		if err != nil {
			return failed(err), nil
		}
		return text(told(a)), nil
	}
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func failed(err error) *mcp.CallToolResult {
	r := text(err.Error())
	r.IsError = true
	return r
}
