package facts

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// hidden lists what a reader would not see.
func (c *collector) hidden(content []byte) {
	all := plans.Hidden(content)
	for len(all) > 0 {
		line := all[0].Line
		n := slices.IndexFunc(all, func(h plans.HiddenChar) bool { return h.Line != line })
		if n < 0 {
			n = len(all)
		}
		c.add(plans.Fact{
			Rule: RuleHiddenCharacters, Line: line, Value: all[0].Name,
			Text: plural(n, "hidden character", "hidden characters") + ": " + names(all[:n]),
		})
		all = all[n:]
	}
	for _, m := range plans.HiddenMarkup(content) {
		c.add(plans.Fact{Rule: RuleHiddenMarkdown, Line: m.Line, Value: m.Kind, Text: m.Kind + ": " + m.Text})
	}
	if n := bytes.Count(content, []byte("\r\n")); n > 0 {
		c.add(plans.Fact{Rule: RuleLineEnds, Value: "crlf", Text: plural(n, "line ends", "lines end") + " with CR LF"})
	}
}

// names lists the first few kinds of hidden characters.
func names(list []plans.HiddenChar) string {
	var kinds []string
	for _, h := range list {
		if slices.Contains(kinds, h.Name) {
			continue
		}
		if len(kinds) == 4 {
			return strings.Join(kinds, ", ") + ", ..."
		}
		kinds = append(kinds, h.Name)
	}
	return strings.Join(kinds, ", ")
}

// prompts lists what is asked for, as it was understood.
func (c *collector) prompts(list []permissions.Prompt) {
	var classes []permissions.Class
	for _, p := range list {
		if p.Intent == "" {
			c.add(plans.Fact{Rule: RuleUnknownPrompt, Value: p.Prompt, Text: fmt.Sprintf("prompt not recognised: %q (grants nothing by itself)", plans.Shorten(p.Prompt, maxText))})
			continue
		}
		c.add(plans.Fact{Rule: RuleIntent, Value: p.Intent, Text: fmt.Sprintf("asks to %s: %s", p.Intent, plans.Shorten(strings.Join(p.Examples, " | "), maxText))})
		for _, class := range p.Classes {
			if !slices.Contains(classes, class) {
				classes = append(classes, class)
				c.add(plans.Fact{Rule: RuleClass, Value: string(class), Text: p.Intent + ": " + string(class)})
			}
		}
	}
}

// lines looks at each line for files and commands.
func (c *collector) lines(content []byte, tree Tree) {
	for line := range plans.Lines(content) {
		c.commands(line)
		for _, token := range pathTokens(line) {
			c.file(line.Number, token, tree)
		}
	}
}

// file lists a file that is named for the first time, and what is special about it.
func (c *collector) file(line int, token string, tree Tree) {
	p, ok := cleanPath(token, tree.Root)
	switch {
	case !ok || c.files[p]:
	case len(p) > maxPath || strings.Count(p, "/") > maxDepth:
		c.add(plans.Fact{Rule: RuleOddPath, Line: line, Text: fmt.Sprintf("a path of %d bytes", len(p))})
	default:
		if c.files == nil {
			c.files = map[string]bool{}
		}
		c.files[p] = true
		c.add(plans.Fact{Rule: RuleFilesNamed, Line: line, Value: p, Text: "names " + plans.Shorten(p, maxText)})
		c.place(p, line)
		c.linked(line, p, tree)
	}
}

// linked lists the file that another one leads to: what is said about it counts for the name too.
func (c *collector) linked(line int, p string, tree Tree) {
	if tree.Linked == nil || outside(p) || c.count[RuleFilesNamed] > MaxFiles {
		return
	}
	real := tree.Linked(p)
	if real == "" || real == p || c.files[real] {
		return
	}
	c.files[real] = true
	c.add(plans.Fact{Rule: RuleFilesNamed, Line: line, Value: real, Text: "names " + plans.Shorten(real, maxText/2) + " by a link: " + plans.Shorten(p, maxText/2)})
	c.place(real, line)
}

// place says what is special about where a file lies.
func (c *collector) place(p string, line int) {
	shown := plans.Shorten(p, maxText)
	if outside(p) {
		c.add(plans.Fact{Rule: RuleOutsideTree, Line: line, Value: p, Text: "outside the tree: " + shown})
	}
	if isCredential(p) {
		c.add(plans.Fact{Rule: RuleCredentials, Line: line, Value: p, Text: "usually holds credentials: " + shown})
	}
	if isProtected(p) {
		c.add(plans.Fact{Rule: RuleProtectedFile, Line: line, Value: p, Text: "protected, each write asks: " + shown})
	}
}

// summary adds what is true of the plan as a whole.
func (c *collector) summary(content []byte, prompts []permissions.Prompt) {
	docs := c.docsOnly()
	if docs {
		c.add(plans.Fact{Rule: RuleDocsOnly, Value: "true", Text: "names documentation only"})
	}
	if len(c.files) > 0 && !docs && !verifies(content, prompts) {
		c.add(plans.Fact{Rule: RuleUnverified, Text: "does not say how the work is checked"})
	}
	c.surplus()
}

// docsOnly reports whether the plan names files, all of them documentation, and does nothing that stands out.
func (c *collector) docsOnly() bool {
	for _, rule := range []string{RuleDestructive, RuleCredentials, RuleProtectedFile, RuleOutsideTree, RuleOddPath} {
		if c.has(rule) {
			return false
		}
	}
	for p := range c.files {
		if !isDoc(p) {
			return false
		}
	}
	return len(c.files) > 0
}

// isDoc reports whether a file is documentation by its name or place.
func isDoc(p string) bool {
	if strings.HasPrefix(p, "docs/") || p == "docs" || strings.HasPrefix(p, "doc/") || p == "doc" {
		return true
	}
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".markdown", ".rst", ".adoc", ".txt":
		return path.Base(p) != "CMakeLists.txt" && !strings.HasPrefix(path.Base(p), "requirements")
	}
	return slices.Contains([]string{"README", "LICENSE", "CHANGELOG", "NOTICE", "AUTHORS", "CONTRIBUTING"}, path.Base(p))
}

// isProtected reports whether a write to the file always asks.
func isProtected(p string) bool {
	list := permissions.ProtectedFiles()
	for part := range strings.SplitSeq(strings.ToLower(p), "/") {
		if slices.Contains(list, part) || strings.HasSuffix(part, ".policy.yaml") || strings.HasSuffix(part, ".policy.toml") {
			return true
		}
	}
	return false
}

var (
	credentialNames = []string{
		".ssh", ".aws", ".gnupg", ".kube", ".netrc", ".pgpass", ".git-credentials", ".vault-token", ".npmrc", ".pypirc",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", "credentials.json", "kubeconfig", "shadow",
	}
	credentialEnds = []string{".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".seed", ".creds"}
)

// isCredential reports whether credentials usually lie in a file of that name. Examples of environment files hold none.
func isCredential(p string) bool {
	for part := range strings.SplitSeq(strings.ToLower(p), "/") {
		ext := path.Ext(part)
		if part == ".env" || strings.HasPrefix(part, ".env.") && !slices.Contains([]string{".example", ".sample", ".template", ".dist", ".defaults"}, ext) {
			return true
		}
		if slices.Contains(credentialNames, part) || slices.Contains(credentialEnds, ext) {
			return true
		}
	}
	return false
}

// verifying are the words of an intent, or of a plan's text, that say how work is checked.
var verifying = []string{"test", "verif", "check", "lint", "vet", "benchmark", "coverage", "build", "compile", "测试", "验证", "检查", "构建"}

// verifies reports whether the plan asks for, or speaks of, checking the work.
func verifies(content []byte, prompts []permissions.Prompt) bool {
	for _, p := range prompts {
		if slices.ContainsFunc(verifying, func(w string) bool { return strings.Contains(p.Intent, w) }) {
			return true
		}
	}
	text := bytes.ToLower(content)
	return slices.ContainsFunc(verifying, func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
