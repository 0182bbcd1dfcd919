package plans

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrOptions means that the approaches a plan offers cannot be put before a leader.
var ErrOptions = errors.New("plans: the options cannot be used")

// MaxOptions is how many approaches a plan may offer.
const MaxOptions = 3

const (
	maxLabel       = 80
	maxDescription = 500
)

// reservedLabels are the words of the answer itself, in the clients that teammates come from.
var reservedLabels = []string{"approve", "reject", "reject and exit", "revise", "other"}

// LabelRules is what differs between the clients that plans come from. The zero LabelRules is the strict one.
type LabelRules struct {
	// Max is how many approaches there may be. 0, and more than [MaxOptions], is MaxOptions.
	Max int
	// CaseSensitive has labels that differ only in their case be two. The words of the answer are reserved in any case.
	CaseSensitive bool
}

// CheckOptions reports whether a plan may offer these approaches, by the strict rules: see [LabelRules.Check].
func CheckOptions(options []Option) error { return LabelRules{}.Check(options) }

// Check reports whether a plan may offer these approaches: none, or up to three (one is as good as none); labels of 1 to 80
// characters in one line, without hidden ones or blanks around, different from each other and from the words of the
// answer, whatever their case; at most one recommended; descriptions of at most 500 characters. Errors are [ErrOptions].
func (r LabelRules) Check(options []Option) error {
	most := MaxOptions
	if r.Max > 0 {
		most = min(r.Max, most)
	}
	if n := len(options); n > most {
		return fmt.Errorf("%w: %d given: offer none, or two to %d", ErrOptions, n, most)
	}
	recommended := 0
	for i, o := range options {
		if err := checkLabel(o.Label); err != nil {
			return err
		}
		if slices.ContainsFunc(options[:i], func(other Option) bool { return r.same(o.Label, other.Label) }) {
			return fmt.Errorf("%w: label %q is there twice: give each approach its own", ErrOptions, Visible(o.Label))
		}
		if n := utf8.RuneCountInString(o.Description); n > maxDescription {
			return fmt.Errorf("%w: the description of %q has %d characters, at most %d: say the rest in the plan", ErrOptions, Visible(o.Label), n, maxDescription)
		}
		if o.Recommended {
			recommended++
		}
	}
	if recommended > 1 {
		return fmt.Errorf("%w: %d are recommended: recommend one, or none", ErrOptions, recommended)
	}
	return nil
}

func (r LabelRules) same(a, b string) bool {
	return a == b || !r.CaseSensitive && strings.EqualFold(a, b)
}

func checkLabel(label string) error {
	shown := Cut(Visible(label), maxLabel)
	switch n := utf8.RuneCountInString(label); {
	case strings.TrimSpace(label) == "":
		return fmt.Errorf("%w: a label is blank: name the approach", ErrOptions)
	case n > maxLabel:
		return fmt.Errorf("%w: label %q has %d characters, at most %d: shorten it", ErrOptions, shown, n, maxLabel)
	case Visible(label) != label:
		return fmt.Errorf("%w: label %q has characters that cannot be seen: write it in one line without them", ErrOptions, shown)
	case strings.TrimSpace(label) != label:
		return fmt.Errorf("%w: label %q has blanks around it: leave them out", ErrOptions, shown)
	}
	for _, word := range reservedLabels {
		if strings.EqualFold(label, word) {
			return fmt.Errorf("%w: label %q is a word of the answer (%s): choose another", ErrOptions, shown, strings.Join(reservedLabels, ", "))
		}
	}
	return nil
}

// Labels lists the labels of options, for an error that asks to choose: each in quotes, in order.
func Labels(options []Option) string {
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = fmt.Sprintf("%q", VisibleLine(o.Label))
	}
	return strings.Join(quoted, ", ")
}
