package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/plans"
)

// edited is the plan as the leader changes it: in an editor, or as a file has it. What was changed is printed. The bytes
// that are returned are those that are signed: nothing is read again.
func edited(ctx context.Context, sh *shell, row *leader.Row, file string) ([]byte, error) {
	if row.Request == nil || !row.IsPlan() {
		return nil, usage("%s is no plan: there is nothing to edit", row.Handle)
	}
	was := row.Request.Plan.Content
	now, err := editedBytes(ctx, sh, row, file)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(was, now) {
		return nil, &leader.Error{Code: ExitUsage, Name: "unchanged", Message: "the plan was not changed: nothing was approved", Next: "approve it as it is: swarm approve " + row.Handle}
	}
	if err := plans.Check(now); err != nil {
		return nil, &leader.Error{Code: ExitUsage, Name: "bad_plan", Message: "the edited plan cannot be used (" + strings.TrimPrefix(err.Error(), "plans: ") + "): nothing was approved", Next: "edit it again"}
	}
	added, removed, unified := plans.Diff(was, now)
	fmt.Fprintf(sh.err, "your changes, %d added and %d removed:\n%s", added, removed, plans.VisibleText(unified))
	if file != "" || !sh.terminal {
		return now, nil
	}
	ok, err := confirm(sh, "approve the plan with these changes? [y/N] ")
	if err == nil && !ok {
		err = &leader.Error{Code: ExitUsage, Name: "not_confirmed", Message: "nothing was approved", Next: "swarm approve " + row.Handle + " --edit starts again"}
	}
	return now, err
}

func editedBytes(ctx context.Context, sh *shell, row *leader.Row, file string) ([]byte, error) {
	if file == "-" {
		return readPlan(sh.in, "standard input")
	}
	if file == "" {
		var err error
		if file, err = inEditor(ctx, sh, row); err != nil {
			return nil, err
		}
		defer os.RemoveAll(filepath.Dir(file))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usage("--edit-file %s cannot be read (%v): name a file with the whole plan", file, errors.Unwrap(err))
	}
	defer f.Close()
	return readPlan(f, file)
}

func readPlan(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, plans.MaxBytes+1))
	switch {
	case err != nil:
		return nil, usage("%s cannot be read (%v)", name, err)
	case len(data) > plans.MaxBytes:
		return nil, usage("%s is larger than %d MiB, the most that a plan may have: make it shorter", name, plans.MaxBytes>>20)
	}
	return data, nil
}

// inEditor has the person change a copy of the plan, in a folder that nobody else can enter.
func inEditor(ctx context.Context, sh *shell, row *leader.Row) (string, error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return "", usage("--edit needs an editor: set VISUAL or EDITOR, or use --edit-file FILE")
	}
	dir, err := os.MkdirTemp("", "swarm-edit-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "plan.md")
	if err := os.WriteFile(file, row.Request.Plan.Content, 0o600); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", file) // as other programs read the variable
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, sh.err
	if err := cmd.Run(); err != nil {
		os.RemoveAll(dir)
		return "", &leader.Error{Code: ExitError, Name: "editor", Message: fmt.Sprintf("the editor failed (%v): nothing was approved", err), Next: "check VISUAL and EDITOR"}
	}
	return file, nil
}

// confirm asks a person at the terminal; no answer is no.
func confirm(sh *shell, question string) (bool, error) {
	text, err := prompt(sh, question)
	return strings.EqualFold(text, "y") || strings.EqualFold(text, "yes"), err
}

// prompt asks for one line.
func prompt(sh *shell, question string) (string, error) {
	app.DropTyped(sh.in) // what was typed before the question does not answer it
	fmt.Fprint(sh.err, question)
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := sh.in.Read(one)
		if n == 1 && one[0] == '\n' || errors.Is(err, io.EOF) {
			return strings.TrimSpace(string(line)), nil
		}
		if err != nil {
			return "", err
		}
		if n == 1 && len(line) < 4096 {
			line = append(line, one[0])
		}
	}
}
