package teammatetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Script says what the model says. The zero script answers every request with an error of the provider's kind.
type Script struct {
	Actors []Actor `json:"actors"`
}

// An Actor plays the requests that it matches.
type Actor struct {
	Name  string `json:"name"`
	Match Match  `json:"match"`
	// Capture fills variables: the last match of each pattern's first group in all of the request's text.
	Capture map[string]string `json:"capture,omitempty"`
	// Steps are its turns in order. After the last one the last one comes again, without its calls.
	Steps []Step `json:"steps"`
}

// A Match holds when all that it names holds. An empty one always does.
type Match struct {
	Has    []string `json:"has,omitempty"`    // tools that are offered
	Lacks  []string `json:"lacks,omitempty"`  // tools that are not
	System string   `json:"system,omitempty"` // text in the system prompt
	First  string   `json:"first,omitempty"`  // text in the first message of the user
}

// A Step is one turn of the model.
type Step struct {
	Say  string `json:"say,omitempty"`
	Call []Call `json:"call,omitempty"`
	// Expect are patterns, each of which must match what came since the model's last turn.
	Expect []string `json:"expect,omitempty"`
	// Lacks are patterns, none of which may match that.
	Lacks []string `json:"lacks,omitempty"`
}

// A Call is one use of a tool.
type Call struct {
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input,omitempty"`
}

// A Request is what a client asked the model, whatever the provider's form.
type Request struct {
	Protocol string // anthropic, gemini or responses
	Model    string
	System   string
	Tools    []string
	Turns    []Turn
	stream   bool
}

// A Turn is one message, or what belongs together of several.
type Turn struct {
	Assistant bool
	Text      string   // what was said; results of tools too, when it is not the assistant's
	Calls     []Call   // the assistant's
	Results   []Result // of tools
}

// A Result is what a tool gave back.
type Result struct {
	ID      string
	Text    string
	IsError bool
}

// Step is the number of the assistant's turns, which is the step that comes next.
func (r Request) Step() int {
	n := 0
	for _, t := range r.Turns {
		if t.Assistant {
			n++
		}
	}
	return n
}

// Since is all text after the assistant's last turn.
func (r Request) Since() string {
	from := 0
	for i, t := range r.Turns {
		if t.Assistant {
			from = i + 1
		}
	}
	return text(r.Turns[from:])
}

// Text is all text of the request: the system prompt, then what was said and what tools gave back.
func (r Request) Text() string { return r.System + "\n" + text(r.Turns) }

// First is what the user said first.
func (r Request) First() string {
	for _, t := range r.Turns {
		if !t.Assistant {
			return t.Text
		}
	}
	return ""
}

func text(turns []Turn) string {
	var b strings.Builder
	add := func(s string) {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	for _, t := range turns {
		add(t.Text)
		for _, r := range t.Results {
			add(r.Text)
		}
	}
	return b.String()
}

func (m Match) holds(r Request) bool {
	offered := func(tool string) bool { return slices.Contains(r.Tools, tool) }
	for _, tool := range m.Has {
		if !offered(tool) {
			return false
		}
	}
	return !slices.ContainsFunc(m.Lacks, offered) && strings.Contains(r.System, m.System) && strings.Contains(r.First(), m.First)
}

// play finds the step for a request, with its variables filled, and what was expected and is not so.
func (s Script) play(r Request) (name string, step Step, problems []string, err error) {
	for _, a := range s.Actors {
		if !a.Match.holds(r) {
			continue
		}
		step, problems, err = a.play(r)
		return a.Name, step, problems, err
	}
	return "", Step{}, nil, fmt.Errorf("no actor for the request %q with the tools %s", r.First(), strings.Join(r.Tools, " "))
}

func (a Actor) play(r Request) (Step, []string, error) {
	if len(a.Steps) == 0 {
		return Step{}, nil, fmt.Errorf("actor %s has no steps", a.Name)
	}
	n := r.Step()
	step := a.Steps[min(n, len(a.Steps)-1)]
	if n >= len(a.Steps) {
		step = Step{Say: step.Say}
	}
	vars, err := a.variables(r)
	if err != nil {
		return Step{}, nil, err
	}
	since := r.Since()
	var problems []string
	check := func(patterns []string, want bool) {
		for _, p := range patterns {
			re, e := regexp.Compile(vars.fillPattern(p))
			switch {
			case e != nil:
				err = e
			case re.MatchString(since) != want:
				problems = append(problems, fmt.Sprintf("actor %s, step %d: match of %q is %v in %q", a.Name, n, p, !want, since))
			}
		}
	}
	check(step.Expect, true)
	check(step.Lacks, false)
	if err != nil {
		return Step{}, nil, fmt.Errorf("actor %s, step %d: %w", a.Name, n, err)
	}
	filled, err := vars.fillStep(step)
	if err != nil {
		return Step{}, nil, fmt.Errorf("actor %s, step %d: %w", a.Name, n, err)
	}
	return filled, problems, nil
}

type variables map[string]string

func (a Actor) variables(r Request) (variables, error) {
	vars := variables{}
	all := r.Text()
	for name, pattern := range a.Capture {
		re, err := regexp.Compile(pattern)
		if err != nil || re.NumSubexp() < 1 {
			return nil, fmt.Errorf("capture %s: %q is no pattern with a group", name, pattern)
		}
		if found := re.FindAllStringSubmatch(all, -1); len(found) > 0 {
			vars[name] = found[len(found)-1][1]
		}
	}
	return vars, nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z]+)\}`)

// fill puts in the variables, each written as by how. A name that nothing filled stays as it is written.
func (v variables) fill(s string, how func(string) string) string {
	return variable.ReplaceAllStringFunc(s, func(m string) string {
		if value, ok := v[m[2:len(m)-1]]; ok {
			return how(value)
		}
		return m
	})
}

func (v variables) fillPattern(s string) string { return v.fill(s, regexp.QuoteMeta) }

func (v variables) fillStep(s Step) (Step, error) {
	s.Say = v.fill(s.Say, func(x string) string { return x })
	calls := make([]Call, 0, len(s.Call))
	for _, c := range s.Call {
		data, err := json.Marshal(c)
		if err != nil {
			return Step{}, err
		}
		quoted := v.fill(string(data), func(x string) string {
			q, _ := json.Marshal(x) // a string can be written
			return string(q[1 : len(q)-1])
		})
		var filled Call
		if err := json.Unmarshal([]byte(quoted), &filled); err != nil {
			return Step{}, err
		}
		if filled.Input == nil {
			filled.Input = map[string]any{}
		}
		calls = append(calls, filled)
	}
	s.Call = calls
	return s, nil
}
