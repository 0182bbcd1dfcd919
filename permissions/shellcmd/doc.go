// Package shellcmd reads a Bash line and says which simple commands it would run: their words after quote removal, their
// environment prefixes and redirections, and every directory that each may run in. Nothing is expanded or executed.
//
//	line, err := shellcmd.Parse("cd api && go test ./... 2>&1", "/project")
//	line.Commands[1].Argv // go, test, ./...
//	line.Commands[1].Dirs // /project/api
//
// Two parsers never agree on everything, so what mvdan.cc/sh and bash read differently is refused whole, by [Gate] on the
// bytes and by an allow-list of syntax on the tree. A line with anything in [Line.Refused] must not run by itself; its
// [Line.Nested] still lists every command that was seen anywhere, for those who look for what must never run.
package shellcmd
