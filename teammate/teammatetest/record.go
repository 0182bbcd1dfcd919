package teammatetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// About is what the README says of an agent.
type About struct {
	Agent      string `json:"agent"` // with its version
	Start      string `json:"start"`
	EnforcedBy string `json:"enforcedBy"`
	Limits     string `json:"limits"`
}

// A Record is which promises a client was seen to keep.
type Record struct {
	About
	Kept    []Promise `json:"kept"`
	Without []Reason  `json:"without,omitempty"`
	// Waited is the longest wait for a leader that was tried.
	Waited *Waited `json:"waited,omitempty"`
}

// Waited is a wait for a leader, in the midst of a tool's call, after which the agent went on.
type Waited struct {
	For string `json:"for"`
	On  string `json:"on"` // day
}

// RecordWait notes in the record in testdata how long a leader was waited for, on a day.
func RecordWait(t testing.TB, long time.Duration, on time.Time) {
	t.Helper()
	r, err := ReadRecord(recordFile)
	if err == nil {
		r.Waited = &Waited{For: strings.Replace(long.String(), "m0s", "m", 1), On: on.UTC().Format(time.DateOnly)}
		err = r.write(recordFile)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recordFile is the record of a package of tests.
var recordFile = filepath.Join("testdata", "conformance.json")

// A Reason is why a promise cannot be tried.
type Reason struct {
	Promise Promise `json:"promise"`
	Why     string  `json:"why"`
}

// ReadRecord reads what [Conform] has written.
func ReadRecord(file string) (Record, error) {
	var r Record
	data, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func (r Record) write(file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// Line is the agent's line in the README's table.
func (r Record) Line() string {
	kept := fmt.Sprintf("%d of %d", len(r.Kept), len(r.Kept)+len(r.Without))
	var why []string
	for _, w := range r.Without {
		why = append(why, w.Why)
	}
	if len(why) > 0 {
		kept += ": " + strings.Join(why, ", ")
	}
	limits := r.Limits
	if r.Waited != nil {
		limits += fmt.Sprintf("; a leader was waited for %s on %s", r.Waited.For, r.Waited.On)
	}
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s |", r.Agent, r.Start, r.EnforcedBy, kept, limits)
}
