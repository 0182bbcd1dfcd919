package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/teammate/adapter/claudecode"
	"github.com/planswarm/swarm/teammate/gate"
)

// attachFile is where a client that is started by hand finds its teammate's gate.
func (e Env) attachFile(team, name string) string {
	return e.state(team).path("teammates", name, "attach.json")
}

// AttachSettings are the settings that a person puts into a client that is started by hand, as JSON.
func AttachSettings(e Env, name string) (string, error) {
	if err := mailbox.CheckMember(name); err != nil {
		return "", fail(exitUsage, "bad_name", strings.TrimPrefix(err.Error(), "mailbox: "), "name the teammate with --name")
	}
	team, err := e.team()
	if err != nil {
		return "", err
	}
	exe, err := executable()
	if err != nil {
		return "", err
	}
	return claudecode.OwnSettings(exe, e.attachFile(team, name)), nil
}

// executable is this program, as a hook names it: a file of the working tree could be another one tomorrow.
func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where swarm itself is, is not known: %w", err)
	}
	return exe, nil
}

// checkAttach refuses where the settings that a client reads in a tree would keep it from asking swarm, or would answer in
// swarm's place.
func (e Env) checkAttach(o *ScriptOptions) error {
	team, err := e.team()
	if err != nil {
		return err
	}
	exe, err := executable()
	if err != nil {
		return err
	}
	file := e.attachFile(team, o.Name)
	if rel, err := filepath.Rel(o.Tree, exe); err == nil && filepath.IsLocal(rel) {
		return fail(exitUsage, "bad_program", fmt.Sprintf("this program lies in the working tree (%s), where the agent could change it", exe), "install swarm elsewhere, and call that one")
	}
	config := filepath.Dir(claudecode.PlansFolder(os.Environ()))
	err = claudecode.CheckManaged("")
	if err == nil {
		err = claudecode.CheckSettings([]string{
			filepath.Join(config, "settings.json"), filepath.Join(o.Tree, ".claude", "settings.json"), filepath.Join(o.Tree, ".claude", "settings.local.json"),
		}, func(command string) bool { return claudecode.IsOwnHook(command, exe, file) })
	}
	return switchedOff(err)
}

// attachedProgram is a client that a person starts by hand.
type attachedProgram struct {
	*claudecode.Own
	r    *scriptRunner
	file string
}

func (p attachedProgram) EnforcedBy() string { return claudecode.EnforcedBy }

// Run tells the client where the gate is, and takes that back at its end in order: a runner that dies leaves it, and the
// client's hooks deny.
func (p attachedProgram) Run(ctx context.Context) (int, error) {
	if err := p.r.address.Write(p.file); err != nil {
		return -1, err
	}
	fmt.Fprintf(p.r.env.Err, "attached: start Claude Code with the settings that this prints: swarm hook claude --print-settings --name %s\n", p.r.events.name)
	status, err := p.Own.Attend(ctx, p.r.runner, p.r.gate)
	if rerr := os.Remove(p.file); rerr != nil {
		p.r.env.logger().Warn("the client is not free", "cause", rerr)
	}
	return status, err
}

// StopAgent has the client denied everything but reading: it is not ours to kill.
func (p attachedProgram) StopAgent(ctx context.Context, cause string) error {
	fmt.Fprintf(p.r.env.Err, "%s: the client may only read from now on (%s); end this with Ctrl-C to have it as your own again\n", p.r.events.name, cause)
	return p.Own.StopAgent(ctx, cause)
}

func (r *scriptRunner) attached(o ScriptOptions, cfg claudecode.Config) (program, error) {
	cfg.Attach = filepath.Join(r.place.dir, "attach.json")
	a, err := claudecode.NewOwn(cfg)
	if err != nil {
		return nil, err
	}
	address, err := gate.NewAddress(cfg.Socket)
	if err != nil {
		return nil, err
	}
	r.address = &address
	return attachedProgram{a, r, cfg.Attach}, nil
}
