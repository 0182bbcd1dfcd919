package schema

import "strings"

// Small languages, each only as far as every parser of it reads the same and nothing in it writes, runs or loads.

// isSymbol is what go doc takes: a package of this module, of those it needs or of the standard library, and a name
// in it. With an @ it would be another version.
func isSymbol(s string) bool {
	return s[0] != '/' && !strings.Contains(s, "..") && all(s, func(c byte) bool { return c == '/' || c != '@' && wordChar(c) }) && s[0] != '-'
}

// isPrintf is a format of bash's printf without %n, which sets a variable.
func isPrintf(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		for i++; i < len(s) && strings.IndexByte("-+ #0123456789.", s[i]) >= 0; i++ {
		}
		if i == len(s) || strings.IndexByte("%sbqdiuoxXfFeEgGc", s[i]) < 0 {
			return false
		}
	}
	return true
}

// isJQ is a filter that loads no module and no data from elsewhere. A comment or a string may say those words: it asks.
func isJQ(s string) bool {
	for _, w := range []string{"import", "include", "modulemeta"} {
		if strings.Contains(s, w) {
			return false
		}
	}
	return true
}
