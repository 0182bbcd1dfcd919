// Package teammatetest holds what tests of adapters share. The clients run for real; the model does not: a [Model] answers
// in its provider's place, on loopback, by a [Script].
//
// # Scripts
//
// A script is a list of actors. A request is played by the first actor whose [Match] holds, and its step is the number of
// assistant turns that the request holds already. The server keeps no state between requests, so that retries, parallel
// agents and resumed sessions get what they would get from a model.
//
// A step says a text, calls tools, or both. Variables, as ${plan} in a text or in a tool's input, are filled by the actor's
// Capture, from what the request holds. A step's Expect names patterns of which each must match what came since the last
// assistant turn: tool results, and what the user or the client said. What did not match is kept: [Model.Problems].
package teammatetest
