package planmode

import (
	"maps"
	"slices"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// clone copies everything but the charter, which a step replaces whole.
func (s Session) clone() Session {
	s.Pending = clonePending(s.Pending)
	if s.Approved != nil {
		a := *s.Approved
		a.Tasks = slices.Clone(a.Tasks)
		s.Approved = &a
	}
	s.Grants = cloneGrants(s.Grants)
	s.Asks = cloneAsks(s.Asks)
	s.Orders = maps.Clone(s.Orders)
	s.Settled = slices.Clone(s.Settled)
	for i := range s.Settled {
		s.Settled[i].Receipt = cloneReceipt(s.Settled[i].Receipt)
	}
	return s
}

func clonePending(p *Pending) *Pending {
	if p == nil {
		return nil
	}
	c := *p
	c.Prompts = clonePrompts(p.Prompts)
	c.Options = slices.Clone(p.Options)
	c.Facts = slices.Clone(p.Facts)
	c.Tasks = slices.Clone(p.Tasks)
	c.Reads = slices.Clone(p.Reads)
	c.Addresses = slices.Clone(p.Addresses)
	c.Runners = slices.Clone(p.Runners)
	if p.Deadline != nil {
		t := *p.Deadline
		c.Deadline = &t
	}
	return &c
}

func cloneReceipt(r mailbox.Receipt) mailbox.Receipt {
	r.Grants = slices.Clone(r.Grants)
	if r.Count != nil {
		n := *r.Count
		r.Count = &n
	}
	return r
}

func clonePrompts(prompts []permissions.Prompt) []permissions.Prompt {
	c := slices.Clone(prompts)
	for i := range c {
		c[i].Classes = slices.Clone(c[i].Classes)
		c[i].Examples = slices.Clone(c[i].Examples)
	}
	return c
}

func cloneGrants(grants []permissions.Grant) []permissions.Grant {
	c := slices.Clone(grants)
	for i := range c {
		c[i].Argv = slices.Clone(c[i].Argv)
		c[i].Runners = slices.Clone(c[i].Runners)
	}
	return c
}

func cloneAsks(asks []Ask) []Ask {
	c := slices.Clone(asks)
	for i := range c {
		c[i].Argv = slices.Clone(c[i].Argv)
		c[i].Runners = slices.Clone(c[i].Runners)
		c[i].Obeys = slices.Clone(c[i].Obeys)
	}
	return c
}
