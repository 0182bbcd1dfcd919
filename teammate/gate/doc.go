// Package gate is where an agent's programs meet their runner: a UNIX socket that answers what thin clients ask.
//
// A request is one JSON line, {"v":1,"verb":"exec","args":{...},"cwd":"/abs"}. Output comes as lines {"out":"<base64>"} and
// {"err":"<base64>"} while it is made; the last line is {"exit":N,"result":{...},"error":{"code","message","next"}}.
// One connection carries one request.
//
//	g, err := gate.Listen(gate.Config{Runner: r, Socket: socket})
//	...
//	go g.Run(ctx)
//
//	answer, err := gate.Call(ctx, os.Getenv("SWARM_SOCKET"), gate.VerbCheck, gate.CheckArgs{...}, gate.Streams{})
//
// Who is served: processes of the same user that descend from the runner, or from one of the processes that Config.Roots
// names. Who is believed: a socket in a folder that is ours alone, behind which an ancestor of the asking process
// listens. Any doubt is an error on either side, and whoever asks denies (invariant 9).
//
// The verbs are a closed list. None of them decides a plan, gives a grant, changes a mode or revokes anything: only
// leaders do, with signed orders (invariants 3 and 4).
package gate
