package schema

import (
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Reading is where a command that only reads does so. The further out, the greater.
type Reading uint8

// Where it reads.
const (
	Nowhere Reading = iota // it prints, waits or answers: it changes nothing
	Files                  // in files
	Machine                // the state of this machine
	Docker                 // asks the Docker daemon
	Network                // asks others, over the network
)

// String is the reading in words.
func (r Reading) String() string {
	switch r {
	case Nowhere:
		return "it changes nothing"
	case Machine:
		return "it only shows the state of this machine"
	case Docker:
		return "it only queries the Docker daemon"
	case Network:
		return "it only queries, over the network"
	}
	return "it only reads inside the working tree"
}

// ReadsWhere says where a command reads that a read-only table covers: by the lists of known.json, which name a program or
// a program with a subcommand. What is in none reads files. It allocates nothing.
func ReadsWhere(argv []shellcmd.Word) Reading {
	if len(argv) == 0 {
		return Files
	}
	name := argv[0].Text
	if len(argv) == 2 && slices.Contains(answering, argv[1].Text) {
		return Nowhere
	}
	t := knownPrograms().Reads
	at, exact := Files, false
	for is, in := range []names{Nowhere: t.Nowhere, Machine: t.Machine, Docker: t.Docker, Network: t.Network} {
		switch {
		case in.under(name, argv[1:]):
			at, exact = Reading(is), true
		case in[name] && !exact:
			at = Reading(is)
		}
	}
	return at
}

// reads are commands by where they read: NAME, or NAME SUBCOMMAND.
type reads struct {
	Nowhere names `json:"nowhere"`
	Machine names `json:"machine"`
	Docker  names `json:"docker"`
	Network names `json:"network"`
}

// answering are flags by which a program only says what it is.
var answering = []string{"--version", "-V", "--help", "-h", "version", "help"}

// under reports whether the set has "NAME WORD" for the first word that is no flag.
func (n names) under(name string, words []shellcmd.Word) bool {
	for _, w := range words {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		var room [64]byte
		key := append(append(append(room[:0], name...), ' '), w.Text...)
		return n[string(key)]
	}
	return false
}
