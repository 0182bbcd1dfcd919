package permissions

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// maxExact is how many places are looked at for the runner files of one exact command.
const maxExact = 4096

// ExactRunners returns the runner files that the one simple command of a call would obey, as they are now: a grant for
// exactly this command has to remember them. The error says why such a grant would not let the call pass.
func (e *Engine) ExactRunners(c Call, s State) ([]RunnerFile, error) {
	v := e.look(c, s)
	if v.class != classRun {
		return nil, errors.New("it is no command")
	}
	line, err := shellcmd.Parse(c.Command, v.cwd)
	if err != nil {
		return nil, err
	}
	if len(line.Commands) != 1 {
		return nil, errors.New("it is not one simple command")
	}
	cmd := line.Commands[0]
	if len(cmd.Argv) == 0 || !literal(cmd.Argv) {
		return nil, errors.New("its words can only be told by running it")
	}
	var there []RunnerFile
	for _, f := range v.exactRunners(cmd.Argv, cmd.Dirs) {
		if f.Digest == "" {
			f.Digest = v.digest(path.Join(v.realTree, f.Path))
		}
		if f.Digest == Unreadable {
			return nil, fmt.Errorf("what it obeys cannot be remembered: %s", f.Path)
		}
		if f.Digest != "" {
			there = append(there, f)
		}
	}
	tree := "."
	if at := v.relative(v.cwd); at != "" && v.inTree(v.place(v.cwd, "")) {
		tree = at
	}
	s.Unattended, s.Answered = false, false
	s.Grants = []Grant{{
		GrantTerms: GrantTerms{Tree: tree, ExpiresAt: s.Now.Add(time.Hour)},
		ID:         "exact", Root: s.Tree, Argv: texts(cmd.Argv), Runners: there,
	}}
	if d := e.Decide(c, s); d.Verdict != Allow {
		return nil, errors.New(d.Reason)
	}
	return there, nil
}

// exactRunners are all places where a command that nothing is known about but its words may find a file that it obeys: the
// folders that it runs in or may be given and all above them, and what its options name as such a file. What cannot be
// told, or lies outside of the tree, is [Unreadable].
func (v *view) exactRunners(argv []shellcmd.Word, dirs []string) []RunnerFile {
	names, hidden := programsIn(argv)
	if hidden != "" {
		return []RunnerFile{{Path: hidden, Digest: Unreadable}}
	}
	if len(names) == 0 {
		return nil
	}
	var given schema.Use
	var files []RunnerFile
	for i, w := range argv[1:] {
		text, option := named(argv[i].Text, w.Text)
		if text == "" {
			continue
		}
		given.Paths = append(given.Paths, schema.Path{Text: text})
		for _, d := range dirs {
			s, file := v.place(text, d), slices.Contains(fileOptions, option)
			switch {
			case (file || slices.Contains(folderOptions, option)) && !v.inTree(s):
				files = append(files, RunnerFile{Path: text, Digest: Unreadable})
			case file:
				files = append(files, RunnerFile{Path: v.relative(s.real)})
			}
		}
	}
	for _, dir := range v.foldersAbove(given, dirs) {
		for _, name := range names {
			files = append(files, RunnerFile{Path: v.relative(path.Join(dir, intent.Kept(name)))})
		}
	}
	if len(files) > maxExact {
		return []RunnerFile{{Path: "the files that its words name", Digest: Unreadable}}
	}
	return files
}

// relative is a path below the working tree as a grant names it.
func (v *view) relative(p string) string { return strings.TrimPrefix(below(p, v.realTree), "/") }

// compared are those of the files that are not as a grant remembers them, as they are now.
func (v *view) compared(g Grant, files []RunnerFile) []RunnerFile {
	var changed []RunnerFile
	for _, now := range files {
		was, _ := runnerOf(g, now.Path)
		if was.Planned {
			continue
		}
		if now.Digest == "" {
			now.Digest = v.digest(path.Join(v.realTree, now.Path))
		}
		if now.Digest != was.Digest || now.Digest == Unreadable {
			changed = append(changed, now)
		} else if !slices.Contains(v.obeyed, now) {
			v.obeyed = append(v.obeyed, now)
		}
	}
	return changed
}

// fileOptions name a file that a program obeys in the place of its usual one, folderOptions a folder in which it looks.
var (
	fileOptions = []string{
		"-f", "--file", "--makefile", "--justfile", "--taskfile", "-c", "--config", "--config-file", "--rcfile", "--manifest-path", "--userconfig", "--globalconfig",
	}
	folderOptions = []string{
		"-C", "--directory", "--prefix", "--cwd", "--dir", "-d", "--root", "--rootdir", "--working-directory", "--chdir", "--project-dir", "--project", "-S", "--source",
	}
)

// named is the path that a word of a command may be: all of it, or the value of an option.
func named(before, word string) (text, option string) {
	if !strings.HasPrefix(word, "-") {
		if strings.HasPrefix(before, "-") {
			option = before
		}
		return word, option
	}
	if option, value, ok := strings.Cut(word, "="); ok {
		return value, option
	}
	if len(word) > 2 && word[1] != '-' {
		return word[2:], word[:2]
	}
	return "", ""
}

// programsIn are the names of the runner files of all programs that a command's words name. A program that is named inside
// of a text, for another to run, is hidden: where it would run cannot be told.
func programsIn(argv []shellcmd.Word) (names []string, hidden string) {
	for _, w := range argv {
		parts := strings.FieldsFunc(w.Text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>`$'\"{}", r) })
		if len(parts) > 1 && len(runnersOf(wordsOf(parts))) > 0 {
			return nil, w.Text
		}
	}
	return runnersOf(argv), ""
}

func wordsOf(texts []string) []shellcmd.Word {
	words := make([]shellcmd.Word, len(texts))
	for i, t := range texts {
		words[i].Text = t
	}
	return words
}

// runnersOf are the names of the files that a command may obey, by every word of it that is a program's name.
func runnersOf(argv []shellcmd.Word) []string { return intent.Intent{}.RunnersOf(argv) }
