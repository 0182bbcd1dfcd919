// Package mcpserver is `swarm mcp`: the verbs of a teammate's gate as tools for an agent whose client speaks MCP, over
// standard input and output.
//
// The server is a thin client, as `swarm mail` and `swarm ask` are: it runs below the client, has the rights of every other
// child of the runner and no key, and asks the gate, which judges each verb in its own process. None of its tools approves,
// grants, or sets a mode.
//
// Arguments come from a model and are read strictly: an unknown or doubled name, another type, or a size beyond its limit is
// refused in words that say what to do. A refusal of the gate is the tool's error, with the gate's own words.
//
// # Waiting
//
// Clients end a tool's call after their own time. [Tools] answer within [Config.Within]: a question that nobody has
// answered by then stays open, and the same question asked again goes on waiting for the same answer. A question or letters
// count as handed over when the tool's result is given to the client.
package mcpserver
