package app

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/slogtest"
)

// A line has the time, how bad it is, what happened, and what is known of it; nothing foreign draws on the terminal.
func TestLinesOfALog(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(newLineHandler(&b, slog.LevelInfo)).With("teammate", "api")
	log.Debug("nothing of it")
	log.Warn("mail ignored", "subject", "swarm.t.mb", "error", errors.New("a \x1b[31mred\nlie"))
	log.WithGroup("store").Error("it is full", "percent", 97, slog.Group("disk", "free", 3))
	log.Info("it runs")
	want := []string{
		`^\d\d:\d\d:\d\d warning          mail ignored \(teammate api, subject swarm\.t\.mb, error a <1B>\[31mred<0A>lie\)$`,
		`^\d\d:\d\d:\d\d ERROR            it is full \(teammate api, store\.percent 97, store\.disk\.free 3\)$`,
		`^\d\d:\d\d:\d\d note             it runs \(teammate api\)$`,
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), b.String())
	}
	for i, l := range lines {
		if !regexp.MustCompile(want[i]).MatchString(l) {
			t.Errorf("line %q, want %s", l, want[i])
		}
	}
}

func TestLinesAreALogHandler(t *testing.T) {
	var b bytes.Buffer
	parse := func() []map[string]any {
		var out []map[string]any
		for l := range strings.Lines(b.String()) {
			one := map[string]any{slog.TimeKey: l[:8], slog.LevelKey: strings.TrimSpace(l[9:25]), slog.MessageKey: strings.TrimSpace(l[26:])}
			msg, attrs, found := strings.Cut(strings.TrimSuffix(strings.TrimSpace(l[26:]), ")"), " (")
			one[slog.MessageKey] = msg
			for a := range strings.SplitSeq(attrs, ", ") {
				if !found {
					break
				}
				key, value, _ := strings.Cut(a, " ")
				in := one
				path := strings.Split(key, ".")
				for _, p := range path[:len(path)-1] {
					if in[p] == nil {
						in[p] = map[string]any{}
					}
					in = in[p].(map[string]any)
				}
				in[path[len(path)-1]] = value
			}
			out = append(out, one)
		}
		return out
	}
	err := slogtest.TestHandler(newLineHandler(&b, slog.LevelInfo), parse)
	for _, line := range strings.Split(err.Error(), "\n") { // a line for a person always has its time
		if line != "" && !strings.Contains(line, "zero Record.Time") {
			t.Error(line)
		}
	}
}
