package facts

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

const (
	maxPath  = 255 // bytes of a path
	maxDepth = 32  // slashes in it
)

// pathTokens lists what names a file in a line. In code spans, as the target of a link and as the subject of a list item
// a slash is enough; elsewhere, in prose and in fenced code, it takes a known file name, or a path that starts with
// `./`, `../`, `/` or `~/` or ends with a slash.
func pathTokens(line plans.Line) []string {
	var tokens []string
	keep := func(words []string, likely bool) {
		for _, w := range words {
			if w = trimToken(w); isPath(w, likely) {
				tokens = append(tokens, w)
			}
		}
	}
	if line.Code {
		keep(proseWords(foldBraces(diffHeader(line.Text))), false)
		return tokens
	}
	for _, span := range plans.CodeSpans(line.Text) {
		keep(strings.FieldsFunc(foldBraces(span), isSpanBreak), true)
	}
	keep(linkTargets(line.Text), true)
	keep(itemSubject(line), true)
	keep(proseWords(foldBraces(line.Text)), false)
	return tokens
}

// diffHeader takes the a/ and b/ off the file names of a difference.
func diffHeader(text string) string {
	for _, prefix := range []string{"--- a/", "+++ b/"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return rest
		}
	}
	return text
}

// foldBraces writes * for {a,b}: a choice is a pattern.
func foldBraces(s string) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(s, "{")
		inner, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			b.WriteString(s)
			return b.String()
		}
		if strings.Contains(inner, ",") {
			inner = "*"
		} else {
			inner = "{" + inner + "}"
		}
		b.WriteString(before + inner)
		s = after
	}
}

// isSpanBreak reports whether r ends a word of a command.
func isSpanBreak(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;|&=<>\"'", r) }

// proseWords splits text at everything that does not stand in ordinary file names, so that names are found in scripts
// that set no blanks around them. Tags are no words.
func proseWords(text string) []string {
	tokens := strings.FieldsFunc(text, func(r rune) bool {
		return r >= 0x80 || !isNameByte(byte(r)) && !strings.ContainsRune(`/\~$*{}<>`, r)
	})
	words := make([]string, 0, len(tokens))
	for _, t := range tokens {
		for t != "" {
			text, rest, closed := strings.Cut(t, ">")
			before, tag, _ := strings.Cut(text, "<")
			words = append(words, before)
			if !closed || !strings.HasPrefix(tag, "/") && !strings.HasSuffix(tag, "/") {
				words = append(words, tag)
			}
			t = rest
		}
	}
	return words
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-+@", c) >= 0
}

// linkTargets lists the targets of the links of one line.
func linkTargets(text string) []string {
	var targets []string
	for {
		_, rest, ok := strings.Cut(text, "](")
		if !ok {
			return targets
		}
		end := strings.IndexAny(rest, ") \t")
		if end < 0 {
			return append(targets, rest)
		}
		target, _, _ := strings.Cut(strings.Trim(rest[:end], "<>"), "#")
		targets, text = append(targets, target), rest[end:]
	}
}

// itemSubject is the first word of a list item that consists of it, or goes on with a colon or a dash.
func itemSubject(line plans.Line) []string {
	item, ok := line.Item()
	if !ok {
		return nil
	}
	word, more, _ := strings.Cut(strings.TrimSpace(item), " ")
	more = strings.TrimSpace(more)
	if more == "" || strings.HasSuffix(word, ":") || strings.ContainsRune("-:–—", []rune(more)[0]) {
		return []string{word}
	}
	return nil
}

// trimToken takes quotes, emphasis, punctuation and a line number off a word.
func trimToken(w string) string {
	w = strings.TrimLeft(w, "\"'`([<")
	w = strings.TrimPrefix(strings.TrimSuffix(w, "**"), "**")
	if !strings.HasSuffix(w, "/...") && w != ".." {
		w = strings.TrimRight(w, ".,;:!?\"'`)]>")
	}
	if name, rest, ok := strings.Cut(w, ":"); ok && len(name) > 1 && strings.Trim(rest, "0123456789:-") == "" {
		return name
	}
	return w
}

// isPath reports whether a word names a file or folder. A likely one has only to look like a path.
func isPath(w string, likely bool) bool {
	if w == "" || w[0] == '-' || strings.Contains(w, "://") || strings.HasPrefix(w, "//") || strings.HasPrefix(w, "/*") || !pathRunes(w) {
		return false
	}
	if isFileName(path.Base(strings.ReplaceAll(w, `\`, "/")), likely) {
		return true
	}
	switch first, rest, slash := strings.Cut(strings.ReplaceAll(w, `\`, "/"), "/"); {
	case !slash || strings.Trim(w, `0123456789/.\*`) == "":
		return likely && (w == ".." || w == "../" || w == "/")
	case first == "." || first == ".." || first == "~" || isVariable(first):
		return true
	case first == "": // absolute: in prose also an address of a web service
		root, _, deep := strings.Cut(rest, "/")
		return likely || deep && slices.Contains(rootFolders, root)
	case likely:
		return !strings.Contains(strings.TrimLeft(first, "."), ".") // else a module or an address
	default:
		return rest == "" && !strings.ContainsAny(w, `\{`)
	}
}

// isVariable reports whether a part of a path is a shell variable.
func isVariable(part string) bool {
	name, ok := strings.CutPrefix(part, "$")
	return ok && name != "" && (name[0] == '{' || name[0] == '_' || unicode.IsLetter(rune(name[0])))
}

// pathRunes reports whether w has only what stands in paths and patterns of them.
func pathRunes(w string) bool {
	for _, r := range w {
		if r < 0x80 && !isNameByte(byte(r)) && !strings.ContainsRune(`/\~$*?{}[]:#%`, r) || r >= 0x80 && !unicode.In(r, unicode.L, unicode.M, unicode.N) {
			return false
		}
	}
	return true
}

// isFileName reports whether base is the name of a file, by its ending or as a whole.
func isFileName(base string, likely bool) bool {
	lower := strings.ToLower(base)
	ext := path.Ext(lower)
	switch {
	case len(ext) > 1 && ext != lower && slices.Contains(endings, ext[1:]):
		return likely || !slices.Contains(notFiles, lower)
	case slices.Contains(wholeNames, lower):
		return true
	case strings.HasPrefix(lower, ".env."), slices.Contains(dotFiles, lower):
		return true
	case strings.HasPrefix(lower, "."):
		return slices.Contains(credentialNames, lower) || slices.Contains(permissions.ProtectedFiles(), lower)
	case likely:
		return slices.Contains(bareNames, base)
	default:
		return base == "Makefile" || base == "Dockerfile"
	}
}

// cleanPath is the path that a token names: slashes, no pattern, relative to root where it lies in it.
func cleanPath(token, root string) (string, bool) {
	p := strings.ReplaceAll(token, `\`, "/")
	p = strings.TrimSuffix(p, "/...")
	if i := strings.IndexAny(p, "*?{}["); i >= 0 && !strings.HasPrefix(p, "${") { // a pattern: the folder that it stays in
		p = p[:strings.LastIndex("/"+p[:i], "/")]
	} else if p == "." || p == "./" || token == "..." {
		return "", false // the whole tree: every plan's `go test ./...`
	}
	for _, home := range []string{"$HOME/", "${HOME}/", "%USERPROFILE%/"} {
		if rest, ok := strings.CutPrefix(p, home); ok {
			p = "~/" + rest
		}
	}
	if p = path.Clean(p); root != "" && path.IsAbs(p) {
		root = path.Clean(strings.ReplaceAll(root, `\`, "/"))
		if rest, ok := strings.CutPrefix(p, root+"/"); ok {
			p = rest
		}
	}
	return p, p != ""
}

// outside reports whether a clean path leads out of the tree, or may.
func outside(p string) bool {
	return path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$") ||
		len(p) > 1 && p[1] == ':'
}

var (
	endings = strings.Fields(`
		go md markdown txt rst adoc js jsx ts tsx mjs cjs json jsonc json5 yaml yml toml xml html htm css scss less vue svelte
		py pyi ipynb rb rs c h cc cpp cxx hpp cs java kt kts gradle groovy scala swift mm php pl lua sh bash zsh fish ps1 bat cmd sql proto
		graphql tf tfvars hcl ini cfg conf csv tsv svg png jpg jpeg gif ico pdf tmpl tpl mk cmake ex exs erl ml
		clj dart zig nix pem crt cer jsonl bzl bazel sln csproj sqlite txtar`)
	wholeNames = strings.Fields(`go.mod go.sum go.work yarn.lock cargo.lock poetry.lock gemfile.lock composer.lock uv.lock flake.lock
		jenkinsfile id_rsa id_ed25519`)
	notFiles    = strings.Fields(`node.js next.js vue.js react.js nuxt.js express.js three.js d3.js nest.js chart.js socket.io`)
	dotFiles    = strings.Fields(`.env .gitignore .dockerignore .editorconfig .eslintrc .prettierrc .babelrc .nvmrc .gitkeep`)
	bareNames   = strings.Fields(`Makefile Dockerfile Gemfile Rakefile Procfile Vagrantfile Justfile justfile README LICENSE CHANGELOG NOTICE AUTHORS CONTRIBUTING CODEOWNERS Containerfile`)
	rootFolders = strings.Fields(`etc usr var home root tmp opt bin sbin lib lib64 boot dev proc sys run mnt media srv Users Library System Applications private Volumes`)
)
