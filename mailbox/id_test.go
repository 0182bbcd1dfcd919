package mailbox_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
)

const uuid = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"

func TestRequestID(t *testing.T) {
	got := mailbox.RequestID(uuid, [16]byte{0: 0xff, 15: 0x01})
	if want := uuid + "-zw000000000000000000000004"; got != want {
		t.Errorf("RequestID = %s, want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		var random [16]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "random"))
		if err := mailbox.CheckRequestID(mailbox.RequestID(uuid, random)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCheckRequestIDRefuses(t *testing.T) {
	good := mailbox.RequestID(uuid, [16]byte{})
	for _, s := range []string{
		"", uuid, uuid + "-", good[:len(good)-1], good + "0", good + "\n", " " + good, strings.ToUpper(good),
		strings.Replace(good, "-7", "-4", 1),                     // another version of UUID
		strings.Replace(good, "-8a", "-ca", 1),                   // another variant
		uuid + "-" + strings.Repeat("i", 26),                     // no letter of ours
		uuid + "-" + strings.Repeat("0", 25) + "1",               // bits that 16 bytes do not have
		strings.ReplaceAll(good, "-", "."),                       // two tokens of a subject
		good[:36] + "*" + good[37:], good[:37] + ">" + good[38:], // wildcards
	} {
		if err := mailbox.CheckRequestID(s); !errors.Is(err, mailbox.ErrBadRequestID) {
			t.Errorf("CheckRequestID(%q) = %v, want %v", s, err, mailbox.ErrBadRequestID)
		}
	}
}

func TestHandle(t *testing.T) {
	if got, want := mailbox.Handle("db", "r1", 4), "db-gbsy"; got != want {
		t.Errorf("Handle(db, r1, 4) = %s, want %s", got, want)
	}
	all := mailbox.Handle("db", "r1", 1000)
	for n := range 60 {
		got := mailbox.Handle("db", "r1", n)
		if !strings.HasPrefix(all, got) || len(got) != len("db-")+min(max(n, 4), 52) {
			t.Errorf("Handle(db, r1, %d) = %s, want a part of %s", n, got, all)
		}
	}
	if !regexp.MustCompile(`^db-[0-9a-hjkmnp-tv-z]{52}$`).MatchString(all) {
		t.Errorf("Handle = %s, want Crockford's letters", all)
	}
}

func TestNearest(t *testing.T) {
	team := []string{"api", "web", "db", "docs-writer", "reviewer", "fixer", "fixer2", "fixers", "mixer", "api"}
	for name, want := range map[string][]string{
		"ap":                       {"api"},
		"pai":                      {"api"},
		"API":                      {"api"},
		"revewer":                  {"reviewer"},
		"docs":                     {"docs-writer"},
		"doc-writer":               {"docs-writer"},
		"fixr":                     {"fixer", "fixer2", "fixers"},
		"mallory":                  nil,
		"xy":                       nil,
		"":                         nil,
		strings.Repeat("a", 1<<20): nil,
	} {
		if got := mailbox.Nearest(name, team); !slices.Equal(got, want) {
			t.Errorf("Nearest(%.20q) = %v, want %v", name, got, want)
		}
	}
	if got := mailbox.Nearest("api", nil); got != nil {
		t.Errorf("Nearest among nobody = %v", got)
	}
}
