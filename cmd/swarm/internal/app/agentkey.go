package app

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/planswarm/swarm/plans"
)

// confirmWait is how long a person may take to confirm one signature, where the agent asks (ssh-add -c).
const confirmWait = 20 * time.Second

// agentKey is a member's key that an ssh-agent holds and never gives away: the agent signs, and may ask a person each time.
// A key of the type ed25519 and an nkey are the same key, and an agent signs bytes as they are.
type agentKey struct {
	nkeys.KeyPair // the public half
	blob          []byte
	who           string

	mu     sync.Mutex
	failed error
}

// newAgentKey is the key pair behind a public nkey.
func newAgentKey(public, who string) (*agentKey, error) {
	kp, err := nkeys.FromPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("the key of %s cannot be read: %w", who, err)
	}
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(public))
	if err != nil {
		return nil, fmt.Errorf("the key of %s cannot be read: %w", who, err)
	}
	pk, err := ssh.NewPublicKey(ed25519.PublicKey(raw))
	if err != nil {
		return nil, fmt.Errorf("the key of %s cannot be read: %w", who, err)
	}
	return &agentKey{KeyPair: kp, blob: pk.Marshal(), who: who}, nil
}

// confirm is how long whoever holds the bundle's key may take to sign.
func (b Bundle) confirm() time.Duration {
	if b.AgentKey != "" {
		return confirmWait
	}
	return 0
}

// Sign has the agent sign. What it says is no more than that it did: whether it has asked somebody, nobody can see.
func (k *agentKey) Sign(data []byte) ([]byte, error) {
	sig, err := k.sign(data)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = err
	return sig, err
}

func (k *agentKey) sign(data []byte) ([]byte, error) {
	a, err := dialAgent()
	if err != nil {
		return nil, err
	}
	defer a.Close()
	sig, err := a.Sign(&agent.Key{Format: ssh.KeyAlgoED25519, Blob: k.blob}, data)
	switch {
	case err != nil && !a.has(k.blob):
		return nil, fail(exitAuth, "agent_key", fmt.Sprintf("the ssh-agent has no key of %s", k.who), "add it again: ssh-add -c FILE")
	case err != nil:
		return nil, fail(exitAuth, "agent_refused", fmt.Sprintf("the ssh-agent did not sign as %s: nobody confirmed it, or it is locked", k.who), "do it again, and confirm")
	case sig.Format != ssh.KeyAlgoED25519 || k.Verify(data, sig.Blob) != nil:
		return nil, fail(exitAuth, "agent_refused", "the ssh-agent gave a signature that is not of "+k.who, "look at SSH_AUTH_SOCK")
	}
	return sig.Blob, nil
}

// err is why the last signature was not given: the broker's client says only that there was none.
func (k *agentKey) err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// sshAgent is a connection to the person's agent.
type sshAgent struct {
	agent.ExtendedAgent
	net.Conn
}

func dialAgent() (sshAgent, error) {
	path := os.Getenv("SSH_AUTH_SOCK")
	if path == "" {
		return sshAgent{}, fail(exitAuth, "no_agent", "the key is in an ssh-agent, and SSH_AUTH_SOCK names none", "start it where you type this: eval $(ssh-agent); ssh-add -c FILE")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return sshAgent{}, fail(exitAuth, "no_agent", fmt.Sprintf("the ssh-agent at %s does not answer (%v)", plans.VisibleLine(path), plainCause(err)), "start it: eval $(ssh-agent); ssh-add -c FILE")
	}
	_ = c.SetDeadline(time.Now().Add(confirmWait)) // an open socket always takes one
	return sshAgent{agent.NewClient(c), c}, nil
}

// Close ends the connection.
func (a sshAgent) Close() error { return a.Conn.Close() }

func (a sshAgent) has(blob []byte) bool {
	keys, err := a.List()
	return err == nil && slices.ContainsFunc(keys, func(k *agent.Key) bool { return bytes.Equal(k.Blob, blob) })
}

// keyInAgent finds the one key that a comment or a fingerprint names, and returns it as a public nkey.
func keyInAgent(name string) (string, error) {
	a, err := dialAgent()
	if err != nil {
		return "", err
	}
	defer a.Close()
	keys, err := a.List()
	if err != nil {
		return "", fail(exitAuth, "no_agent", fmt.Sprintf("the ssh-agent does not list its keys (%v)", plans.VisibleLine(err.Error())), "look at SSH_AUTH_SOCK")
	}
	var found, have []string
	for _, k := range keys {
		have = append(have, k.Comment)
		pk, err := ssh.ParsePublicKey(k.Blob)
		if err != nil || name != k.Comment && name != ssh.FingerprintSHA256(pk) {
			continue
		}
		public, err := nkeyOf(pk)
		if err != nil {
			return "", fail(exitUsage, "agent_key", fmt.Sprintf("the key %s is of type %s, and swarm signs with ed25519", plans.VisibleLine(name), plans.VisibleLine(pk.Type())), "make one: ssh-keygen -t ed25519; then ssh-add -c FILE")
		}
		found = append(found, public)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		what := "it has none"
		if len(have) > 0 {
			what = "it has " + plans.Cut(plans.VisibleLine(strings.Join(have, ", ")), 200)
		}
		return "", fail(exitNotFound, "agent_key", fmt.Sprintf("no key %s is in the ssh-agent: %s", plans.VisibleLine(name), what), "ssh-add -c FILE adds one")
	}
	return "", fail(exitUsage, "agent_key", fmt.Sprintf("%d keys are called %s in the ssh-agent", len(found), plans.VisibleLine(name)), "name one by its fingerprint: ssh-add -l")
}

func nkeyOf(pk ssh.PublicKey) (string, error) {
	c, ok := pk.(ssh.CryptoPublicKey)
	if !ok {
		return "", errors.New("no key of its own")
	}
	raw, ok := c.CryptoPublicKey().(ed25519.PublicKey)
	if !ok || pk.Type() != ssh.KeyAlgoED25519 { // a security key signs something else besides
		return "", errors.New("not ed25519")
	}
	out, err := nkeys.Encode(nkeys.PrefixByteUser, raw)
	return string(out), err
}
