package permissions

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
)

func (r *tablesReader) program(offset int, data []byte) *schema.Program {
	p := &schema.Program{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		at, err := decodeFlaw(offset, data, err)
		r.problem(at, p.Name, err)
		return p
	}
	for _, name := range slices.Concat([]string{p.Name}, strings.Fields(p.Also)) {
		if err := r.free(name); err != nil {
			r.problem(offset, p.Name, err)
			return p
		}
		r.tables.programs = append(r.tables.programs, OwnProgram{name, r.source(offset)})
	}
	err := onlyReads(p, false)
	if err == nil {
		if _, e := schema.New([]*schema.Program{p}); e != nil {
			err = flawOf(e)
		}
	}
	if err != nil {
		r.problem(offset, p.Name, err)
	}
	return p
}

// onlyReads says why a program's table is not one of a person's own. One of an intent may write what it says to write.
func onlyReads(p *schema.Program, granted bool) error {
	switch {
	case p.Wraps || p.Fed || p.Assigns || p.Launches != "":
		return flawed("remove wraps, fed, assigns and launches", "a table of yours starts no other program")
	case p.Foreign:
		return flawed("remove foreign", "what holds in somebody else's shell is not a table of yours to say")
	case !granted && (p.Via != "" || p.Only || p.With != ""):
		return flawed("remove via, only and with, or write an intent", "a program that only reads is started by its own name, by flags of its own")
	case p.Number != "" && schema.Writes(p.Number):
		return flawed("write int", "a number is no file")
	}
	for spellings, kind := range p.Flags {
		for s := range strings.FieldsSeq(spellings) {
			if !strings.HasPrefix(s, "-") || strings.ContainsAny(s, "= ") || s == "--" || s == "-" {
				return flawed("write it as -x or --word", "%q is no flag", s)
			}
		}
		if !granted && schema.Writes(kind) {
			return flawed("leave the flag out", "%s writes a file, and the program is said to only read", spellings)
		}
	}
	for f := range strings.FieldsSeq(p.Operands) {
		if !granted && schema.Writes(strings.TrimRight(f, "*+?")) {
			return flawed("leave it out", "the operand %s is a file that is written, and the program is said to only read", f)
		}
	}
	for _, below := range slices.Concat(p.Commands, []*schema.Program{p.Rest}) {
		if below == nil {
			continue
		}
		if err := onlyReads(below, granted); err != nil {
			return err
		}
	}
	return nil
}
