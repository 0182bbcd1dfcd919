// Package journal keeps what a runner must know after kill -9: each step of its session, on disk before the step's effects.
//
// The file is JSON lines. A step is one line {v, seq, at, event, session, effects, prev}; when its effects were carried out,
// a line {v, done, prev} follows. prev is the SHA-256 of the line before, so that no line can change, go, or come between
// unnoticed. One runner at a time has the file (flock on the file "lock" beside it).
//
//	j, err := journal.Open(dir, journal.Config{})
//	...
//	seq, err := j.Append(event, next, effects, now) // on disk when it returns
//	...                                             // carry the effects out
//	err = j.Done(seq)
//
// Guarantees: after Append returned nil, every later Open gives that session or a later one. After an error nothing
// changed: a line that a full disk cut short is taken away again. A line that a crash cut short is taken away by Open,
// with a warning; its step never happened, as its effects had not begun. Any other damage is an error that names the line.
package journal
