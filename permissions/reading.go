package permissions

import (
	"slices"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// reading is what the read-only tables say of one command: as it is written, and of what is left of it inside each wrapper.
// It is looked up once in a decision, and asked for again and again.
type reading struct {
	steps []step
	plain int     // how many of the steps come before a wrapper whose prefixes are not harmless
	step  [1]step // most commands have no wrapper

	covered, asked bool // whether an intent covers what is left; once it is asked
	cover          schema.Use
}

// step is a command, and what the read-only tables say of it.
type step struct {
	argv []shellcmd.Word
	use  schema.Use
	err  error
}

const maxWrappers = 4

// reading is what the read-only tables say of a command.
func (v *view) reading(c *shellcmd.Command) *reading {
	if r := v.readings[c]; r != nil {
		return r
	}
	r := &reading{}
	r.steps = r.step[:0]
	harmless := true
	for argv := c.Argv; len(r.steps) <= maxWrappers; {
		use, err := schema.ReadOnly().Match(argv)
		r.steps = append(r.steps, step{argv, use, err})
		if harmless {
			r.plain++
		}
		if err != nil || use.Inner == nil {
			break
		}
		harmless = harmless && !use.Fed && !slices.ContainsFunc(use.InnerEnv, func(a shellcmd.Assign) bool { return !allowedPrefix(a) })
		argv = use.Inner
	}
	if v.readings == nil {
		v.readings = map[*shellcmd.Command]*reading{}
	}
	v.readings[c] = r
	return r
}

// forms are the command as written, and what is left of it inside each wrapper whose prefixes are harmless.
func (v *view) forms(c *shellcmd.Command) []step {
	r := v.reading(c)
	return r.steps[:r.plain]
}

// last is the step of what is left when harmless wrappers are taken off.
func (r *reading) last() step { return r.steps[r.plain-1] }

// alone reports whether a table covers the command and says that it runs nothing else: command -v, find without -exec.
func (r *reading) alone() bool { return r.steps[0].err == nil && r.steps[0].use.Inner == nil }

// reads is what a read-only table says of the command, wrappers taken off.
func (r *reading) reads() (schema.Use, bool) {
	end := r.steps[len(r.steps)-1]
	return end.use, end.err == nil && end.use.Inner == nil && len(r.steps) <= maxWrappers
}

// table is what the tables say of the command, wrappers taken off: then every word of it has a meaning, and none is a
// text to be run.
func (r *reading) table() (schema.Use, bool) {
	if use, ok := r.reads(); ok {
		return use, true
	}
	if !r.asked {
		r.asked = true
		r.cover, r.covered = intent.Cover(r.steps[len(r.steps)-1].argv)
	}
	return r.cover, r.covered
}

func (r *reading) inTables() bool {
	_, ok := r.table()
	return ok
}
