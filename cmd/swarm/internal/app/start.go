package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate/adapter/script"
)

// findProgram finds what is to be started. A path is one from here, and stays that when the program starts in the tree.
func (o *ScriptOptions) findProgram() error {
	name := o.Program[0]
	path, err := exec.LookPath(name)
	switch {
	case err == nil && strings.ContainsRune(name, filepath.Separator):
		o.Program = slices.Clone(o.Program)
		o.Program[0], err = filepath.Abs(path)
		return err
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fail(exitUsage, "no_program", fmt.Sprintf("program %q cannot be started: it is not executable", name), "chmod +x "+plans.VisibleLine(name)+", or put its interpreter before it: -- sh "+plans.VisibleLine(name))
	}
	return fail(exitUsage, "no_program", fmt.Sprintf("program %q cannot be started (%v)", name, errors.Unwrap(err)), "check its name, or give its path")
}

// startError is the error of a program that was found and could not be started, with what to do.
func (o ScriptOptions) startError(err error) error {
	if o.Claude != nil || !strings.HasPrefix(err.Error(), "script: start ") {
		return err
	}
	path, lerr := exec.LookPath(o.Program[0])
	if lerr != nil {
		return err
	}
	name := plans.VisibleLine(path)
	if by := interpreter(path); by != "" {
		if _, err := os.Stat(by); err != nil {
			return fail(exitError, "no_start", fmt.Sprintf("%s cannot be started: its first line names %s, which is not here", name, plans.VisibleLine(by)), "correct its first line, such as #!/bin/sh")
		}
	}
	if o.outside(path) {
		return fail(exitError, "no_start", fmt.Sprintf("%s cannot be started: it lies outside of the working tree %s, and a confined program reads only that and the system's folders", name, o.Tree), "copy it into the tree, or name a --tree that has it")
	}
	return err
}

// interpreter is what the first line of a script names, "" where it is none.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	words, ok := strings.CutPrefix(line, "#!")
	if fields := strings.Fields(words); ok && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// systemFolders are where programs lie that every confined program may read.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/opt", "/nix/store", "/etc"}

// outside reports whether a confined program cannot read a file, because of where it lies.
func (o ScriptOptions) outside(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(script.EnforcedBy(), "kernel") {
		return false
	}
	return !slices.ContainsFunc(append([]string{o.Tree}, systemFolders...), func(dir string) bool {
		rel, err := filepath.Rel(dir, real)
		return err == nil && filepath.IsLocal(rel)
	})
}

// unreadable is the first word after the program that names a file which the program cannot read, "" where there is none.
func (o ScriptOptions) unreadable() string {
	if o.Claude != nil {
		return ""
	}
	for _, word := range o.Program[1:] {
		if filepath.IsAbs(word) && o.outside(word) {
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				return word
			}
		}
	}
	return ""
}
