package gate

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/wholefile"
)

// A client that a person starts by hand is no descendant of its runner. It finds the gate by an address file, in the state
// folder and readable by its user alone; gate and thin client prove to each other that they hold its token, and the process
// at the other end is the one that the file names. Such a client may ask what a hook asks, and have its permits carried out.

var (
	// ErrNoAddress means that there is no address file: no runner has been started, or it ended in order.
	ErrNoAddress = errors.New("gate: no runner is attached")
	// ErrRunnerGone means that the runner of an address file did not end in order: nobody has said that the client is free.
	ErrRunnerGone = errors.New("gate: the runner is gone without its end")
)

// An Address is where the gate of an attached client's teammate listens, and how both know each other.
type Address struct {
	V       int    `json:"v"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // of the process, in clock ticks since boot
	Socket  string `json:"socket"`
	Token   string `json:"token"` // 32 bytes in hexadecimal
}

// NewAddress is the address of a gate in this process.
func NewAddress(socket string) (Address, error) {
	started, err := startOf(os.Getpid())
	if err != nil {
		return Address{}, err
	}
	token := make([]byte, 32)
	_, _ = rand.Read(token) // never fails
	return Address{V: Version, PID: os.Getpid(), Started: started, Socket: socket, Token: hex.EncodeToString(token)}, nil
}

// Write keeps an address in a file of 0600, whole or not at all.
func (a Address) Write(path string) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	if err := wholefile.Write(path, append(data, '\n')); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return nil
}

// maxAddress bounds an address file, in bytes.
const maxAddress = 4096

// ReadAddress reads an address file. [ErrNoAddress] means that there is none; whatever else is in doubt is another error.
func ReadAddress(path string) (a Address, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a, ErrNoAddress
	case err != nil:
		return a, fmt.Errorf("gate: %w", err)
	case !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 || info.Size() > maxAddress:
		return a, fmt.Errorf("gate: %s is no plain file of 0600: remove it, and attach again", path)
	}
	if err := checkOwner(path, info); err != nil {
		return a, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return a, fmt.Errorf("gate: %w", err)
	}
	return parseAddress(data)
}

func parseAddress(data []byte) (a Address, err error) {
	if err := mailbox.DecodeStrict(data, &a); err != nil {
		return Address{}, fmt.Errorf("gate: the address cannot be read: %w", err)
	}
	token, err := hex.DecodeString(a.Token)
	if err != nil || len(token) != 32 || a.V != Version || a.PID <= 1 || !filepath.IsAbs(a.Socket) {
		return Address{}, errors.New("gate: the address is incomplete, or another version's: attach again")
	}
	return a, nil
}

func (a Address) key() []byte {
	token, _ := hex.DecodeString(a.Token) // checked when it was read
	return token
}

// The lines of the proof, in order: the client's, the gate's, the client's.
type (
	hello struct {
		Attach string `json:"attach"`
	}
	reply struct {
		Nonce string `json:"nonce"`
		Proof string `json:"proof"`
	}
	response struct {
		Proof string `json:"proof"`
	}
)

// proof is what one side shows the other: who it is, over what both have just made up.
func proof(key []byte, side, client, server string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s %s %s", side, client, server) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}

func nonce() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// maxProof bounds one line of the proof, in bytes.
const maxProof = 1024

// CallAttached is [Call] of a client that a person started by hand, by its address file. [ErrNoAddress] and [ErrRunnerGone]
// say that there is nobody to ask.
func CallAttached(ctx context.Context, file string, verb Verb, args any, s Streams) (Answer, error) {
	a, err := ReadAddress(file)
	if err != nil {
		return Answer{}, err
	}
	conn, err := dialAddress(ctx, a)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	c := &Client{conn: conn}
	if err := c.prove(ctx, a.key()); err != nil {
		return Answer{}, doubt(verb, err)
	}
	answer, err := c.Do(ctx, verb, args, s)
	if err == nil {
		_, _ = c.conn.Write([]byte("\n")) // handed on
	}
	return answer, err
}

// dialAddress connects to the very process that the address names.
func dialAddress(ctx context.Context, a Address) (*net.UnixConn, error) {
	if started, err := startOf(a.PID); err != nil || started != a.Started {
		return nil, fmt.Errorf("%w: process %d", ErrRunnerGone, a.PID)
	}
	if err := errors.Join(checkFolder(filepath.Dir(a.Socket)), checkSocket(a.Socket)); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", a.Socket)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	c := conn.(*net.UnixConn)
	if err := checkProcess(c, a.PID, a.Started); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prove is the client's side.
func (c *Client) prove(ctx context.Context, key []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Now()) })
	defer stop()
	_ = c.conn.SetReadDeadline(time.Now().Add(requestWait))
	mine := nonce()
	if err := json.NewEncoder(c.conn).Encode(hello{mine}); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	var theirs reply
	if err := readProof(c.conn, &theirs); err != nil {
		return err
	}
	if !hmac.Equal([]byte(theirs.Proof), []byte(proof(key, "gate", mine, theirs.Nonce))) {
		return errors.New("gate: who answers does not hold the token")
	}
	if err := json.NewEncoder(c.conn).Encode(response{proof(key, "client", mine, theirs.Nonce)}); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	_ = c.conn.SetReadDeadline(time.Time{})
	return ctx.Err()
}

// admit finds out who connected: a process below a root, or one that holds the token of an attached client.
func (g *Gate) admit(conn *net.UnixConn, in *bufio.Reader) (attached bool, err error) {
	if err = checkClient(conn, g.cfg.Roots()); err == nil || g.cfg.Attached == nil {
		return false, err
	}
	if uerr := checkUser(conn); uerr != nil {
		return false, uerr
	}
	key := g.cfg.Attached.key()
	var theirs hello
	raw, rerr := in.ReadSlice('\n')
	if rerr != nil || len(raw) > maxProof || mailbox.DecodeStrict(raw, &theirs) != nil || theirs.Attach == "" {
		return false, err // it asks as a descendant, and is none
	}
	mine := nonce()
	if err := json.NewEncoder(conn).Encode(reply{mine, proof(key, "gate", theirs.Attach, mine)}); err != nil {
		return false, fmt.Errorf("gate: %w", err)
	}
	var shown response
	if raw, err = in.ReadSlice('\n'); err != nil || len(raw) > maxProof || mailbox.DecodeStrict(raw, &shown) != nil {
		return false, errors.New("gate: a client did not finish its proof")
	}
	if !hmac.Equal([]byte(shown.Proof), []byte(proof(key, "client", theirs.Attach, mine))) {
		return false, errors.New("gate: a client does not hold the token")
	}
	return true, nil
}

// readProof reads one line, byte by byte: what comes after it is another's.
func readProof(r io.Reader, v any) error {
	var raw []byte
	one := make([]byte, 1)
	for len(raw) < maxProof {
		if _, err := io.ReadFull(r, one); err != nil {
			return fmt.Errorf("gate: the proof has no end: %w", err)
		}
		if one[0] == '\n' {
			return mailbox.DecodeStrict(raw, v)
		}
		raw = append(raw, one[0])
	}
	return errors.New("gate: a proof is too long")
}

// forAttached reports whether an attached client may ask this: what its hooks ask, and what they have had judged.
func forAttached(req Request) bool {
	switch req.Verb {
	case VerbHook:
		return true
	case VerbExec:
		var a ExecArgs
		return mailbox.DecodeStrict(req.Args, &a) == nil && a.Permit != "" && a.Line == ""
	}
	return false
}
