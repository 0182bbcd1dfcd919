package plans

import "strings"

// Markup is a Markdown construct that a rendered view drops or shows as something else: text that would be approved
// without being seen, if the decision view did not show source lines.
type Markup struct {
	Line int
	Kind string // one of the Markup constants
	Text string // the line, trimmed and cut; the author's text
}

// The kinds of [Markup].
const (
	MarkupComment   = "HTML comment"
	MarkupReference = "reference definition" // [label]: target, also [//]: # (text)
	MarkupHTML      = "raw HTML"
	MarkupImage     = "image"
	MarkupTitle     = "link title"
	MarkupEntity    = "character reference"
)

const (
	// MaxMarkup is how many constructs [HiddenMarkup] lists at most.
	MaxMarkup     = 1000
	maxMarkupText = 120
)

// HiddenMarkup lists the first [MaxMarkup] constructs of content that a Markdown renderer would not show, one of a
// kind a line. Fenced code and code spans are left out, where every reader takes them for code: what only looks like
// code is listed. It may list too much, in text that merely resembles a construct; in a plan that has one it lists
// at least one.
func HiddenMarkup(content []byte) []Markup {
	m := markupScan{code: fence{strict: true}}
	for n, line := range numbered(content) {
		if m.step(n, line); len(m.found) >= MaxMarkup {
			return m.found[:MaxMarkup]
		}
	}
	m.flush()
	return m.found[:min(len(m.found), MaxMarkup)]
}

// markupScan collects the lines of a paragraph, because a code span may reach over several of them.
type markupScan struct {
	code      fence
	comment   bool // inside <!-- -->, where a fence is none
	block     bool // inside an HTML block, which ends with a blank line
	paragraph []numberedLine
	found     []Markup
}

type numberedLine struct {
	number int
	text   string
}

func (m *markupScan) step(n int, line string) {
	blank := strings.TrimSpace(line) == ""
	if blank {
		m.block = false
	}
	if !m.comment && !m.block && m.code.step(line) || blank {
		m.flush()
		return
	}
	m.paragraph = append(m.paragraph, numberedLine{n, line})
	m.follow(line)
}

// follow keeps track of the comments and blocks in which a fence would be part of the HTML.
func (m *markupScan) follow(line string) {
	if _, balanced := codeSpans(line); balanced {
		line = maskCode(line)
	}
	open := strings.LastIndex(line, "<!--")
	m.comment = m.comment || open >= 0
	if strings.Contains(line[max(0, open):], "-->") {
		m.comment = false
	}
	if bare := unlisted(line); strings.HasPrefix(bare, "<") && startsTag(bare) {
		m.block = true
	}
}

// flush looks at the paragraph that ended. Its code spans are believed only if each line has its own.
func (m *markupScan) flush() {
	spans := true
	for _, l := range m.paragraph {
		if _, balanced := codeSpans(l.text); !balanced {
			spans = false
		}
	}
	label := false // a reference label may reach over lines
	for _, l := range m.paragraph {
		text := l.text
		if spans {
			text = maskCode(text)
		}
		for _, kind := range inlineMarkup(text) {
			m.add(l, kind)
		}
		// A definition is a block: it comes before the code spans of its line.
		bare, opens := strings.CutPrefix(unlisted(l.text), "[")
		if !opens && !label {
			continue
		}
		end := labelEnd(bare)
		if end >= 0 && strings.HasPrefix(bare[end:], "]:") {
			m.add(l, MarkupReference)
		}
		label = end < 0
	}
	m.paragraph = m.paragraph[:0]
}

// labelEnd is where the bracket stands that ends a reference label, or -1.
func labelEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ']':
			return i
		}
	}
	return -1
}

func (m *markupScan) add(l numberedLine, kind string) {
	m.found = append(m.found, Markup{Line: l.number, Kind: kind, Text: Shorten(oneLine(l.text), maxMarkupText)})
}

// inlineMarkup lists the kinds that a line without its code spans has, each once.
func inlineMarkup(text string) (kinds []string) {
	if strings.Contains(text, "<!--") {
		kinds = append(kinds, MarkupComment)
	}
	if hasTag(text) {
		kinds = append(kinds, MarkupHTML)
	}
	if strings.Contains(text, "![") {
		kinds = append(kinds, MarkupImage)
	}
	if hasLinkTitle(text) {
		kinds = append(kinds, MarkupTitle)
	}
	if hasEntity(text) {
		kinds = append(kinds, MarkupEntity)
	}
	return kinds
}

// hasTag reports whether text has what a reader could take for HTML other than a comment.
func hasTag(text string) bool {
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			return false
		}
		text = text[i:]
		if startsTag(text) {
			return true
		}
		text = text[1:]
	}
}

// startsTag reports whether s, which begins with `<`, begins a tag, a declaration or an instruction: not a comment, not
// an address in angle brackets, and not a lone less-than sign.
func startsTag(s string) bool {
	rest := s[1:]
	if strings.HasPrefix(rest, "!--") {
		return false
	}
	if strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "?") {
		return true
	}
	name := strings.TrimPrefix(rest, "/")
	end := 0
	for end < len(name) && (isLetter(name[end]) || end > 0 && (name[end] >= '0' && name[end] <= '9' || name[end] == '-')) {
		end++
	}
	if end == 0 {
		return false
	}
	return end == len(name) || strings.IndexByte(" \t/>", name[end]) >= 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// hasLinkTitle reports whether a link of text has a second part after its target.
func hasLinkTitle(text string) bool {
	const outside, target, blank = 0, 1, 2
	at := outside
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '(' && i > 0 && text[i-1] == ']':
			at = target
		case at == blank && (c == '"' || c == '\'' || c == '('):
			return true
		case at != outside && (c == ' ' || c == '\t'):
			at = blank
		case at == blank || c == ')':
			at = outside
		}
	}
	return false
}

// hasEntity reports whether text has a character reference (&#8203; or &name;) other than those of markup itself.
func hasEntity(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, "&")
		if !ok {
			return false
		}
		text = rest
		name, _, ok := strings.Cut(rest[:min(len(rest), 33)], ";")
		if !ok {
			continue
		}
		switch name {
		case "", "amp", "lt", "gt", "quot":
			continue
		}
		if len(name) > 1 && strings.Trim(name, "#0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return true
		}
	}
}
