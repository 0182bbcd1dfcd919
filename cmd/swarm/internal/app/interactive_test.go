package app

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is what a person sees, who types as soon as a request is shown, and again when that was not used.
type screen struct {
	person        *person
	keys          io.Writer
	shown, prompt time.Time
	text          strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.text.Write(p)
	switch text := string(p); {
	case text == "a plan\n":
		s.shown = time.Now()
		if _, err := io.WriteString(s.keys, "a\n"); err != nil {
			return 0, err
		}
	case text == "> ":
		s.prompt = time.Now()
		for len(s.person.lines) == 0 { // until the line is read
			time.Sleep(time.Millisecond)
		}
	case strings.HasPrefix(text, "typed before this was shown, and not used: a\n"):
		go func() { _, _ = io.WriteString(s.keys, "r no\n") }()
	}
	return len(p), nil
}

// A prompt comes a moment after what it is about, and what was typed in between answers nothing.
func TestPromptComesLater(t *testing.T) {
	in, keys := io.Pipe()
	var printing sync.Mutex
	s := &screen{keys: keys}
	s.person = newPerson(in, s, &printing)
	if line, err := s.person.ask(t.Context(), "a plan\n", "> "); err != nil || line != "r no" {
		t.Errorf("ask = %q, %v, after\n%s", line, err, s.text.String())
	}
	if took := s.prompt.Sub(s.shown); took < guard {
		t.Errorf("the prompt comes after %v, want %v at least", took, guard)
	}
}
