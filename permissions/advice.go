package permissions

import (
	"errors"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// whereRead is the reading that a reason of a read-only table says.
func whereRead(reason string) (schema.Reading, bool) {
	for r := schema.Nowhere; r <= schema.Network; r++ {
		if r.String() == reason {
			return r, true
		}
	}
	return schema.Files, false
}

// allowedBy is the reason of a line whose commands all pass: the first that is more than reading, or where the furthest
// of them reads.
func allowedBy(list []CommandVerdict) string {
	furthest := schema.Nowhere
	for _, c := range list {
		r, reads := whereRead(c.Reason)
		if !reads {
			return c.Reason
		}
		furthest = max(furthest, r)
	}
	return furthest.String()
}

// whyUncovered says why no table, rule or grant lets a command pass: by what it is known to do when no more is known of its
// words.
func whyUncovered(argv []shellcmd.Word, err error) string {
	if !errors.Is(err, schema.ErrUnknown) {
		return err.Error()
	}
	why := unknownPart(err)
	if name, ok := strings.CutSuffix(why, " is not a known program"); ok && name != argv[0].Text {
		argv = []shellcmd.Word{{Text: name, Source: name}} // which xargs would run
	}
	if strings.HasSuffix(why, " is not a known program") || strings.Contains(why, " is known only with ") || strings.HasSuffix(why, " without a subcommand") || schema.ReadOnly().Closeness(argv) == 1 && len(argv) > 1 && strings.HasSuffix(why, " "+argv[1].Source) && !strings.HasPrefix(argv[1].Text, "-") {
		if words, effect := schema.EffectOf(argv); effect != "" {
			return words + " " + effect + ": no grant or rule covers it"
		}
	}
	return "no read-only table, grant or rule covers it: " + why
}

// shortOf stands between a grant's name and what it does not cover.
const shortOf = " does not cover it: "

// advise says in a command's reason which prompt would cover it, when a built-in intent or one of the person's own does.
func (v *view) advise(c *shellcmd.Command, cv *CommandVerdict) {
	argv := v.reading(c).last().argv
	fits := func(use schema.Use) bool { return v.pathsWithin(use, c.Dirs, v.tree, v.realTree) == "" }
	name := intent.Best(argv, fits)
	if name == "" {
		own := v.e.tables.mine()
		if i := slices.IndexFunc(own, func(in OwnIntent) bool {
			use, err := in.Match(argv)
			return err == nil && use.Inner == nil && fits(use)
		}); i >= 0 {
			name = own[i].Name
		}
	}
	if name == "" {
		return
	}
	if grant, part, ok := strings.Cut(cv.Reason, shortOf); ok {
		cv.Reason = grant + strings.TrimSuffix(shortOf, ": ") + " (" + part + ")"
	}
	cv.Reason += `: a plan may ask for "` + name + `"`
}

// promised reports whether a grant would cover the command if this were not plan mode.
func (v *view) promised(forms []step) bool {
	return slices.ContainsFunc(v.state.Grants, func(g Grant) bool {
		return g.ID != "" && absolute(g.Root) == v.tree && g.Live(v.state.Now) && slices.ContainsFunc(forms, func(f step) bool { return v.isAbout(g, f.argv) })
	})
}

const reasonLater = "; a grant begins with the approval"

// protectedWhere names what the protected file is, or lies below, that a line may write.
func (v *view) protectedWhere(s *scan) string {
	for _, c := range s.all {
		if v.onlyReads(c) {
			continue
		}
		for t := range v.pathsOf(c) {
			switch r := v.reachOf(t, s.dirs); {
			case !isName(t):
			case r.whole && slices.Contains(sweepers, c.Argv0()):
				return t + " holds protected files: a leader must say so"
			case r.protected:
				return "it may write a protected file (" + t + "): a leader must say so"
			}
		}
	}
	for _, t := range s.files {
		if isName(t) && v.reachOf(t, s.dirs).protected {
			return "it may write a protected file (" + t + "): a leader must say so"
		}
	}
	return reasonProtected
}

// isName reports whether a text is plainly one path, which a reason can hold.
func isName(text string) bool {
	return len(text) <= 200 && text != "" && !strings.HasPrefix(text, "-") && strings.IndexFunc(text, func(r rune) bool { return notPath(byte(min(r, 127))) && r < 128 }) < 0
}
