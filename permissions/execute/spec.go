package execute

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

var (
	// ErrRefused means that a command was refused before anything of it ran. Every error of [Run] that comes before the
	// start wraps it.
	ErrRefused = errors.New("execute: refused before it ran")
	// ErrKilled means that the command did not end by itself: [Proc.Kill] or somebody's signal to its reaper ended it.
	ErrKilled = errors.New("execute: killed")
	// ErrLost means that the reaper itself was killed. What it watched over was killed too, by the runner.
	ErrLost = errors.New("execute: the process that watches over the command was killed")
	// ErrSurvivors means that something could not be killed; the text names the process ids.
	ErrSurvivors = errors.New("execute: processes survived SIGKILL")
	// ErrNotConfined means that a confinement was required and this system cannot enforce one.
	ErrNotConfined = errors.New("execute: cannot confine here")
	// ErrUnsupported means that this system lacks what the package is built on; it needs Linux.
	ErrUnsupported = errors.New("execute: commands are started on Linux only")
)

// Spec says what to start, and in which surroundings. Nothing is inherited that is not named here.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH of Env, and has to be
	// found in an absolute folder; one with a slash is relative to Dir.
	Argv []string
	// Dir is the absolute working directory. It is opened once and entered by descriptor.
	Dir string
	// Env is the whole environment as KEY=value. Nil is an empty one.
	Env []string
	// Stdin is what the target reads; nil is /dev/null. An [os.File] is handed over, anything else is copied through a
	// pipe by a goroutine that ends when the reader does.
	Stdin io.Reader
	// Stdout and Stderr are where output goes; nil is /dev/null. An [os.File] is handed over, anything else is written to
	// by one goroutine each, and the same writer in both by one. A slow writer is waited for.
	Stdout, Stderr io.Writer
	// ExtraFiles become descriptors 3 and up of the target. All others are closed.
	ExtraFiles []*os.File
	// Confine is what the target may reach. Nil is everything that the user may.
	Confine *Confine

	dir *os.File // opened by Run, instead of Dir
}

// check refuses what could not be carried out to the letter, and resolves the program.
func (s Spec) check() (program string, err error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return "", errors.New("execute: no program: name one")
	}
	for _, a := range s.Argv {
		if strings.ContainsRune(a, 0) {
			return "", fmt.Errorf("execute: argument %q contains a NUL byte: remove it", a)
		}
	}
	if s.dir == nil && !filepath.IsAbs(s.Dir) {
		return "", fmt.Errorf("execute: directory %q is not absolute: give the full path", s.Dir)
	}
	if err := checkEnv(s.Env); err != nil {
		return "", err
	}
	if s.Confine != nil {
		if err := s.Confine.check(); err != nil {
			return "", err
		}
	}
	return lookPath(s.Argv[0], s.Env)
}

// checkEnv refuses entries that two readers of an environment could read differently.
func checkEnv(env []string) error {
	seen := map[string]bool{}
	for _, e := range env {
		key, _, ok := strings.Cut(e, "=")
		switch {
		case !ok || key == "":
			return fmt.Errorf("execute: environment entry %q is not KEY=value: correct it", e)
		case strings.ContainsRune(e, 0):
			return fmt.Errorf("execute: environment entry of %q contains a NUL byte: remove it", key)
		case seen[key]:
			return fmt.Errorf("execute: %q is twice in the environment: remove one", key)
		}
		seen[key] = true
	}
	return nil
}

// lookPath finds a bare name in the PATH of env. It never looks into a relative folder.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, dir := range filepath.SplitList(envValue(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("execute: %q is in no folder of PATH: give its full path: %w", name, os.ErrNotExist)
}

func envValue(env []string, key string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, key+"="); ok {
			return v
		}
	}
	return ""
}

// check refuses relative paths, and those that would not survive the way to the confined process unchanged.
func (c *Confine) check() error {
	for _, list := range [][]string{c.Read, c.Write, c.Connect, c.Forbidden} {
		for _, p := range list {
			if !filepath.IsAbs(p) || !utf8.ValidString(p) {
				return fmt.Errorf("execute: confine: path %q is not an absolute UTF-8 path: give the full path", p)
			}
		}
	}
	return nil
}
