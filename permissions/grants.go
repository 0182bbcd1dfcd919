package permissions

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// granted looks for a live grant that covers one command, and names it. A grant whose runner files have changed lets
// nothing pass; when no other does, what has changed is kept for the decision. Only a bare command, in the very folder, is
// one that a grant of exactly this command means.
func (v *view) granted(argv []shellcmd.Word, dirs []string, bare bool, cv *CommandVerdict) bool {
	var changed []RunnerFile
	nearest, idle := 0, ""
	for _, g := range v.state.Grants {
		name, real, ok := v.bound(g, dirs)
		if !ok {
			idle = cmp.Or(v.whyIdle(g, argv), idle)
			continue
		}
		switch {
		case len(g.Argv) > 0:
			if g.Intent != "" || !bare || !literal(argv) || !slices.Equal(texts(argv), g.Argv) || !v.allIn(dirs, real) {
				continue
			}
			if c := v.compared(g, v.exactRunners(argv, dirs)); len(c) > 0 {
				if cv.Reason = reasonChanged(c); changed == nil {
					changed = c
				}
				continue
			}
			cv.Reason = "the plan's grant for exactly this command"
		default:
			in, source, known := v.e.tables.intentOf(g)
			if !known {
				continue
			}
			use, err := in.Match(argv)
			if err != nil || use.Inner != nil {
				if n := in.Closeness(argv); err != nil && n > nearest {
					nearest, cv.Reason = n, "the grant to "+in.Name+shortOf+unknownPart(err)
				}
				continue
			}
			if why := v.pathsWithin(use, dirs, name, real); why != "" {
				cv.Reason, idle = why, onlyThere(g, why)
				continue
			}
			if why := v.repositories(use, argv[0].Text, dirs); why != "" {
				cv.Reason = why
				continue
			}
			if c := v.changedRunners(g, in, argv, use, dirs); len(c) > 0 {
				if cv.Reason = reasonChanged(c); changed == nil {
					changed = c
				}
				continue
			}
			cv.Reason = "the plan's grant to " + in.Name + ofYours(source)
		}
		cv.Verdict, cv.GrantID = Allow, g.ID
		return true
	}
	if changed != nil {
		cv.Reason = reasonChanged(changed)
		v.addChanged(changed)
	} else if idle != "" {
		cv.Reason = idle
	}
	return false
}

// bound checks what a grant is bound to: it lives, it is for this tree, and every directory is in its part of it.
func (v *view) bound(g Grant, dirs []string) (name, real string, ok bool) {
	root := absolute(g.Root)
	if g.ID == "" || root == "" || root != v.tree || !g.Live(v.state.Now) || !inner(g.Tree) {
		return "", "", false
	}
	s := v.place(path.Join(v.tree, g.Tree), "")
	if !v.inTree(s) {
		return "", "", false
	}
	for _, d := range dirs {
		if !v.inFolder(v.place(d, ""), s.name, s.real) {
			return "", "", false
		}
	}
	return s.name, s.real, true
}

// inner reports whether p is a slash path that stays inside: "." is all.
func inner(p string) bool {
	return p != "" && !strings.HasPrefix(p, "/") && path.Clean(p) != ".." && !strings.HasPrefix(path.Clean(p), "../")
}

// repositories says why git may not be started from one of dirs.
func (v *view) repositories(use schema.Use, name string, dirs []string) string {
	if !use.Git {
		return ""
	}
	for _, d := range dirs {
		if err := v.repository(d, name); err != nil {
			return err.Error()
		}
	}
	return ""
}
