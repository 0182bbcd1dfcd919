// Package policyfile reads permission rules as people and agents write them, into rules of the permissions package.
//
// It knows Claude's spelling (Bash(git push:*)) and settings, Gemini's policy TOML, and our own YAML, and where each
// file comes from: a project's allow rules are proposals, and only what narrows is in force.
//
// It is strict. A rule that cannot be read is a [Problem] with its file, line and reason, and it never widens: an allow is
// dropped, and of a deny or ask rule everything stays denied or asked that it could have meant.
package policyfile
