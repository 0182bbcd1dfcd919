package permissions

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// Config is what an [Engine] is built from.
type Config struct {
	// Resolver answers what depends on the disk. With nil nothing can be told of any path: what is not denied asks.
	Resolver Resolver
	// BaseEnv is the runner's start environment, "NAME=value" each. Only what [Contract] allows is taken from it.
	BaseEnv []string
	// Path is the PATH of every contract: absolute entries that nobody else may write, separated by colons. Entries that
	// are empty, relative or inside the tree are dropped; when none is left it is /usr/local/bin:/usr/bin:/bin.
	Path string
	// Tables are a person's own programs and intents, besides those that are built in. Nil adds none.
	Tables *Tables
}

// Engine decides calls. It is immutable, and safe for concurrent use when its [Resolver] is.
type Engine struct {
	resolver Resolver
	env      map[string]string
	path     string
	tables   *Tables
	base     environ // of every contract
}

// New makes an engine.
func New(cfg Config) *Engine {
	e := &Engine{resolver: cfg.Resolver, env: map[string]string{}, path: cfg.Path, tables: cfg.Tables}
	if e.resolver == nil {
		e.resolver = nothing{}
	}
	for _, kv := range cfg.BaseEnv {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.env[name] = value
		}
	}
	e.base = e.fixed()
	return e
}

// Decide judges one call. It never errors: what cannot be judged is asked, and denied when nobody can be asked or the
// mode is dontAsk. In every mode it first looks for what nothing lifts: deny rules, the leader's and owner's verbs of
// swarm, the forbidden folders.
func (e *Engine) Decide(c Call, s State) Decision {
	v := e.look(c, s)
	d := v.tool()
	if d.Verdict == Ask && len(v.changed) > 0 {
		d.Changed = v.changed
		d.Obeyed = slices.Concat(v.changed, v.obeyed)
	}
	if d.Verdict != Allow && v.ruled != "" && strings.Contains(d.Reason, v.ruled) {
		d.Rule = v.ruled
	}
	d.Hash = callHash(c, d.Changed)
	if d.Verdict == Allow && v.class == classRun && !c.Foreign {
		d.Contract = v.contract(d)
	}
	if d.Verdict == Ask && (s.Unattended || v.mode == ModeDontAsk) {
		d.Verdict, d.Reason = Deny, d.Reason+" (nobody is asked here)"
		for i, cv := range d.Commands {
			if cv.Verdict == Ask {
				d.Commands[i].Verdict = Deny
			}
		}
	}
	return d
}

// callHash names the exact call: tool, bytes, arguments and directory, and the runner files that it would obey as they
// have changed.
func callHash(c Call, changed []RunnerFile) string {
	var room [1024]byte
	b := append(room[:0], "swarm/call"...)
	args := c.Args != "" || c.Server != ""
	if args {
		b = append(b, "-args"...)
	}
	if len(changed) > 0 {
		b = append(b, "-changed"...)
	}
	b = appendParts(append(b, "/v1\n"...), c.Tool, c.Command, c.Path, c.Change, c.Cwd)
	if args {
		b = appendParts(b, c.Server, c.Args)
	}
	for _, f := range changed {
		b = appendParts(b, f.Path, f.Digest)
	}
	return digest(b)
}

// appendParts appends each part after its length as 8 bytes big endian.
func appendParts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	return b
}

// digest is the lower hex SHA-256 of b.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func ask(reason string) Decision   { return Decision{Verdict: Ask, Reason: reason} }
func deny(reason string) Decision  { return Decision{Verdict: Deny, Reason: reason} }
func allow(reason string) Decision { return Decision{Verdict: Allow, Reason: reason} }
