package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const corpusFile = "../../../../permissions/testdata/bash_permissions.jsonl"

type labelled struct {
	ID, Expect, Kind string
}

// The corpus by way of --jsonl: as anyone can score it.
func TestRowsOfTheCorpusHaveNoFalseAllow(t *testing.T) {
	in, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := judgeRows(bytes.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(&out)
	rows := 0
	for sc := bufio.NewScanner(bytes.NewReader(in)); sc.Scan(); rows++ {
		var row labelled
		var got struct{ ID, Decision, Reason string }
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if err := answers.Decode(&got); err != nil || got.ID != row.ID || got.Reason == "" {
			t.Fatalf("row %d is %s, answered by %+v, %v", rows+1, row.ID, got, err)
		}
		switch {
		case row.Expect != "allow" && got.Decision == "allow", row.Expect == "deny" && got.Decision != "deny":
			t.Errorf("%s = %s (%s), want %s", row.ID, got.Decision, got.Reason, row.Expect)
		case row.Kind == "rule" && row.Expect == "allow" && got.Decision != "allow": // both spellings of rules are read
			t.Errorf("%s = %s (%s), want allow", row.ID, got.Decision, got.Reason)
		}
	}
	if rows != 562 || answers.More() {
		t.Errorf("%d rows, and more answers: %t", rows, answers.More())
	}
}

// Whatever stands in a line, there is one answer to it, in order, and only what can be read is allowed.
func TestEveryRowIsAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in strings.Builder
		var want []bool
		for range rapid.IntRange(0, 8).Draw(t, "rows") {
			good := rapid.Bool().Draw(t, "good")
			line := `{"id":"x","command":"ls","mode":"plan"}`
			if !good {
				line = rapid.SampledFrom([]string{
					"{", "null", "[]", `"ls"`, `{"id":"x"}`, `{"id":null,"command":"ls"}`, `{"id":{},"command":"ls"}`, `{"command":"ls"}`, `{"id":"x","command":7}`,
					`{"id":"x","command":"ls","mode":"nope"}`, `{"id":"x","command":"ls","mode":7}`, `{"id":"x","command":"ls","rules":["Bash("]}`,
					`{"id":"x","command":"ls","rules":"Bash(ls)"}`, `{"id":"x","command":"ls","grants":{}}`, "{\"id\":\"x\",\"command\":\"ls \xff\"}", `{"id":"x","command":"ls \ud800"}`,
					`{"id":"x","command":"ls","rules":["[[rule]]\ntoolName = 3"]}`, `{"id":"x","Command":"ls"}`,
					`{"id":"x","command":"ls","command":"ls"}`, `{"id":"x","command":"ls","rules":["deny:Bash(ls)"],"rules":[]}`, `{"id":"x","id":"x","command":"ls"}`,
					`{"id":"x","command":"ls","mode":"plan","mod\u0065":"plan"}`, `{"id":"x","command":"ls","Rules":["deny:Bash(ls)"]}`, `{"id":"x","command":"ls","rule\u017f":[]}`,
					`{"id":"x","command":"ls","MODE":"plan"}`, `{"id":"x","command":"ls"} x`, strings.Repeat("x", maxRow+2), "\x00",
				}).Draw(t, "bad")
			}
			want = append(want, good)
			in.WriteString(line + rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", " \n"}).Draw(t, "end"))
		}
		var out bytes.Buffer
		err := judgeRows(strings.NewReader(in.String()), &out)
		bad := 0
		answers := json.NewDecoder(&out)
		for i, good := range want {
			var got struct{ Decision, Reason string }
			if err := answers.Decode(&got); err != nil || (got.Decision == "allow") != good || got.Reason == "" {
				t.Fatalf("row %d of %.200q: %+v, %v, want allowed: %t", i+1, in.String(), got, err, good)
			}
			if !good {
				bad++
			}
		}
		if answers.More() || (err != nil) != (bad > 0) || bad > 0 && !strings.Contains(err.Error(), fmt.Sprintf("%d of %d rows", bad, len(want))) {
			t.Fatalf("%d bad rows: error %v, more answers: %t", bad, err, answers.More())
		}
	})
}

// A row of a megabyte is read, and one that is longer costs no memory.
func TestRowsOfAnyLength(t *testing.T) {
	row := func(n int) string {
		return `{"id":"a","command":"` + strings.Repeat("x", n-len(`{"id":"a","command":""}`)) + `"}` + "\n"
	}
	for n, want := range map[int]string{maxRow: "", maxRow + 1: "longer than 1 MiB", 20 << 20: "longer than 1 MiB"} {
		var out bytes.Buffer
		err := judgeRows(strings.NewReader(row(n)+`{"id":"b","command":"ls"}`), &out)
		if !strings.Contains(out.String(), `{"id":"b","decision":"allow"`) || strings.Count(out.String(), "\n") != 2 {
			t.Errorf("%d bytes: %.300s", n, out.String())
		}
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", n, err, want)
		}
	}
}
