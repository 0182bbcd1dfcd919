package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/plans"
)

// maxRow is the longest line of --jsonl, in bytes.
const maxRow = 1 << 20

// The place that rows and the examples of rules are judged in: the same everywhere, and nothing has to be there.
const (
	placeTree   = "/project"
	placeHome   = "/home/user"
	placeState  = placeHome + "/.local/state/swarm"
	placeConfig = placeHome + "/.config/swarm"
)

// judge of rows: no disk is consulted, so that scores are the same everywhere.
type rowJudge struct {
	engine *permissions.Engine
	state  permissions.State
	rules  map[string][]permissions.Rule // those that could be read, by their text
	bad    int
	first  error // what is wrong with the first bad row
}

const maxKept = 10_000 // texts of rules

func newRowJudge() *rowJudge {
	return &rowJudge{
		engine: permissions.New(permissions.Config{Resolver: permissions.Lexical()}),
		state: permissions.State{
			Tree: placeTree, Home: placeHome, Now: time.Unix(0, 0),
			PlanFile:  placeState + "/t/teammates/a/work/hero.md",
			Forbidden: []string{placeState, placeConfig},
		},
		rules: map[string][]permissions.Rule{},
	}
}

// judgeRows answers each line of in, in order. Lines that cannot be read are answered ask, and are an error at the end.
func judgeRows(in io.Reader, out io.Writer) error {
	j := newRowJudge()
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	rows := 0
	for n := 1; ; n++ {
		line, err := readRow(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errLongRow) {
			return fmt.Errorf("standard input cannot be read: %w: check where it comes from", err)
		}
		if err == nil && len(line) == 0 {
			continue
		}
		rows++
		if err := e.Encode(j.answer(n, line, err)); err != nil {
			return err
		}
		if r.Buffered() == 0 { // whoever writes row by row waits for each answer
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if j.bad > 0 {
		return usage("%d of %d rows could not be read and were answered ask: %v", j.bad, rows, j.first)
	}
	return nil
}

var errLongRow = fmt.Errorf("it is longer than %d MiB: shorten it", maxRow>>20)

// readRow reads a line without its end, and without blanks around it. Of one that is too long nothing is kept.
func readRow(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long, any := false, false
	for {
		part, err := r.ReadSlice('\n')
		any = any || len(part) > 0
		if long = long || len(line)+len(part) > maxRow+1; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && any):
			return nil, err
		case long:
			return nil, errLongRow
		}
		return trimBlank(line), nil
	}
}

// trimBlank takes away what JSON has for blanks, and nothing else.
func trimBlank(line []byte) []byte {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	for len(line) > 0 && blank(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	for len(line) > 0 && blank(line[0]) {
		line = line[1:]
	}
	return line
}

func (j *rowJudge) answer(n int, line []byte, err error) checkAnswer {
	row := checkRow{id: json.RawMessage(`""`)}
	var d permissions.Decision
	if err == nil {
		row, err = parseRow(line)
	}
	if err == nil {
		d, err = j.decide(row)
	}
	if err != nil {
		err = fmt.Errorf("line %d: %w", n, err)
		if j.bad++; j.first == nil {
			j.first = err
		}
		return checkAnswer{row.id, permissions.Ask, plans.VisibleLine(err.Error())}
	}
	return checkAnswer{row.id, d.Verdict, plans.VisibleLine(d.Reason)}
}

func (j *rowJudge) decide(row checkRow) (permissions.Decision, error) {
	s := j.state
	s.Mode = row.mode
	for _, g := range row.grants {
		given, _ := asGranted(g, s.Tree, s.Now, nil)
		s.Grants = append(s.Grants, given)
	}
	for _, text := range row.rules {
		rules, err := j.rule(text)
		if err != nil {
			return permissions.Decision{}, fmt.Errorf("its rule %s: %w", shown(text), err)
		}
		s.Rules = append(s.Rules, rules...)
	}
	return j.engine.Decide(permissions.Call{Tool: "Bash", Command: row.command, Cwd: s.Tree}, s), nil
}

func (j *rowJudge) rule(text string) ([]permissions.Rule, error) {
	if rules, ok := j.rules[text]; ok {
		return rules, nil
	}
	rules, err := readRule(text)
	if policyfile.IsWarning(err) { // it is read, and does less than it seems
		err = nil
	}
	if err == nil && len(j.rules) < maxKept {
		j.rules[text] = rules
	}
	return rules, err
}
