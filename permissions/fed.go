package permissions

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// fed judges a command such as xargs wc -l, which gets words from its input. They can only be names of files of the tree,
// when another command of the line lists such; and since any of them may be a link that leads out of it, no more of them
// is shown than their names, properties and counts. What shows content needs plain files, with their names kept apart.
func (v *view) fed(c *shellcmd.Command, argv []shellcmd.Word, use schema.Use) (schema.Use, error) {
	inner, err := schema.ReadOnly().Match(append(slices.Clone(use.Inner), fedWord, fedWord))
	own := argv[:len(argv)-len(use.Inner)]
	switch {
	case err != nil:
		return use, err
	case inner.Inner != nil:
		return use, errors.New(argv[0].Text + " runs another wrapper")
	case c.From == nil || !v.onlyReads(c.From):
		return use, errors.New("it cannot be told what " + argv[0].Text + " is given: let find or git ls-files list files")
	case fedScript(append(slices.Clone(use.Inner), fedWord)):
		return use, errors.New("a name would be a program of " + use.Inner[0].Text)
	case insideWords(own, use.Inner):
		return use, errors.New("a name inside another word may lead elsewhere: give it alone")
	case (inner.Names || counts(use.Inner)) && lists(c.From.Argv) && takesNames(own, use.Inner[0].Text, c.From.Argv):
	default:
		if !plainFiles(c.From.Argv) || !apart(own) || !(inner.Globs || searches(use.Inner) || namesFirst[use.Inner[0].Text]) {
			return use, errors.New(use.Inner[0].Text + " may be given links, or other names than are listed: use find -type f -print0 and xargs -0, or git grep")
		}
		if choosesSecrets(c.From.Argv) {
			return use, errors.New(reasonSecret)
		}
	}
	inner.Paths = slices.DeleteFunc(inner.Paths, func(p schema.Path) bool { return p.Text == fedWord.Text })
	inner.Foreign = false
	return inner, v.confined(inner, use.Inner[0].Text, c.Dirs)
}

// fedWord stands for the words from the input.
var fedWord = shellcmd.Word{Text: "./fed", Source: "./fed"}

// lists reports whether a command that only reads prints nothing but names of files below the folder it runs in.
func lists(argv []shellcmd.Word) bool {
	switch argv[0].Text {
	case "find":
		return !has(argv, "-ls", "-printf", "-exec")
	case "ls":
		return flagsAmong(argv[1:], "-1", "-a", "-A", "-d", "-t", "-r", "-tr", "-1t", "-1a")
	case "git":
		return has(argv[1:2], "ls-files") && flagsAmong(argv[2:], "-z", "-c", "-m", "-o", "-d", "--cached", "--modified", "--others", "--deleted", "--exclude-standard") ||
			has(argv[1:2], "diff") && has(argv, "--name-only") && flagsAmong(argv[2:], "--name-only", "-z", "--cached", "--staged", "--merge-base")
	case "grep":
		return (has(argv, "--files-with-matches", "--files-without-match") || bundles(argv, 'l', 'L')) && !has(argv, "--count") && !bundles(argv, 'c')
	case "rg":
		return has(argv, "-l", "--files-with-matches", "--files", "--files-without-match") && !has(argv, "--json", "--stats", "-c", "--count", "--heading")
	}
	return false
}

// flagsAmong reports whether every flag is one of some, or selects by status.
func flagsAmong(argv []shellcmd.Word, some ...string) bool {
	return !slices.ContainsFunc(argv, func(w shellcmd.Word) bool {
		return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--diff-filter=") && w.Text != "--" && !slices.Contains(some, w.Text)
	})
}

// fedScript reports whether a name from the input would be the script of a program.
func fedScript(words []shellcmd.Word) bool {
	if !slices.Contains([]string{"awk", "gawk", "mawk", "nawk", "sed", "jq", "yq", "printf"}, words[0].Text) {
		return false
	}
	words = slices.Clone(words)
	for i, w := range words {
		if w.Text == fedWord.Text {
			words[i] = shellcmd.Word{Text: `./import"%`} // a name, and no script of any of them
		}
	}
	_, err := schema.ReadOnly().Match(words)
	return err != nil
}

// choosesSecrets reports whether a find picks files that usually hold credentials by their names.
func choosesSecrets(argv []shellcmd.Word) bool {
	return slices.ContainsFunc(argv, func(w shellcmd.Word) bool { return w.Text == "-regex" || w.Text == "-iregex" || picksSecrets(w.Text) })
}

// gives reports whether xargs is given a flag, by one of some letters or by a long name.
func gives(own []shellcmd.Word, letters string, long ...string) bool {
	return slices.ContainsFunc(own[1:], func(w shellcmd.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return strings.HasPrefix(w.Text, "--") && slices.Contains(long, name) || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, letters)
	})
}

// apart reports whether xargs reads names with a NUL after each, and hands them on as they are.
func apart(own []shellcmd.Word) bool {
	return has(own, "-0", "--null") && !gives(own, "Id", "--delimiter")
}

// insideWords reports whether xargs puts a name into the middle of a path.
func insideWords(own, inner []shellcmd.Word) bool {
	return gives(own, "I") && !slices.Contains([]string{"echo", "basename", "dirname"}, inner[0].Text) && slices.ContainsFunc(inner[1:], func(w shellcmd.Word) bool {
		return strings.Contains(w.Text, "/") && slices.ContainsFunc([]string{"{}", "%", "@", "F"}, func(s string) bool { return strings.Contains(w.Text, s) })
	})
}

// namesFirst are programs that only print names and counts, but for flags that read a list of names, and show what is in
// it when there is no such file. wc and du take those flags only without an operand before.
var namesFirst = map[string]bool{"file": true, "wc": true, "du": true}

// takesNames reports whether no name that is listed can be such a flag to a program: a name with a blank in it is two.
func takesNames(own []shellcmd.Word, name string, from []shellcmd.Word) bool {
	switch {
	case !namesFirst[name] || from[0].Text == "find" && from[len(from)-1].Text == "-print0" && apart(own):
		return true
	case name == "file" || from[0].Text == "ls" || gives(own, "nLI", "--max-args", "--max-lines"):
		return false
	case from[0].Text == "find":
		return true
	}
	return !slices.ContainsFunc(from[1:], func(w shellcmd.Word) bool {
		return w.Text == "" || strings.Contains(w.Text, "--files") || strings.IndexByte("*?[:-", w.Text[0]) >= 0 && w.Text[0] != '-' && !extension.MatchString(w.Text)
	}) && !dashAfterEnd(from)
}

// extension is a pattern of names that is about their end.
var extension = regexp.MustCompile(`^[*]+(/[*]+)?[.][A-Za-z0-9]+$`)

// dashAfterEnd reports whether an operand begins with a dash.
func dashAfterEnd(argv []shellcmd.Word) bool {
	i := slices.IndexFunc(argv, func(w shellcmd.Word) bool { return w.Text == "--" })
	return i >= 0 && slices.ContainsFunc(argv[i+1:], func(w shellcmd.Word) bool { return strings.HasPrefix(w.Text, "-") })
}

// plainFiles reports whether a find lists plain files alone, with a NUL after each.
func plainFiles(argv []shellcmd.Word) bool {
	if n := len(argv) - 1; has(argv[:n], "-print0") || has(argv, ",", "-exec") { // printed before it is looked at
		return false
	}
	for i, w := range argv {
		if w.Text == "-type" && argv[0].Text == "find" && i+1 < len(argv) && argv[i+1].Text == "f" {
			return argv[len(argv)-1].Text == "-print0" && !has(argv, "-o", "-or", "-not", "!", "(", "-printf", "-print", "-ls", "-H")
		}
	}
	return false
}

// counts reports whether a search shows only names or counts; searches whether it is one that takes no program's name.
func counts(argv []shellcmd.Word) bool {
	return argv[0].Text == "grep" && (has(argv, "--files-with-matches", "--count", "--quiet") || bundles(argv, 'l', 'L', 'c', 'q'))
}

// bundles reports whether one of some flags is given, alone or among others that take no value.
func bundles(argv []shellcmd.Word, any ...rune) bool {
	return slices.ContainsFunc(argv[1:], func(w shellcmd.Word) bool {
		flags, ok := strings.CutPrefix(w.Text, "-")
		return ok && flags != "" && strings.Trim(flags, "cEFGPiIvwxLloqsbHhnTZarz") == "" && strings.ContainsAny(flags, string(any))
	})
}

func searches(argv []shellcmd.Word) bool { return argv[0].Text == "grep" }

func has(argv []shellcmd.Word, any ...string) bool {
	return slices.ContainsFunc(argv, func(w shellcmd.Word) bool { return slices.Contains(any, w.Text) })
}
