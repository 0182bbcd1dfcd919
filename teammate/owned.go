package teammate

import (
	"fmt"
	"reflect"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/planmode"
)

// owned is how the team was handed over, as far as this teammate has followed: an owner who has given the team up is not
// believed again, whoever has her key.
type owned struct {
	keep      keep
	Handovers []charter.Handover `json:"handovers"`
}

const ownedFile = "owners.json"

func (o *owned) load(k keep) error {
	o.keep = k
	return k.get(ownedFile, o)
}

// follow keeps a chain that was verified, on disk before anything that its charter says counts.
func (o *owned) follow(chain []charter.Handover) error {
	if reflect.DeepEqual(o.Handovers, chain) || len(chain) == 0 {
		return nil
	}
	o.Handovers = chain
	return o.keep.put(ownedFile, o)
}

// root is what charters are checked with. The caller holds r.charters, or is the only one yet.
func (r *Runner) root() charter.Root {
	return charter.Root{Founder: r.cfg.Owner, Known: r.owned.Handovers}
}

// openCharter verifies a charter, and that it is none from before.
func (r *Runner) openCharter(signed charter.Signed) (charter.Charter, error) {
	c, err := r.root().Open(signed)
	if err != nil {
		return charter.Charter{}, fmt.Errorf("teammate: charter: %w", err)
	}
	known := r.snapshot().Charter
	if known.TeamID == c.TeamID {
		err = charter.CheckSerial(known.Serial, c.Serial)
	}
	return c, err
}

// takeCharter puts a verified charter in force. Where the owner's key was in other hands meanwhile, what waits and what was
// granted is void: leaders may have decided it whom a thief had made.
func (r *Runner) takeCharter(signed charter.Signed, c charter.Charter) error {
	owner, err := r.root().Owner(signed.Handovers)
	if err != nil {
		return err
	}
	if err := r.owned.follow(signed.Handovers); err != nil {
		return err
	}
	known := r.snapshot().Charter
	ev := planmode.CharterChanged{Charter: c, Now: r.clock.now()}
	if ev.Void = owner.Voided > known.Serial; ev.Void {
		ev.PlanID, ev.PlanFile = r.cfg.NewID(), r.cfg.Store.WorkFile()
	}
	if _, err := r.step(ev); err != nil {
		return err
	}
	r.signed = signed
	if ev.Void {
		r.log.Error("teammate: plan mode, without grants", "cause", "the owner's key was in other hands")
		r.tell(fmt.Sprintf("%s is in plan mode, and no grant is in force: the team has another owner, because the key of the one before was in other hands. What waited has to be submitted again.", r.cfg.Name))
	}
	return nil
}

func sameCharter(a, b charter.Charter) bool { return reflect.DeepEqual(a, b) }
