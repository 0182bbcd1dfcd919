package schema

import (
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Reach is what a path in an argument is used for.
type Reach uint8

// What a program does with a path.
const (
	Content Reach = iota // reads it, and what is below it
	Meta                 // reads its name and properties
	Package              // a Go package pattern: builds or lists what is there
	Rev                  // a git revision or a path
	File                 // reads its content, and must not be a folder: the program would follow links in it
	Write                // writes a file there
	Run                  // is the program itself
	Select               // a pattern of the names of files whose content is read
)

// Path is a path among the arguments, to be judged by whoever knows the working tree.
type Path struct {
	Word  shellcmd.Word
	Text  string // the path in the word: the value of a flag, or the folder of a package pattern
	Reach Reach
}

var plainKinds = map[string]func(string) bool{
	"int":      func(s string) bool { return len(s) <= 9 && all(s, digit) },
	"count":    isCount,
	"word":     func(s string) bool { return all(s, wordChar) && s[0] != '-' },
	"text":     func(string) bool { return true },
	"show":     func(string) bool { return true },
	"duration": isDuration,
	"pretty":   isPretty,
	"ref":      func(s string) bool { return !strings.Contains(s, "signature") },
	"plus":     func(s string) bool { return s[0] == '+' },
	"symbol":   isSymbol,
	"printf":   isPrintf,
	"sed":      isSed,
	"awk":      isAwk,
	"jq":       isJQ,
	"label":    isLabel,
	"branch":   isBranch,
	"commit":   isCommit,
	"triple": func(s string) bool {
		return all(s, func(c byte) bool { return digit(c) || letter(c) || c == '_' || c == '-' }) && s[0] != '-'
	},
	"npm":      func(s string) bool { return len(s) <= 214 && npmPackage.MatchString(s) && !isArchive(s) },
	"pypi":     func(s string) bool { return len(s) <= 214 && pypiPackage.MatchString(s) && !isArchive(s) },
	"module":   func(s string) bool { return goModule.MatchString(s) && !strings.Contains(s, "..") },
	"composer": composerPackage.MatchString,
	"scope":    isScope,
	"target":   kubeTarget,
	"repo":     repository.MatchString,
	"endpoint": func(s string) bool {
		return endpoint.MatchString(s) && !strings.Contains(s, "..") && !strings.HasPrefix(s, "graphql")
	},
	"kustom":   isKustom,
	"image":    image.MatchString,
	"sbttest":  sbtTest.MatchString,
	"setting":  func(s string) bool { return setting.MatchString(s) },
	"ldflags":  ldflags.MatchString,
	"cmakevar": cmakeVar.MatchString,
	"listen":   listen.MatchString,
	"warning":  isWarning,
	"pushed":   isPushed,
	"runtime":  isRuntime,
	"profile":  func(s string) bool { return all(s, wordChar) && s[0] != '-' && !namesEffect(s) },
	"perm":     permission.MatchString,
	"awkvar":   awkAssign.MatchString,
	"gitkey":   isGitKey,
	"inspect":  inspected.MatchString,
	"accept":   accepted.MatchString,
}

var pathKinds = map[string]Reach{"path": Content, "meta": Meta, "package": Package, "rev": Rev, "file": File, "select": Select, "nodeid": Content, "line": Content, "out": Write, "outdir": Write, "report": Write, "binary": Write, "makes": Write, "dir": Content, "context": Content, "made": Content, "aim": Content, "suite": Content, "input": Content, "compose": Content, "named": Content, "yq": Content, "listed": Package}

// known reports whether kind is a kind of the package comment.
func known(kind string) bool {
	if _, ok := pathKinds[kind]; ok {
		return true
	}
	if _, ok := plainKinds[kind]; ok {
		return true
	}
	return strings.ContainsAny(kind, "|~,")
}

// fits reports whether a value without reach is of its kind.
func fits(kind, s string) bool {
	if f, ok := plainKinds[kind]; ok {
		return (s != "" || kind == "text" || kind == "show" || kind == "pretty") && f(s)
	}
	return isOneOf(kind, s)
}

// isOneOf reads a list of words, each of which may end with a * that stands for letters, digits and -_.:; a comma before
// the list allows several with commas between them, a ~ a project of Gradle before each.
func isOneOf(kind, s string) bool {
	if list, ok := strings.CutPrefix(kind, ","); ok {
		for part := range strings.SplitSeq(s, ",") {
			if !isOneOf(list, part) {
				return false
			}
		}
		return true
	}
	if list, ok := strings.CutPrefix(kind, "~"); ok {
		i := strings.LastIndexByte(s, ':')
		return isOneOf(list, s[i+1:]) && (i < 0 || all(s[:i+1], func(c byte) bool { return c == ':' || nameChar(c) }))
	}
	for k := range strings.SplitSeq(kind, "|") {
		begin, open := strings.CutSuffix(k, "*")
		if k == s && s != "" || open && begin != "" && strings.HasPrefix(s, begin) && (s == begin || all(s[len(begin):], nameChar)) {
			return true
		}
	}
	return false
}

func nameChar(c byte) bool { return digit(c) || letter(c) || strings.IndexByte("-_.", c) >= 0 }

func all(s string, f func(byte) bool) bool {
	for i := range len(s) {
		if !f(s[i]) {
			return false
		}
	}
	return s != ""
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func wordChar(c byte) bool { return digit(c) || letter(c) || strings.IndexByte("_.,:+-%@=", c) >= 0 }

// isCount is a number with a sign and a unit, as head and tail take it.
func isCount(s string) bool {
	s = strings.TrimLeft(s, "+-")
	n := len(s)
	for n > 0 && letter(s[n-1]) {
		n--
	}
	return n > 0 && n <= 12 && len(s)-n <= 3 && all(s[:n], digit)
}

func isDuration(s string) bool {
	return len(s) <= 16 && digit(s[0]) && all(s, func(c byte) bool { return digit(c) || strings.IndexByte(".hmsnud", c) >= 0 })
}

// isPretty is a format of git log that git prints by itself: %G… would start gpg, and other names come from the
// configuration.
func isPretty(s string) bool {
	for _, p := range []string{"format:", "tformat:"} {
		if f, ok := strings.CutPrefix(s, p); ok {
			return plainFormat(f)
		}
	}
	switch s {
	case "oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd":
		return true
	}
	return s == "" || strings.Contains(s, "%") && plainFormat(s)
}

func plainFormat(f string) bool {
	return !strings.Contains(f, "%G") && !strings.Contains(f, "%+G") && !strings.Contains(f, "%-G") && !strings.Contains(f, "% G")
}

// packageDir is the folder of a Go package pattern, and whether the pattern is a path at all: import paths reach other
// modules.
func packageDir(s string) (string, bool) {
	if strings.ContainsAny(s, ",@ \t\n") {
		return "", false
	}
	dir, rest, _ := strings.Cut(s, "...")
	switch {
	case strings.HasPrefix(rest, "..") || strings.Contains(rest, "/.."): // go cleans the pattern first: ./.../../x is ../x
		return "", false
	case s == "." || s == "..", strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, "/"):
		return dir, true
	case strings.HasSuffix(s, ".go") && s[0] != '-':
		return s, true
	}
	return "", false
}
