package execute

import (
	"bytes"
	"errors"
	"fmt"
)

// gitVar is one variable of a git configuration. Its key is section.name or section.subsection.name, with section and
// name in lower case; the subsection is as it is written.
type gitVar struct{ key, value string }

// errGitEnd is how the parser leaves at the end of the text.
var errGitEnd = errors.New("end")

// gitParser reads a configuration as git does (config.c), byte by byte.
type gitParser struct {
	rest    []byte
	line    int
	section string // with its dot at the end
	vars    []gitVar
}

// parseGitConfig reads a configuration file. What git would refuse is an error, and so is a NUL byte, at which git may
// stop reading.
func parseGitConfig(data []byte) ([]gitVar, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := gitParser{rest: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), line: 1}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("a NUL byte: look at the file")
	}
	for {
		if err := p.item(); errors.Is(err, errGitEnd) {
			return p.vars, nil
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w: look at the file", p.line, err)
		}
	}
}

// next takes one byte; at the end it is a newline, as for git.
func (p *gitParser) next() byte {
	if len(p.rest) == 0 {
		return '\n'
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\n' {
		p.line++
	}
	return c
}

// item reads a section's head, a variable, a comment or a blank.
func (p *gitParser) item() error {
	if len(p.rest) == 0 {
		return errGitEnd
	}
	switch c := p.next(); {
	case isGitSpace(c):
		return nil
	case c == '#' || c == ';':
		p.skipLine()
		return nil
	case c == '[':
		return p.head()
	case isAlpha(c):
		return p.variable(c)
	}
	return errors.New("neither a section nor a variable")
}

func (p *gitParser) skipLine() {
	for len(p.rest) > 0 && p.next() != '\n' {
	}
}

// head reads [section], [section.sub] or [section "sub"].
func (p *gitParser) head() error {
	var name []byte
	for {
		switch c := p.next(); {
		case c == ']':
			p.section = string(name) + "."
			return nil
		case c == '\n':
			return errors.New("a section that does not end")
		case isGitSpace(c):
			return p.subsection(name)
		case isKeyChar(c) || c == '.':
			name = append(name, lower(c))
		default:
			return errors.New("a section with a strange name")
		}
	}
}

// subsection reads the quoted part of a section's head, to its bracket.
func (p *gitParser) subsection(name []byte) error {
	c := p.next()
	for c != '\n' && isGitSpace(c) {
		c = p.next()
	}
	if c != '"' {
		return errors.New("a subsection without quotes")
	}
	name = append(name, '.')
	for {
		switch c = p.next(); c {
		case '\n':
			return errors.New("a subsection that does not end")
		case '"':
			if p.next() != ']' {
				return errors.New("a section that does not end")
			}
			p.section = string(name) + "."
			return nil
		case '\\':
			if c = p.next(); c == '\n' {
				return errors.New("a subsection that does not end")
			}
		}
		name = append(name, c)
	}
}

// variable reads a name, and its value when there is one.
func (p *gitParser) variable(first byte) error {
	name := []byte{lower(first)}
	c := p.next()
	for ; isKeyChar(c); c = p.next() {
		name = append(name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	if p.section == "" {
		return errors.New("a variable outside of any section")
	}
	v := gitVar{key: p.section + string(name), value: "true"}
	if c != '\n' {
		if c != '=' {
			return errors.New("a variable with a strange name")
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		v.value = value
	}
	p.vars = append(p.vars, v)
	return nil
}

// value reads to the end of the line, with quotes, escapes, comments and continued lines.
func (p *gitParser) value() (string, error) {
	var value []byte
	quoted, trim := false, 0 // trim: the length without unquoted blanks at the end
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a value whose quotes do not end")
		case c == '\n':
			return string(value[:trim]), nil
		case !quoted && isGitSpace(c):
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return string(value[:trim]), nil
		case c == '"':
			quoted = !quoted
			trim = len(value)
			continue
		case c == '\\':
			esc, err := p.escape()
			if err != nil {
				return "", err
			}
			if esc == 0 { // a continued line
				continue
			}
			c = esc
		}
		value = append(value, c)
		trim = len(value)
	}
}

// escape reads what follows a backslash. A newline is nothing.
func (p *gitParser) escape() (byte, error) {
	switch c := p.next(); c {
	case '\n':
		return 0, nil
	case 't':
		return '\t', nil
	case 'b':
		return '\b', nil
	case 'n':
		return '\n', nil
	case '\\', '"':
		return c, nil
	}
	return 0, errors.New("an unknown escape")
}

func isGitSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool    { return 'a' <= lower(c) && lower(c) <= 'z' }
func isKeyChar(c byte) bool  { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
