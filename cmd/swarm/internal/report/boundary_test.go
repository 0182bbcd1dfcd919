package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/mailbox/charter"
)

const openSockets = "UNIX sockets with a path (agents, D-Bus, container daemons)"

func decider(name string, a charter.Assurance, elsewhere report.Known) report.Decider {
	return report.Decider{Name: name, Kind: charter.KindPerson, Assurance: a, Elsewhere: elsewhere}
}

// The rows of THREATS.md, section 3, and what lies between them.
func TestLayoutOf(t *testing.T) {
	here := []report.Decider{decider("mia", charter.Plain, report.No)}
	far := []report.Decider{decider("mia", charter.Plain, report.Yes)}
	for name, test := range map[string]struct {
		facts report.Facts
		level int
	}{
		"nothing is known":                   {report.Facts{}, 0},
		"quickstart":                         {report.Facts{OtherUser: report.No, Confined: report.Yes, CommandsConfined: report.No, BrokerHere: report.Yes, Deciders: here}, 0},
		"only the programs are confined":     {report.Facts{Confined: report.Yes, CommandsConfined: report.No, Deciders: here}, 0},
		"only the commands are confined":     {report.Facts{Confined: report.No, CommandsConfined: report.Yes, Deciders: here}, 0},
		"whether commands are, is not known": {report.Facts{Confined: report.Yes, Deciders: here}, 0},
		"sandbox with open sockets":          {report.Facts{Confined: report.Yes, CommandsConfined: report.Yes, Open: []string{openSockets}, Deciders: here}, 0},
		"sandbox with open signals":          {report.Facts{Confined: report.Yes, CommandsConfined: report.Yes, Open: []string{"signals to processes outside"}, Deciders: here}, 0},
		"sandbox":                            {report.Facts{Confined: report.Yes, CommandsConfined: report.Yes, Open: []string{"names and sizes of files (stat)"}, Deciders: here}, 1},
		"another user":                       {report.Facts{OtherUser: report.Yes, Confined: report.No, Deciders: here}, 2},
		"key on another machine":             {report.Facts{OtherUser: report.No, Deciders: far}, 3},
		"a touch for each signature":         {report.Facts{Deciders: []report.Decider{decider("mia", charter.Confirm, report.No)}}, 3},
		"sealed, on the same machine":        {report.Facts{OtherUser: report.No, Deciders: []report.Decider{decider("mia", charter.Sealed, report.No)}}, 0},
		"in memory, on the same machine":     {report.Facts{OtherUser: report.No, Deciders: []report.Decider{decider("mia", charter.Memory, report.No)}}, 0},
		"where the key lies is not known":    {report.Facts{Deciders: []report.Decider{decider("mia", charter.Plain, report.Unknown)}}, 0},
		"one weak key of two":                {report.Facts{Deciders: append(slices.Clone(far), decider("policy", charter.Plain, report.No))}, 0},
		"one weak key, under another user":   {report.Facts{OtherUser: report.Yes, Deciders: append(slices.Clone(far), decider("policy", charter.Plain, report.No))}, 2},
		"nobody may decide":                  {report.Facts{OtherUser: report.No}, 0},
	} {
		if got := report.LayoutOf(test.facts); got.Level != test.level {
			t.Errorf("%s: level %d, want %d (%+v)", name, got.Level, test.level, got)
		}
	}
}

// Whatever is answered with "not known" never raises a level, and is said.
func TestUnknownFactsCountAsTheWeakerOnes(t *testing.T) {
	best := report.Facts{
		OtherUser: report.Yes, Confined: report.Yes, CommandsConfined: report.Yes, BrokerHere: report.No,
		Deciders: []report.Decider{decider("mia", charter.Sealed, report.Yes)},
	}
	if l := report.LayoutOf(best); l.Level != 3 || len(l.NotKnown) != 0 {
		t.Fatalf("all facts = %+v, want level 3 and nothing unknown", l)
	}
	for name, forget := range map[string]func(*report.Facts){
		"which user the teammates run as":                     func(f *report.Facts) { f.OtherUser = report.Unknown },
		"whether the kernel confines teammates' programs":     func(f *report.Facts) { f.Confined = report.Unknown },
		"whether commands that are run for them are confined": func(f *report.Facts) { f.CommandsConfined = report.Unknown },
		"whether the broker runs on the teammates' machine":   func(f *report.Facts) { f.BrokerHere = report.Unknown },
		"on which machine the key of mia lies":                func(f *report.Facts) { f.Deciders[0].Elsewhere = report.Unknown },
		"how the key of mia is kept":                          func(f *report.Facts) { f.Deciders[0].Assurance = "" },
		"which keys may decide":                               func(f *report.Facts) { f.Deciders = nil },
	} {
		f := best
		f.Deciders = slices.Clone(best.Deciders)
		forget(&f)
		if l := report.LayoutOf(f); !slices.Contains(l.NotKnown, name) || l.Level > 3 {
			t.Errorf("without %q: %+v, want it said", name, l)
		}
	}
}

func TestLayoutIsOneLine(t *testing.T) {
	l := report.LayoutOf(report.Facts{OtherUser: report.No, BrokerHere: report.No})
	if got := l.String(); got != "same user (level 0)" {
		t.Errorf("String() = %q", got)
	}
	if got := l.Line(); strings.Contains(got, "\n") || !strings.Contains(got, "the broker's operator") || !strings.Contains(got, "not against programs of this user") {
		t.Errorf("Line() = %q", got)
	}
	if got := report.LayoutOf(report.Facts{BrokerHere: report.Yes}).Line(); strings.Contains(got, "the broker's operator") {
		t.Errorf("Line() = %q although the broker's files are the teammates' too", got)
	}
}
