package permissions

import (
	"errors"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// found judges a find that hands what it finds to commands, each by the tables: they are given names below the folders
// where find begins, so that none can be a flag. What shows content gets no links, as in [view.fed].
func (v *view) found(argv []shellcmd.Word, dirs []string) (schema.Use, error) {
	outer, inner, err := takeExec(argv)
	if err != nil {
		return schema.Use{}, err
	}
	use, err := schema.ReadOnly().Match(outer)
	if err != nil {
		return use, err
	}
	before := argv[:slices.IndexFunc(argv, func(w shellcmd.Word) bool { return w.Text == "-exec" })]
	for _, words := range inner {
		does, err := schema.ReadOnly().Match(words)
		switch {
		case err != nil:
			return use, err
		case fedScript(words):
			return use, errors.New("a name would be a program of " + words[0].Text)
		case !does.Names && !counts(words) && slices.ContainsFunc(words, func(w shellcmd.Word) bool { return strings.Contains(w.Text, "{}") }):
			return use, errors.New("a name inside another word may lead elsewhere: give it alone")
		case !does.Names && !counts(words) && choosesSecrets(argv):
			return use, errors.New(reasonSecret)
		case does.Inner != nil || words[0].Text == "find":
			return use, errors.New("find may only run plain commands: " + words[0].Text + " runs others")
		case !does.Names && !counts(words) && !(findsFiles(before) && findsFiles(outer)):
			return use, errors.New(words[0].Text + " may be given links: write find -type f first")
		}
		does.Paths = slices.DeleteFunc(does.Paths, func(p schema.Path) bool { return p.Text == fedWord.Text })
		if err := v.confined(does, words[0].Text, dirs); err != nil {
			return use, err
		}
	}
	return use, v.confined(use, "find", dirs)
}

// takeExec takes every -exec COMMAND ; and -exec COMMAND {} + out of a find, with a name in the place of {}.
func takeExec(argv []shellcmd.Word) (outer []shellcmd.Word, inner [][]shellcmd.Word, err error) {
	for i := 0; i < len(argv); i++ {
		if argv[i].Text != "-exec" || !argv[i].Literal() {
			outer = append(outer, argv[i])
			continue
		}
		var words []shellcmd.Word
		for i++; ; i++ {
			switch {
			case i == len(argv):
				return nil, nil, errors.New("-exec of find has no end: write \\; or {} +")
			case !argv[i].Literal():
				return nil, nil, errors.New(argv[i].Source + " can only be told by running it")
			}
			if argv[i].Text == ";" || argv[i].Text == "+" && len(words) > 0 && argv[i-1].Text == "{}" {
				break
			}
			if words = append(words, argv[i]); argv[i].Text == "{}" {
				words[len(words)-1] = fedWord
			}
		}
		if len(words) == 0 || words[0].Text == fedWord.Text {
			return nil, nil, errors.New("it cannot be told what find runs: name a program")
		}
		inner = append(inner, words)
	}
	return outer, inner, nil
}

// findsFiles reports whether a find finds plain files alone, and no links to them.
func findsFiles(argv []shellcmd.Word) bool {
	i := slices.IndexFunc(argv, func(w shellcmd.Word) bool { return w.Text == "-type" })
	return i > 0 && i+1 < len(argv) && argv[i+1].Text == "f" && argv[i-1].Text != "!" && argv[i-1].Text != "-not" && !has(argv, "-o", "-or", ",", "(", ")", "-H")
}

// gitFolder is a git command without its -C FOLDER, and the folders that it then runs in.
func (v *view) gitFolder(argv []shellcmd.Word, dirs []string) ([]shellcmd.Word, []string, error) {
	if len(argv) < 3 || argv[0].Text != "git" || !argv[0].Literal() || argv[1].Text != "-C" || !argv[1].Literal() {
		return argv, dirs, nil
	}
	to := argv[2]
	if !to.Literal() || to.Text == "" {
		return nil, nil, errors.New("it cannot be told where git -C leads: name a folder of the project")
	}
	moved := make([]string, 0, len(dirs))
	for _, d := range dirs {
		s := v.place(to.Text, d)
		if !v.inTree(s) {
			return nil, nil, errors.New("git -C leaves the working tree")
		}
		moved = append(moved, s.real) // as the kernel finds it: ".." after links
	}
	return append([]shellcmd.Word{argv[0]}, argv[3:]...), moved, nil
}
