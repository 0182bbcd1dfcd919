package teammatetest

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noted is the file that the tool of the MCP server writes, in the tree.
const noted = "by-tool"

// notesFile names the file for [ServeNotes].
const notesFile = "TEAMMATETEST_NOTES"

// ServeNotes makes this process an MCP server when it was started as one: a server of somebody's own, with one tool,
// "note", that has a side effect. A TestMain calls it first.
func ServeNotes() {
	file := os.Getenv(notesFile)
	if file == "" {
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "note", Description: "writes a note"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted"}}}, nil, os.WriteFile(file, []byte("x"), 0o600)
	})
	if s.Run(context.Background(), &mcp.StdioTransport{}) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// notesConfig is the MCP configuration of that server.
func notesConfig(file string) (string, error) {
	self, err := os.Executable()
	return mustJSON(object{"mcpServers": object{"notes": object{"command": self, "args": []string{}, "env": object{notesFile: file}}}}), err
}
