package permissions

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// patchKeys are the arguments of apply_patch.
var patchKeys = []string{"input", "patch"}

// patch is the text of a call that applies one: "*** Begin Patch" and what follows. A call that gives two is odd.
func (v *view) patch() (text string, ok bool) {
	switch {
	case v.class == classRun:
		return v.patchOfShell()
	case v.call.Tool != "apply_patch":
		return "", false
	}
	given := []string{v.call.Command, v.call.Change}
	if args, ok := arguments(v.call.Args); ok {
		for _, key := range patchKeys {
			one := ""
			if json.Unmarshal(args[key], &one) == nil && one != "" {
				given = append(given, one)
			}
		}
	}
	for i, one := range given {
		switch {
		case i < 2 && !strings.Contains(one, patchBegin):
		case text != "" && text != one:
			v.odd = "it gives two patches: give one"
		default:
			text = one
		}
	}
	return text, text != ""
}

// patchOfShell is the patch of a line of Codex's shell that is nothing but apply_patch with a text: Codex runs no program
// for it.
func (v *view) patchOfShell() (string, bool) {
	if !slices.Contains(argvTools, v.call.Tool) || !strings.Contains(v.call.Command, patchBegin) {
		return "", false
	}
	line, err := shellcmd.Parse(v.call.Command, v.cwd)
	if err != nil || len(line.Refused) > 0 || len(line.Nested) != 1 || len(line.Commands) != 1 {
		return "", false
	}
	c := line.Commands[0]
	if len(c.Env) > 0 || !literal(c.Argv) || !slices.Contains([]string{"apply_patch", "applypatch"}, c.Argv0()) {
		return "", false
	}
	switch {
	case len(c.Argv) == 2 && len(c.Redirs) == 0:
		return c.Argv[1].Text, true
	case len(c.Argv) == 1 && len(c.Redirs) == 1 && c.Redirs[0].Kind == shellcmd.RedirectHere: // what expands in it is refused
		return c.Redirs[0].Body, true
	}
	return "", false
}

// patched judges a patch: each file that it names as an edit, and the worst of them decides.
func (v *view) patched(text string) Decision {
	if v.class == classRun { // rules about commands hold, too
		if d := v.ruledLine(); d.Verdict != Allow {
			return d
		}
		v.class = classEdit
	}
	paths, err := patchPaths(text)
	if v.call.Path != "" {
		paths = append(paths, v.call.Path)
	}
	d := Decision{Verdict: Allow}
	for _, p := range paths {
		one := *v
		one.call.Path = p
		if got := one.file(); worse(got.Verdict, d.Verdict) || d.Reason == "" {
			d.Verdict, d.Reason, v.ruled = got.Verdict, p+": "+got.Reason, one.ruled
		}
	}
	switch {
	case d.Verdict == Deny:
	case v.odd != "" && (v.givenReach().forbidden || v.reachOf(v.call.Command, v.startDirs()).forbidden):
		return deny(reasonForbidden)
	case v.mode == ModePlan && (v.odd != "" || err != "" || len(paths) == 0):
		return deny(reasonPlanning)
	case err != "":
		return ask("the patch cannot be read: " + err)
	case len(paths) == 0:
		return ask("the patch names no file")
	case v.odd != "":
		return ask(v.odd)
	}
	return d
}

// ruledLine is what deny and ask rules about commands say of the line.
func (v *view) ruledLine() Decision {
	line, err := shellcmd.Parse(v.call.Command, v.cwd)
	if err != nil {
		return v.unread(err)
	}
	s := v.scan(line)
	if d, denied := v.denyRules(line, s); denied {
		return d
	}
	return v.askRules(allow("no rule names it"), line, s)
}

// file judges a patch's change of one file.
func (v *view) file() Decision {
	if d, decided := v.toolRules(); decided {
		return d
	}
	if s, ok := v.target(); ok && (s.name == v.tree || s.real == v.realTree) || strings.HasPrefix(v.call.Path, "~") || v.call.Path != strings.TrimSpace(v.call.Path) {
		if v.mode != ModePlan {
			return ask("it cannot be told which file this writes")
		}
	}
	return v.edit()
}

const (
	patchBegin = "*** Begin Patch"
	patchEnd   = "*** End Patch"

	maxPatch      = 1 << 20
	maxPatchFiles = 256
)

var patchHeads = []string{"*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "}

// patchPaths lists every file that a patch could change, by each line that may be read as naming one; and says why the
// patch as a whole cannot be read with certainty.
func patchPaths(text string) (paths []string, odd string) {
	if len(text) > maxPatch {
		return nil, "it is too large: split it"
	}
	begun, ended, inside := false, false, ""
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		trimmed := strings.TrimSpace(line)
		head, name := patchHead(trimmed)
		switch {
		case head != "":
			if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.C, r) }) || name == "" {
				odd = "a file's name in it is empty or holds control characters"
			}
			if !slices.Contains(paths, name) {
				paths = append(paths, name)
			}
			if line != trimmed || !begun || ended || head == patchHeads[3] && inside != patchHeads[2] {
				odd = "the line " + head + "stands where it is not expected"
			}
			inside = head
		case trimmed == patchBegin && !begun:
			begun = true
		case trimmed == patchEnd && begun && !ended:
			ended = true
		case trimmed == "*** End of File" && (inside == patchHeads[2] || inside == patchHeads[3]):
		case strings.HasPrefix(trimmed, "***") && !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, " "):
			odd = "it has a line that begins with *** and is not known"
		case trimmed == "" && (!begun || ended):
		case !begun || ended, !fitsIn(inside, line):
			odd = "it has a line outside of any file's change"
		}
		if len(paths) > maxPatchFiles {
			return paths, "it changes too many files: split it"
		}
	}
	if odd == "" && (!begun || !ended) {
		odd = "it is not whole: begin it with " + patchBegin + " and end it with " + patchEnd
	}
	return paths, odd
}

func patchHead(line string) (head, name string) {
	for _, h := range patchHeads {
		if rest, ok := strings.CutPrefix(line, h); ok {
			return h, rest
		}
		if line == strings.TrimSpace(h) {
			return h, ""
		}
	}
	return "", ""
}

// fitsIn reports whether a line may stand below a head: an added file has lines with a +, an update also those of its
// surroundings, and a deletion none.
func fitsIn(head, line string) bool {
	switch head {
	case patchHeads[0]:
		return strings.HasPrefix(line, "+")
	case patchHeads[2], patchHeads[3]:
		return line == "" || strings.HasPrefix(line, "@@") || strings.IndexByte("+- ", line[0]) >= 0
	}
	return false
}
