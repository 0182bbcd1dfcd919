package execute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
)

// ErrMoved means that a contract's directory is no longer what was judged: it is gone, or was replaced by a link.
var ErrMoved = fmt.Errorf("%w: the directory moved since it was judged", ErrRefused)

// ErrAltered means that a contract's hash is not that of its command, directory and environment.
var ErrAltered = fmt.Errorf("%w: the contract is not the one that was judged", ErrRefused)

// ErrRunnerChanged means that a file that says what the command runs is not the one that was judged.
var ErrRunnerChanged = fmt.Errorf("%w: a runner file changed since it was judged", ErrRefused)

// Options adjust [Run]. The zero Options discard the output and confine nothing.
type Options struct {
	// Stdout and Stderr are where output goes; nil is /dev/null. See [Spec].
	Stdout, Stderr io.Writer
	// Confine is what the command may reach. Nil is everything that the user may.
	Confine *Confine
}

// Result is how a contract was carried out.
type Result struct {
	Status      int         // 0 to 255; 128 + n when signal n ended it
	Enforcement Enforcement // of Options.Confine
}

// Run carries out a contract and returns when the command and everything that it started have ended.
//
// It starts /bin/bash --norc --noprofile -p -c with the contract's bytes (bash wants its long options first; -p keeps out
// functions and options from the environment), the contract's environment and no other, /dev/null as standard input, in
// the contract's directory. That is opened once, beneath the tree and through no link, and entered by that descriptor. The
// contract's runner files are read once more before it.
//
// Errors from before the start wrap [ErrRefused]. Afterwards the Result is valid too, and the error is that of
// [Proc.Wait]. That a contract is used once and in time is what a [Book] is for.
func Run(ctx context.Context, c *permissions.Contract, o Options) (Result, error) {
	if err := checkContract(c); err != nil {
		return Result{}, err
	}
	dir, err := openBeneath(c.Tree, c.Dir)
	if err != nil {
		return Result{}, err
	}
	defer dir.Close()
	if err := checkRunners(c); err != nil {
		return Result{}, err
	}
	p, err := Start(ctx, Spec{
		Argv:    []string{"/bin/bash", "--norc", "--noprofile", "-p", "-c", c.Command},
		Env:     c.Env,
		Stdout:  o.Stdout,
		Stderr:  o.Stderr,
		Confine: o.Confine,
		dir:     dir,
	})
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	status, err := p.Wait()
	return Result{Status: status, Enforcement: p.Enforcement()}, err
}

// checkContract refuses what no judge gives out, and what is not what the judge gave out.
func checkContract(c *permissions.Contract) error {
	switch {
	case c == nil:
		return fmt.Errorf("%w: no contract", ErrRefused)
	case c.Command == "" || !utf8.ValidString(c.Command) || strings.ContainsRune(c.Command, 0):
		return fmt.Errorf("%w: the command is empty or not plain text", ErrRefused)
	case c.Command[0] == '-' || c.Command[0] == '+':
		return fmt.Errorf("%w: bash would read %.20q as an option", ErrRefused, c.Command)
	case !cleanAbs(c.Dir) || !cleanAbs(c.Tree):
		return fmt.Errorf("%w: directory %q and tree %q have to be absolute and clean", ErrRefused, c.Dir, c.Tree)
	case c.Hash != c.Sum():
		return ErrAltered
	}
	if err := checkEnv(c.Env); err != nil {
		return errors.Join(ErrRefused, err)
	}
	return nil
}

// checkRunners looks again at what a Makefile or its like says, at the last moment before the start.
func checkRunners(c *permissions.Contract) error {
	for _, f := range c.Runners {
		sum, err := fileDigest(filepath.Join(c.Tree, f.Path))
		if err != nil {
			sum = permissions.Unreadable
		}
		if sum != f.Digest {
			return fmt.Errorf("%w: %s: ask again", ErrRunnerChanged, f.Path)
		}
	}
	return nil
}

func cleanAbs(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }
