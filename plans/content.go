package plans

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// What makes bytes no plan. [Check] wraps them in a [*ContentError].
var (
	ErrEmpty    = errors.New("plans: the plan is empty")
	ErrNotUTF8  = errors.New("plans: the plan is not UTF-8 text")
	ErrTooLarge = errors.New("plans: the plan is too large")
)

// ContentError says what is wrong with the bytes of a plan, in one line that ends with what to do next.
type ContentError struct {
	Name   string // the plan's file name; "" says "the plan"
	Reason error  // [ErrEmpty], [ErrNotUTF8] or [ErrTooLarge]
	Bytes  int    // size of the content; for [ErrTooLarge] at least this many
	Offset int    // first byte that is not text, for [ErrNotUTF8]
	Byte   byte   // that byte
}

// Error is the line for the agent.
func (e *ContentError) Error() string {
	subject := "the plan"
	if e.Name != "" {
		subject = fmt.Sprintf("plan %q", e.Name)
	}
	switch e.Reason {
	case ErrEmpty:
		return subject + " is empty: write the plan, then submit again"
	case ErrTooLarge:
		return fmt.Sprintf("%s is too large (%d bytes or more, at most %d): shorten it, then submit again", subject, e.Bytes, MaxBytes)
	default:
		return fmt.Sprintf("%s is not UTF-8 text (byte %02X at offset %d of %d): save it as UTF-8, then submit again", subject, e.Byte, e.Offset, e.Bytes)
	}
}

// Unwrap gives the reason, for errors.Is.
func (e *ContentError) Unwrap() error { return e.Reason }

// Check reports whether content can be a plan: at most [MaxBytes] of UTF-8 without NUL, in which something can be
// seen. Blanks, a byte order mark and invisible characters alone are empty. Errors are [*ContentError].
func Check(content []byte) error {
	if len(content) > MaxBytes {
		return &ContentError{Reason: ErrTooLarge, Bytes: len(content)}
	}
	if i := notText(content); i >= 0 {
		return &ContentError{Reason: ErrNotUTF8, Bytes: len(content), Offset: i, Byte: content[i]}
	}
	for _, r := range string(content) {
		if !unicode.IsSpace(r) && !invisible(r) {
			return nil
		}
	}
	return &ContentError{Reason: ErrEmpty, Bytes: len(content)}
}

// notText is the offset of the first byte that is NUL or no UTF-8, or -1. NUL is what UTF-16 looks like from here.
func notText(content []byte) int {
	nul := bytes.IndexByte(content, 0)
	for i := 0; i < len(content); {
		if i == nul {
			return i
		}
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// New is the plan that content makes. It does not call [Check].
func New(name, path string, content []byte) Plan {
	return Plan{Name: name, Path: path, Content: content, Bytes: len(content), Digest: Digest(content)}
}

// Ref is the plan without its bytes.
func (p Plan) Ref() Ref {
	return Ref{Name: p.Name, Path: p.Path, Bytes: p.Bytes, Digest: p.Digest, Title: Title(p.Content)}
}

// Digest is the lower-case hex SHA-256 of content alone: the key into a plan store. What a leader decides on is
// another digest, planmode.Digest, which covers more.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
